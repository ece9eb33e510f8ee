"""The study's own rows: shares, labs and slopes against base R."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from analysis.delia2026.study import labs, registered, screening, shares, slope
from analysis.store import open_store
from collect.training.study.design import read_design
from tests.analysis.places import ROOT, R

DATA = ROOT / "data"

#: R inverts the same distribution with another root finder.
ENDS = 1e-5


@pytest.fixture(scope="module")
def rows():
    return pd.read_csv(R / "study_rows.csv")


@pytest.fixture(scope="module")
def answers():
    return pd.read_csv(R / "study.csv").set_index(["what", "response", "term"]).sort_index()


@pytest.fixture(scope="module")
def shipped():
    """The responses at equal steps, tokens after the first, of every network that is shipped."""
    return open_store(DATA / "published", DATA / "fleet").query(
        "SELECT study_run_id, excess, last_log_gain, penultimate_log_gain FROM study_growth "
        "SEMI JOIN (SELECT study_run_id, max(step) AS step FROM study_growth GROUP BY ALL) "
        "USING (study_run_id, step) WHERE tokens = 'without_first'"
    )


def test_the_rows_are_those_that_are_shipped(rows, shipped):
    both = rows.merge(shipped, on="study_run_id", suffixes=("", "_shipped"), validate="1:1")
    assert len(both) == len(rows)
    fleet, rates = both[both["study"] == "packages"], both[both["study"] == "depth_and_rate"]
    assert fleet["excess"].to_numpy() == pytest.approx(fleet["excess_shipped"], rel=1e-12)
    assert fleet["last"].to_numpy() == pytest.approx(fleet["last_log_gain"], rel=1e-12)
    assert rates["penultimate"].to_numpy() == pytest.approx(
        rates["penultimate_log_gain"], rel=1e-12
    )


@pytest.mark.parametrize("response", ["excess", "last"])
def test_shares_and_their_joint_intervals_agree_with_r(rows, answers, response):
    fleet = rows[rows["study"] == "packages"]
    shapes = sorted(fleet["geometry"].unique())
    values, _ = shares.cell_table(fleet, response, "recipe", "geometry", shapes)
    contrasts = shares.all_contrasts("geometry", len(shapes))
    result = shares.variance_shares(
        values, "recipe", contrasts, n_resamples=2, rng=np.random.default_rng(0)
    )
    ours = result[result["method"] == "F inversion, joint"].set_index("term")
    theirs = answers.loc["share", response].loc[ours.index]
    assert ours["estimate"].to_numpy() == pytest.approx(theirs["estimate"], rel=1e-9)
    for end in ("conf_low", "conf_high"):
        assert ours[end].to_numpy() == pytest.approx(theirs[end], rel=ENDS)


def test_labs_and_slopes_agree_with_r(rows, answers):
    fleet = rows[rows["study"] == "packages"]
    means = fleet.groupby(["recipe", "lab"], as_index=False)["excess"].mean()
    ours = labs.lab_share(means, "excess").set_index("term").loc["lab"]
    theirs = answers.loc["lab", "excess"]["estimate"]
    for mine, name in (("estimate", "lab"), ("null_value", "chance"), ("p_value", "p")):
        assert ours[mine] == pytest.approx(theirs[name], rel=1e-9)
    theirs = answers.loc["slope", "penultimate"]
    ours = slope.slopes(rows[rows["study"] == "depth_and_rate"], "penultimate").set_index("term")
    for column in ("estimate", "conf_low", "conf_high"):
        assert ours.loc[theirs.index, column].to_numpy() == pytest.approx(theirs[column], rel=1e-9)


def test_labs_are_told_from_chance_by_twins_alone(rows):
    """Without both twins 6! / 3! labellings and six names of one grouping are left: p = 6 / 120."""
    fleet = rows[rows["study"] == "packages"]
    means = fleet.groupby(["recipe", "lab"], as_index=False)["excess"].mean()

    def p(frame, **given):
        return float(labs.lab_share(frame, "excess", **given).set_index("term")["p_value"]["lab"])

    assert p(means[means["recipe"] != "pythia_default_init"]) == pytest.approx(1 / 210)
    assert p(means[~means["recipe"].isin(list(labs.TWINS))]) == pytest.approx(0.05)
    assert p(means, twins=labs.TWINS) == pytest.approx(0.05)


@pytest.fixture(scope="module")
def screened():
    return pd.read_csv(R / "ingredients_rows.csv")


def test_the_rows_of_ingredients_are_those_that_are_shipped(screened, shipped):
    both = screened.merge(shipped, on="study_run_id", suffixes=("", "_shipped"), validate="1:1")
    assert len(both) == len(screened) == 72
    assert both["excess"].to_numpy() == pytest.approx(both["excess_shipped"], rel=1e-12)
    for study in ("ingredients", "ingredients_check"):
        design = tomllib.loads((DATA / "study" / f"{study}.toml").read_text(encoding="utf-8"))
        base = design["base_fraction"]
        for word, letters in design["generators"].items():
            rows = screened[screened["study"] == study]
            assert (rows[word] == rows[letters].prod(axis=1)).all() or (
                rows[word] == -rows[letters].prod(axis=1)
            ).all()
        assert set(base) <= set(screened.columns)
    design = read_design(DATA / "study" / "ingredients.toml")
    assert {name: next(iter(levels)) for name, levels in design.factors.items()} == (
        registered.LOW.to_dict()
    )


def test_effects_of_ingredients_and_their_sum_agree_with_r(screened):
    theirs = pd.read_csv(R / "ingredients.csv").set_index(["method", "term"])
    factors = list(screened.columns[4:])
    low = pd.Series(-1, index=factors)
    runs = screened[screened["study"] == "ingredients"]
    effects = screening.main_effects(runs, "excess", low)
    assert len(effects) == len(factors) == 16
    for column in ("estimate", "std_error", "df", "p_value"):
        assert effects[column].to_numpy() == pytest.approx(
            theirs.loc["seeds", column][effects["term"]], rel=1e-9
        )
    others = screened[screened["study"] == "ingredients_check"]
    terms = screening.largest_terms(effects, 5)
    row = screening.foretold(runs, others, "excess", low, terms).iloc[0]
    for name, value in theirs.loc["sum", "estimate"].items():
        assert row[str(name)] == pytest.approx(value, rel=1e-9)
