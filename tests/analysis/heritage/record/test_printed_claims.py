"""Claims judged by what is printed: the checks, and what decides them."""

from pathlib import Path

import pandas as pd
import pytest

from analysis.audit.claim import verdict
from analysis.heritage.record import claims_captions as captions
from analysis.heritage.record import claims_mappings as mappings
from analysis.heritage.record import claims_printed as printed
from analysis.heritage.transition import claims_layer_formula as layer_formula
from analysis.store import open_store

ROOT = Path(__file__).parents[4]
RESULTS = ROOT.parent / "shared" / "published" / "Results"

pytestmark = pytest.mark.slow

CLAIMS = {
    claim.claim_id: claim
    for module in (printed, captions, layer_formula, mappings)
    for claim in module.CLAIMS
}


@pytest.fixture(scope="module")
def checks_of(shipped_store):
    return {number: claim.examine(shipped_store) for number, claim in CLAIMS.items()}


def parts(checks, part):
    return [check for check in checks if check.part.startswith(part)]


def test_the_verdicts_on_the_shipped_figures(checks_of):
    assert {number: verdict(checks) for number, checks in checks_of.items()} == {
        21: "depends on the reading",
        24: "contradicted",
        28: "reproduced",
        30: "reproduced",
        41: "contradicted",
        43: "contradicted",
        52: "contradicted",
        53: "contradicted",
    }


def test_the_first_two_laws_have_a_printed_p_below_five_per_cent(checks_of):
    depth, heritage = (parts(checks_of[21], name)[0] for name in ("Kleiber", "training heritage"))
    assert depth.holds
    assert depth.p_value == pytest.approx(0.0148, abs=5e-5)
    assert heritage.holds
    assert heritage.p_value == pytest.approx(0.0198, abs=5e-5)
    assert heritage.note.startswith("4 tables are possible; p < 0.001 needs 5 or 10 or 15")


def test_a_test_that_no_data_could_bring_below_the_level_decides_nothing(checks_of):
    printed_p, by_sign, correlated, by_lab, in_logs, by_suite = parts(checks_of[21], "spectral")
    assert (printed_p.holds, by_sign.holds, by_suite.holds) == (None, None, None)
    assert by_sign.note == "The smallest p that 6 units admit is 0.1; the test cannot tell."
    assert by_suite.note == "The smallest p that 5 units admit is 0.1; the test cannot tell."
    assert not correlated.holds
    assert correlated.p_value > 0.5
    # EleutherAI's three norms are the largest of seven, one choice in 35; in logarithms the three
    # smallest differ from the rest by more.
    assert by_lab.holds
    assert by_lab.p_value == pytest.approx(1 / 35)
    assert not in_logs.holds
    assert in_logs.p_value == pytest.approx(2 / 35)


def test_bars_are_judged_by_the_models_of_their_file(checks_of):
    by_lab = {check.part.partition(":")[0]: check for check in checks_of[24][::-1]}
    assert by_lab["Meta"].holds
    assert by_lab["BigScience"].holds
    assert by_lab["Meta"].estimate == pytest.approx(1, abs=0.005)
    of_hunt, of_any = parts(checks_of[24], "EleutherAI")
    assert (of_hunt.holds, of_hunt.decides) == (False, True)
    # The five models of the hunt: standard deviation 0.1286 over the root of 5.
    assert "whose standard error is 0.0575" in of_hunt.note
    assert "The drawn mean, 0.9907, is not theirs either, 0.9445" in of_hunt.note
    # A search that finds some choice or none cannot fail.
    assert not of_any.decides
    assert of_any.note.startswith("1 of 792 choices match")


def test_the_formula_leaves_the_network_at_the_depth_the_summary_speaks_of(checks_of):
    deep = next(check for check in checks_of[43] if check.id == "layer_printed_depth")
    assert not deep.decides
    assert deep.estimate == pytest.approx(80 * (0.11 + 0.012 * 80) / 79)
    assert "From 74 layers on" in deep.note
    assert 74 * (0.11 + 0.012 * 74) > 73
    assert 73 * (0.11 + 0.012 * 73) < 72
    assert parts(checks_of[43], "models with ALiBi")[0].note == "bigscience/bloom-560m has ALiBi."


def test_only_the_file_of_the_sweep_and_of_the_twins_are_named_rightly(checks_of):
    right = [check.part for check in checks_of[53] if check.holds]
    assert [part.partition(" comes")[0] for part in right] == ["Fig. 6", "§5.5"]
    first = parts(checks_of[53], "Fig. 1")[0]
    assert "pythia_family" in first.note
    assert len(checks_of[53]) == 9


def test_a_mapping_to_the_right_notebook_would_hold(shipped_store, tmp_path):
    for path in (ROOT / "data/published").glob("*.csv"):
        text = path.read_text(encoding="utf-8")
        wrong, right = "Scaling_Law_Multi_Pythia.ipynb", "Pythia_Family_Residual_Gain_Sweep.ipynb"
        text = text.replace(f"Fig. 1,{wrong}", f"Fig. 1,{right}")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    checks = mappings.mappings(open_store(tmp_path))
    assert parts(checks, "Fig. 1")[0].holds


@pytest.fixture(scope="module")
def raw_store(tmp_path_factory):
    if not RESULTS.is_dir():
        pytest.skip(f"the raw files are not at {RESULTS}")
    from collect.commands.cli import main

    out = tmp_path_factory.mktemp("imported")
    assert main(["published", str(RESULTS), "--out", str(out)]) == 0
    return open_store(ROOT / "data/published", out)


def test_the_raw_files_decide_what_the_figures_cannot(raw_store):
    spread = CLAIMS[28].examine(raw_store)
    assert verdict(spread) == "reproduced"
    assert spread[1].estimate == pytest.approx(1, abs=1e-9)
    clipped = CLAIMS[30].examine(raw_store)
    assert verdict(clipped) == "reproduced"
    assert "pythia-70m 1.495" in clipped[1].note
    assert "pythia-70m 0.544" in clipped[1].note


def test_values_that_stand_apart_are_found_before_the_largest_fall():
    values = pd.DataFrame({"model_id": "m", "value": [1.0, 1.01, 1.02, 1.03, 1.04, 2.0, 0.2]})
    assert captions._apart(values).tolist() == [False] * 5 + [True, True]
