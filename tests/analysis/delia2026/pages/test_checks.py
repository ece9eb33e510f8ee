"""Every check of every claim has the numbers of `checks.csv`; some are counted here by hand.

After a change that is meant: python -m tests.analysis.delia2026.pages.test_checks --write
"""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit.claim import verdict
from analysis.delia2026.pages.register import CLAIMS
from analysis.store import open_store

FILE = Path(__file__).with_name("checks.csv")


def rows_of(made):
    """Return one row per check, its words as the numbers in them, with the verdict on its claim."""
    rows = pd.concat(
        claims.check_rows(checks, CLAIMS[number].kind).assign(
            claim_id=number, verdict=verdict(checks, CLAIMS[number].kind)
        )
        for number, checks in made.items()
    )
    words = rows.pop("method") + " " + rows.pop("note")
    digits = words.map(lambda text: " ".join(re.findall(r"\d[\d.,]*\d|\d", text)))
    rows = rows.drop(columns=["term", "condition"]).assign(numbers=digits)
    return rows.set_index(["claim_id", "verdict", "check_id"]).reset_index()


def as_csv(rows):
    return rows.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def test_every_check_has_its_numbers_and_a_short_id_of_its_own(made):
    ours = pd.read_csv(io.StringIO(as_csv(rows_of(made))))
    pd.testing.assert_frame_equal(ours, pd.read_csv(FILE), rtol=1e-6, atol=1e-9)
    for checks in made.values():
        names = [check.id for check in checks]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z0-9_]{3,32}", name) for name in names), names


#: EleutherAI's norms at the last quarter of the layers, 3 of 12 and 6 of 24, and Meta's.
LATE = np.mean([np.mean([1334, 1847, 1481]), np.mean([2277, 872, 1451, 3887, 2734, 3511])])
LATE_META = np.mean([np.mean([2.3, 2.9, 4.0]), np.mean([9.2, 8.6, 7.9, 8.6, 6.4, 7.9])])


@pytest.mark.parametrize(
    ("claim_id", "check_id", "column", "value"),
    [
        # P(X >= 4) of a hypergeometric with 5 EleutherAI, 11 others, 6 dampening, (C(5,4) C(11,2)
        # + C(5,5) C(11,1)) / C(16,6), doubled by no table as improbable on the other side.
        (7, "fisher_hunt", "p_value", (5 * 55 + 11) / 8008),
        # Three of EleutherAI's suites among seven: 6 of C(7,3) = 35 assignments reach as far.
        (7, "exchange_hunt", "p_value", 6 / 35),
        # 9.27 and 6.88 (Pythia) lie above, 0.37 (GPT-Neo) below all of 1.48, 0.80, 0.80 and 0.40;
        # two of six lie at one end: 2 of the 15 choices of two models do.
        (10, "labels", "estimate", 6 / 7),
        (10, "labels_no_neo", "p_value", 2 / 15),
        (12, "multi_head", "estimate", 62695.87 / 2367.53),
        (12, "first_head", "estimate", 4603.44 / 183.82),
        (12, "proxy", "estimate", (8.954094 / 1.607602) ** 2),
        # Pythia-160m 18,887 expands, Pythia-410m 11,326 dampens, OPT-125m 2,368 expands.
        (13, "separates_multi_head_signs", "estimate", 2 / 3),
        # The paper quotes r = -0.81, p = 0.014 for depth.
        (16, "denser_pythia", "estimate", -0.81163),
        (16, "denser_pythia", "p_value", 0.014438),
        # EleutherAI's three norms are the largest of seven, one choice in 35; in logarithms the
        # three smallest differ from the rest by more.
        (21, "spectral_norms", "p_value", 1 / 35),
        (21, "spectral_log_norms", "p_value", 2 / 35),
        # Drawn 0.0592 over the standard error of BigScience's four models.
        (24, "bigscience_hunt", "estimate", 0.0592 / 0.0591753),
        # Pythia-1.4b and 160m, on both sides of the widest gap.
        (27, "clusters", "estimate", (1.0047372 + 1.1572275) / 2),
        (32, "high_value", "estimate", 16.925121 / 8.954094),
        (32, "high_value", "p_value", 1 / 35),
        (34, "times_meta", "estimate", LATE / LATE_META),
        (34, "exceeds", "estimate", 872 / 119),
        # All six differences have one sign: 2 of 2^6 sign patterns; Holm over four readings.
        (37, "nearer_notebook", "p_value", 2 / 64),
        (37, "nearer_notebook", "p_holm", 8 / 64),
        (39, "quarter_script_layer", "estimate", (1 / 7 + 1 / 4 + 1 / 4 + 1 / 3) / 4),
        (42, "notebook", "estimate", 59 / 30),
        (43, "layer_printed_depth", "estimate", 80 * (0.11 + 0.012 * 80) / 79),
        # Three of three: Clopper-Pearson from 0.025^(1/3).
        (49, "expander_compared", "conf_low", 0.025 ** (1 / 3)),
        (50, "hunt", "estimate", 7 / 16),
        (54, "eleuther_hunt", "estimate", 4 / 5),
        # Welch, 25 prompts each: ln(0.98596 / 1.15723) = -0.16016; se = sqrt((0.06145 / 1.15723)^2
        # + (0.02419 / 0.98596)^2) / 5 = 0.011697; t(33.77 degrees of freedom) = 2.0328.
        (56, "penultimate_within_5", "estimate", np.exp(-0.16016)),
        (56, "penultimate_within_5", "conf_low", np.exp(-0.16016 - 2.0328 * 0.011697)),
        # As the file states them, which were found by another program.
        (61, "estimate_last", "estimate", 0.26500476896304215),
        (61, "estimate_last", "p_value", 0.015209792158816016),
    ],
)
def test_a_number_is_that_of_a_hand_count(made, claim_id, check_id, column, value):
    rows = claims.check_rows(made[claim_id], CLAIMS[claim_id].kind).set_index("check_id")
    assert rows.loc[check_id, column] == pytest.approx(value, rel=3e-5)


if __name__ == "__main__":
    store = open_store("data/published", "data/sample")
    text = as_csv(rows_of(claims.examine(store, CLAIMS)))
    if "--write" in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
    print("checks.csv", "is that of the data" if FILE.read_text() == text else "differs")
