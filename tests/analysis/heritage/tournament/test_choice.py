"""The criterion applied: size first, then power, then simplicity; and the table that is shipped."""

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.tournament import choice, criterion, tables
from tests.proofs import tournament
from tests.proofs.competing import results
from tests.proofs.competing.worlds import World

STATEMENT = "recipe over geometry"


def cells(**rules):
    """Return rates of rules: share of a false yes, and of a true one."""
    rows = [
        {
            **{"layout": "present", "world": truth, "share": 0.5, "form": "normal"},
            **{"statement": STATEMENT, "truth": truth, "rule": rule, "n_papers": 600},
            **{"share_yes": wrong if truth == "tie" else right, "share_no": 0.0, "no_error": 0.0},
            "yes_error": 0.01,
        }
        for rule, (wrong, right) in rules.items()
        for truth in ("tie", "yes")
    ]
    return pd.DataFrame(rows)


def chosen(**rules):
    table = choice.choice(cells(**{name.replace("_", " "): one for name, one in rules.items()}))
    return table.loc[table["is_chosen"], "rule"].tolist()


def test_a_rule_that_errs_too_often_is_out_however_powerful():
    assert chosen(
        prediction=(0.30, 0.99), exact_bounds=(0.02, 0.40), bootstrap_of_suites=(0.01, 0.05)
    ) == ["exact bounds"]


def test_of_equally_powerful_rules_the_simplest_is_chosen():
    assert chosen(
        exact_bounds=(0.05, 0.61), prediction=(0.05, 0.60), bootstrap_of_suites=(0.01, 0.05)
    ) == ["prediction"]


def test_todays_rule_stays_where_none_holds_or_none_is_clearly_better():
    assert chosen(prediction=(0.2, 0.9), bootstrap_of_suites=(0.2, 0.9)) == ["bootstrap of suites"]
    assert chosen(exact_bounds=(0.01, 0.06), bootstrap_of_suites=(0.01, 0.05)) == [
        "bootstrap of suites"
    ]


@pytest.mark.parametrize(("errors", "is_sized"), [(43, False), (42, True)])
def test_the_level_is_exceeded_by_the_interval_of_wilson(errors, is_sized):
    # R: prop.test(42, 600, conf.level = .98, correct = FALSE)$conf.int[1] is 0.0494161; of 43
    # 0.0508098.
    table = choice.choice(
        cells(**{"prediction": (errors / 600, 0.5), "bootstrap of suites": (0.0, 0.5)})
    )
    result = table.set_index("rule").loc["prediction", "is_sized"]
    assert result == is_sized


@pytest.fixture(scope="module")
def shipped(shipped_store):
    return tables.rates(shipped_store)


def test_the_shipped_table_has_every_cell_of_the_criterion(shipped):
    present = shipped[shipped["layout"] == "present"]
    n_worlds = len(criterion.TOGETHER) + len(criterion.ALONE) * len(criterion.SHARES)
    expected = n_worlds * len(criterion.FORMS) * len(criterion.STATEMENTS) * len(criterion.RULES)
    assert len(present) == expected
    assert (present["n_papers"] == tournament.PAPERS).all()
    error = np.sqrt(present["share_yes"] * (1 - present["share_yes"]) / present["n_papers"])
    np.testing.assert_allclose(present["yes_error"], error, atol=1e-9)


def test_the_rules_of_claim_20_are_those_chosen(shipped):
    assert tables.winners(shipped) == {
        "lab over geometry": "posterior of new levels",
        "recipe over geometry": "parametric bootstrap",
        "geometry over scale": "posterior of new levels",
        "lab over suite": "exact bounds",
    }


def test_a_cell_comes_again_alone(shipped):
    layout, _, n_papers, _ = tournament.jobs()[0]
    names = ("prediction", "profile likelihood", "posterior of new levels")
    result = results.rates(
        layout, [World("suite", {"suite": 0.5})], n_papers, tournament.SEED, names=names
    )
    keys = ["layout", "world", "share", "form", "statement", "rule"]
    both = result.merge(shipped, on=keys, suffixes=("", "_shipped"))
    assert len(both) == len(result) == len(names) * len(criterion.STATEMENTS)
    for name in ("share_yes", "share_no"):
        np.testing.assert_allclose(both[name], both[f"{name}_shipped"], atol=1e-9)
