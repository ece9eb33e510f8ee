"""The calibrated rules: statistics by hand, cut-offs from the table, sizes, bounds and powers."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis.delia2026.sign import calibrated
from analysis.delia2026.suites import models as published
from analysis.delia2026.tournament import calibration
from tests.proofs import calibration as proof
from tests.proofs.competing.layouts import present
from tests.proofs.competing.worlds import World


@pytest.fixture(scope="module")
def layout(shipped_store):
    return present(shipped_store)


def test_the_difference_of_r_squared_is_shapleys_by_statsmodels(layout):
    y = np.random.default_rng(1).standard_normal(len(layout))
    models = layout.models.assign(y=y)
    blocks = {"lab": "C(lab)", "geometry": "rho + d_head + n_layers", "scale": "log_parameters"}

    def fitted(*names):
        right = " + ".join(blocks[name] for name in names) or "1"
        return smf.ols(f"y ~ {right}", models).fit().rsquared

    def share(name):
        one, two = (other for other in blocks if other != name)
        alone, last = fitted(name), fitted(name, one, two) - fitted(one, two)
        between = [fitted(name, other) - fitted(other) for other in (one, two)]
        return alone / 3 + sum(between) / 6 + last / 3

    found = calibrated.statistics(layout.models, y[None, :], ["difference of R squared"])
    values = found["difference of R squared"]
    assert values["lab over geometry"] == pytest.approx(share("lab") - share("geometry"))
    assert values["geometry over scale"] == pytest.approx(share("geometry") - share("scale"))


def test_the_likelihood_ratio_is_positive_where_what_is_planted_leads(layout):
    for shares, statement, sign in (
        ({"suite": 0.9}, "recipe over geometry", 1),
        ({"shape": 0.9}, "recipe over geometry", -1),
        ({"scale": 0.9}, "geometry over scale", -1),
    ):
        cell = proof._sampled("curve", layout, "one", shares)
        gains = cell.draw(200, np.random.default_rng(2))
        values = calibrated.statistics(layout.models, gains, ["likelihood ratio"])
        assert np.sign(np.median(values["likelihood ratio"][statement])) == sign


def test_statistics_do_not_know_the_unit_of_gains(layout):
    gains = np.random.default_rng(3).standard_normal((5, len(layout)))
    one, other = (calibrated.statistics(layout.models, it) for it in (gains, 3 + 7 * gains))
    for rule, by_statement in one.items():
        for statement, values in by_statement.items():
            np.testing.assert_allclose(values, other[rule][statement], atol=1e-9)


def test_a_p_value_is_the_level_of_its_quantile(shipped_store):
    rules = calibrated.rules(shipped_store)
    kept = rules.quantiles
    for answer in ("yes", "no"):
        for rule in calibrated.STATISTICS:
            rows = kept[
                (kept["statement"] == "recipe over geometry")
                & (kept["rule"] == rule)
                & (kept["answer"] == answer)
            ]
            distinct = rows.drop_duplicates("quantile", keep=False)
            p = calibrated._p_value(rows, distinct["quantile"].to_numpy(), answer)
            np.testing.assert_allclose(p, distinct["level"])


def test_a_cut_off_is_the_largest_quantile_over_false_worlds(layout):
    """By hand on two cells of which one is false."""
    values = np.arange(100.0)
    cells = [
        proof._sampled("curve", layout, "lab", {"lab": 0.5}),
        proof._sampled("curve", layout, "shape", {"shape": 0.5}),
    ]
    parts = [
        (cell, {"posterior": {"lab over geometry": values + shift}})
        for cell, shift in zip(cells, (1000.0, 0.0), strict=True)
    ]
    table = proof.envelope(parts, "lab over geometry", "posterior", "yes")
    at = table.set_index("level")
    assert (at["world"] == "shape").all()
    assert at.loc[0.05, "quantile"] == np.quantile(values, 0.95, method="higher")


def test_the_chosen_rules_keep_their_size_on_worlds_that_took_no_part_or_say_so(shipped_store):
    sizes = calibration.sizes(shipped_store)
    assert (sizes["size"] <= 0.065).all()
    assert (sizes["size_no"] <= 0.065).all()
    chosen = sizes[sizes["is_chosen"]].set_index("statement")
    assert chosen["rule"].to_dict() == {
        "lab over geometry": "likelihood ratio",
        "recipe over geometry": "likelihood ratio",
        "geometry over scale": "difference of R squared",
    }
    assert chosen.loc["lab over geometry", "before"] < calibration.MOST
    assert chosen["size"].between(0.03, 0.06).all()


def test_no_rule_beats_the_bound_and_shares_are_read_off_the_curves(shipped_store):
    rates = shipped_store.facts("FROM calibrated_rate WHERE family = 'curve' AND truth = 'yes'")
    keys = ["world", "share", "statement"]
    bound = rates[rates["rule"] == "bound"].set_index(keys)["share_yes"]
    others = rates[rates["rule"] != "bound"].set_index(keys)
    error = np.sqrt(0.25 / calibration.PAPERS)
    assert (others["share_yes"] <= bound.reindex(others.index) + 3 * error).all()
    curve = pd.DataFrame(
        {
            "statement": "s", "source": "a", "share": [0.1, 0.5, 0.9],
            "power": [0.0, 0.6, 1.0], "bound": [0.1, 0.2, 0.3],
        }
    )  # fmt: skip
    (row,) = calibration.least_shares(curve).to_dict("records")
    assert row["share"] == pytest.approx(0.7)
    assert np.isnan(row["share_bound"])


def test_the_bound_is_the_power_of_a_z_test_where_one_effect_is_known(layout):
    """One signed effect in normal noise: the test of its size, whose power has a formula."""
    from scipy import stats

    right = proof._normal(layout, {"scale": 0.5})
    wrong = (np.zeros_like(right[0]), right[1])
    power = proof._power(right, wrong, 40_000, np.random.default_rng(5))
    size = np.sqrt(0.5 * len(layout) / 0.5)
    assert power == pytest.approx(stats.norm.sf(stats.norm.isf(0.05) - size), abs=0.01)


def test_the_published_gains_stay_undecided(shipped_store):
    judged = calibrated.rules(shipped_store).judge(published.base_models(shipped_store))
    assert {name: one.holds for name, one in judged.items()} == dict.fromkeys(judged)
    assert judged["recipe over geometry"].p_yes == pytest.approx(0.641, abs=0.001)


def test_a_cell_of_the_table_comes_again(shipped_store, layout):
    cell = proof._sampled("curve", layout, "suite", {"suite": 0.8})
    ((_, values),) = proof.measured(iter([cell]), "curve")
    kept = calibrated.rules(shipped_store)
    cuts = proof.cutoffs(kept.quantiles)
    (row,) = (
        it
        for it in proof.rates([(cell, values)], cuts, "curve").to_dict("records")
        if it["statement"] == "recipe over geometry" and it["rule"] == "likelihood ratio"
    )
    shipped = shipped_store.facts(
        "FROM calibrated_rate WHERE family = 'curve' AND world = 'suite' AND share = 0.8"
        " AND statement = 'recipe over geometry' AND rule = 'likelihood ratio'"
    )
    assert row["share_yes"] == pytest.approx(shipped["share_yes"].item(), abs=1e-9)


def test_an_aberrant_lab_is_a_lab_effect_of_its_own_size(layout):
    cell = proof._aberrant(layout, layout.named, {"depth": 0.6})
    assert cell.shares["lab"] == pytest.approx(16 * 0.4 * (12 / 22) * (10 / 22))
    assert cell.truth("lab over geometry") == "yes"
    assert World("", {"depth": 0.6}).is_true("geometry over scale")
