"""statsmodels as a second engine and the tables of the guide; bad input is one sentence."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis import mixed
from analysis.mixed import second_engine
from analysis.mixed.algebra.rank import SPANNED
from analysis.mixed.algebra.size import FitSize
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError, StoreError
from tests.analysis.mixed.conftest import FORMULAS
from tests.analysis.places import ROOT, R

#: Where the optimum is inside, statsmodels agrees with lme4.
CASES = {"sleep_correlated": "sleep", "sleep_uncorrelated": "sleep", "penicillin": "penicillin"}
CASES |= {"dyestuff": "dyestuff", "cake_nested": "cake", "machines_nested": "machines"}

AGAINST = pd.read_csv(R / "mixed_glance.csv").query("estimator == 'REML'")


def data(name):
    return pd.read_csv(R / f"mixed_data_{name}.csv")


@pytest.mark.parametrize("name", CASES)
def test_both_engines_agree_with_lme4(name):
    fitted = mixed.fit(FORMULAS[name], data(CASES[name]), engine="statsmodels")
    ours = mixed.fit(FORMULAS[name], data(CASES[name]))
    [expected] = AGAINST[AGAINST["name"] == name].to_dict("records")
    assert fitted.glance()["criterion"].item() == pytest.approx(expected["criterion"], abs=1e-4)
    both = (
        fitted.tidy()
        .fillna({"group": ""})
        .merge(
            ours.tidy(df="wald").fillna({"group": ""}), on=["effect", "term", "group"], how="outer"
        )
    )
    assert len(both) == len(ours.tidy())
    np.testing.assert_allclose(both["estimate_x"], both["estimate_y"], rtol=2e-3)
    of_fixed = both["effect"] == "fixed"
    np.testing.assert_allclose(
        both.loc[of_fixed, "std_error_x"], both.loc[of_fixed, "std_error_y"], rtol=2e-3
    )
    assert fitted.glance()["converged"].item()


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ 1 + offset(x) + (1 | g)",
        "y ~ 1 + (1 + x | g) + (1 + x | h)",
        "y ~ 1 + (1 + x | g) + (1 | h)",
    ],
)
def test_what_it_cannot_fit_is_refused(formula):
    rows = pd.DataFrame({"y": [1.0], "x": [1.0], "g": ["a"], "h": ["b"]})
    with pytest.raises(DesignError, match="statsmodels"):
        second_engine.fit(formula, rows)


def test_what_it_is_not_asked_for_is_refused():
    rows = data("dyestuff")
    with pytest.raises(AnalysisError, match="engine"):
        mixed.fit(FORMULAS["dyestuff"], rows, engine="lme4")
    with pytest.raises(DesignError, match="weights"):
        mixed.fit(FORMULAS["dyestuff"], rows, weights="Yield", engine="statsmodels")


GUIDE = (ROOT / "quarto/guides/_for_lme4.qmd").read_text(encoding="utf-8")


def shown(start):
    """Return the cells of the row of the guide's table that begins so."""
    (line,) = [line for line in GUIDE.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_table_of_three_programs_is_what_they_give():
    sleep = pd.read_csv(ROOT / "tests/r/mixed_data_sleep.csv")
    ours = mixed.fit("Reaction ~ Days + (1 + Days | Subject)", sleep)
    days = ours.tidy(["fixed"]).set_index("term").loc["Days"]
    lmer = pd.read_csv(ROOT / "tests/r/mixed_three.csv").set_index("term").loc["Days"]
    other = smf.mixedlm("Reaction ~ Days", sleep, groups="Subject", re_formula="~Days").fit()
    assert days["p_value"] == pytest.approx(lmer["p_value"], rel=1e-4)
    estimates = [lmer["estimate"], other.fe_params["Days"], days["estimate"]]
    assert shown("estimate") == [f"{each:.6f}" for each in estimates]
    errors = [lmer["std_error"], other.bse_fe["Days"], days["std_error"]]
    assert shown("standard error") == [f"{each:.6f}" for each in errors]
    degrees = shown("degrees")
    assert degrees == [f"{lmer['df']:.1f}", "none", f"{days['df']:.1f}"]
    values = [lmer["p_value"], other.pvalues["Days"], days["p_value"]]
    assert shown("p |") == [f"{each:.4e}" for each in values]
    criteria = [lmer["criterion"], -2 * other.llf, ours.glance()["criterion"].item()]
    assert shown("minus twice") == [f"{each:.6f}" for each in criteria]
    assert f"about {values_of(lmer, other):,}" in GUIDE


def values_of(lmer, other):
    """Return by what factor the p of statsmodels is smaller, in whole thousands."""
    return int(round(lmer["p_value"] / other.pvalues["Days"], -3))


def test_the_tables_of_times_and_sizes_are_those_of_the_benchmark():
    times = pd.read_csv(ROOT / "tests/benchmarks/mixed_peers.csv")
    rows = GUIDE.partition("peak memory [MB] |")[2].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row[:1] == "|"]
    assert len(cells) == len(times)
    for row, (task, n_obs, program, *numbers) in zip(times.itertuples(), cells, strict=True):
        assert (task, int(n_obs), program) == (row.task, row.n_obs, row.program)
        expected = [row.cpu_seconds, row.cpu_process, row.peak_mb]
        if isinstance(row.note, str):
            assert numbers[0] == row.note
        else:
            assert [float(number) for number in numbers] == expected
    size = FitSize(20_000, 10_000)
    assert f"about {size.memory / 1e9:.0f} GB" in GUIDE.replace("\n", " ")
    assert f"{size.seconds / 60:.0f} minutes" in GUIDE.replace("\n", " ")


PROGRAM = """
import sys
from analysis import mixed
rows = {"y": [1, 2, 4, 3, 6, 5], "x": [1, 2, 3, 1, 3, 2], "g": list("aabbcc")}
mixed.fit("y ~ x + (1 | g)", rows).tidy()
print("\\n".join(sys.modules))
"""

#: scipy.stats and scipy.optimize cost more than the fit.
NOT_NEEDED = ("scipy.stats", "scipy.optimize", "scipy.interpolate", "analysis.store")
NOT_NEEDED += ("analysis.mixed.binomial", "analysis.mixed.refitting")


def test_a_first_fit_leaves_the_rest_unimported():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = done.stdout.split()
    assert "analysis.mixed.model" in loaded
    assert [name for name in NOT_NEEDED if name in loaded] == []
    assert all(callable(getattr(mixed, name)) for name in mixed.__all__)
    assert not hasattr(mixed, "something_else")


rows = pd.read_csv(R / "mixed_data_crossed.csv")
sizes = rows["lab"].map({"alpha": 1.0, "beta": 2.0}).fillna(3.5)
infinite = rows["rho"].where(rows["model"] != "m12", np.inf)
huge = rows["depth"] * 1e200

PLAIN = "gain ~ depth + (1 | model)"
OTHERS = rows.index > 0

#: A formula, what is changed in the rows, the error, and what its sentence names.
REFUSED = [
    ("gain ~ depht + (1 | model)", {}, ColumnError, "'depht'.*'depth'"),
    ("gain ~ depth + (1 | modle)", {}, ColumnError, "'modle'.*'model'"),
    ("kind ~ depth + (1 | model)", {}, ColumnError, "'kind' must hold numbers.*varchar"),
    ("gain ~ log(kind) + (1 | model)", {}, ColumnError, "'kind' must hold numbers.*varchar"),
    (PLAIN, {"depth": 1.5}, DesignError, r"\['depth'\]"),
    (PLAIN, {"gain": 2.0}, DesignError, "'gain' must vary"),
    ("gain ~ depth + I(2 * depth) + (1 | model)", {}, DesignError, r"\['I\(2 \* depth\)'\]"),
    ("gain ~ lab + size + (1 | model)", {"size": sizes}, DesignError, rf"\['size'\] are {SPANNED}"),
    ("gain ~ kind + (1 | model)", {"kind": "base"}, DesignError, r"'kind'.*two levels.*\['base'\]"),
    ("gain ~ depth + (1 | lab)", {"lab": "alpha"}, DesignError, r"'lab'.*two levels.*\['alpha'\]"),
    ("gain ~ depth + (1 | model) + (depth | model)", {}, DesignError, "Intercept among model"),
    ("gain ~ depth + (1 | row)", {"row": rows.index.astype(str)}, DesignError, "'row'.* for 371"),
    (PLAIN, {"depth": rows["depth"].where(OTHERS, np.inf)}, ColumnError, "'depth'.*: 1 of 371"),
    (PLAIN, {"gain": rows["gain"].where(rows.index > 1)}, ColumnError, "'gain'.*: 2 of 371"),
    (PLAIN, {"model": rows["model"].where(OTHERS)}, ColumnError, "'model' .*level.*: 1 of 371"),
    ("gain ~ log(depth) + (1 | model)", {"depth": 0.0 * rows["depth"]}, ColumnError, "log"),
    ("gain ~ rho + (1 | model)", {"rho": infinite}, ColumnError, "'rho'.*not: 52 of 371"),
    ("gain + depth + (1 | model)", {}, ColumnError, r"'response ~ terms \+ \(1 \| group\)'"),
    ("gain ~ depth rho + (1 | model)", {}, ColumnError, "'depth rho' is not one term"),
    ("gain ~ depth * + (1 | model)", {}, ColumnError, r"'depth \*' must be readable"),
    ("gain ~ `the depth` + (1 | model)", {}, ColumnError, "backticks.*`the depth`"),
    ("gain ~ depth + (1 | `the model`)", {}, ColumnError, "backticks.*`the model`"),
    ("gain ~ depth + (1 | model", {}, ColumnError, "a bracket is not closed"),
    ("gain ~ depth + 1 | model", {}, ColumnError, "a bar outside"),
    ("gain ~ depth", {}, DesignError, "must have a random term"),
    ("gain ~ cube(depth) + (1 | model)", {}, ColumnError, "'cube' is not one"),
    ("gain ~ poly(depth, 2) + (1 | model)", {"depth": huge}, ColumnError, r"'poly\(depth, 2\)'"),
    ("gain ~ C(kind, Wrong) + (1 | model)", {}, ColumnError, "Treatment, Sum, Helmert.*'Wrong'"),
    ("gain ~ depth + (1 | model) ~ prompt", {}, ColumnError, "A formula must read"),
    ("gain ~ depth + (0 | model)", {}, DesignError, "vary among the levels of 'model'"),
    ("1 ~ depth + (1 | model)", {}, ColumnError, "must read a column; '1' reads none"),
    (PLAIN, {"depth": huge}, ColumnError, "'depth' must be at most 1e"),
]

near = pd.read_csv(R / "mixed_data_near.csv")


@pytest.mark.parametrize("column", ["x2", "x3"])
def test_columns_that_hardly_differ_are_told_with_the_distance_that_is_seen(column):
    formula = f"y ~ x + {column} + (1 | g)"
    with pytest.raises(DesignError, match=rf"\['{column}'\].*3e-06") as refusal:
        mixed.fit(formula, near)
    assert "I(x2 - x)" in str(refusal.value)
    notes = mixed.fit(formula, near, aliased="drop").warnings().set_index("guard")["note"]
    assert "3e-06" in notes["columns left out"]
    assert column in notes["columns left out"]


@pytest.mark.parametrize(("formula", "changed", "kind", "named"), REFUSED)
def test_bad_input_is_refused_in_one_sentence(formula, changed, kind, named):
    with pytest.raises(kind, match=named) as refusal:
        mixed.fit(formula, rows.assign(**changed))
    assert "\n" not in refusal.value.problem
    assert refusal.value.hint


def test_sums_with_an_offset_and_near_columns_are_fitted_as_they_were_collected():
    known = "gain ~ depth + offset(known) + (1 | model)"
    collected = mixed.collect_statistics(known, rows)
    assert mixed.fit_statistics(known, collected).statistics.offset == "known"
    with pytest.raises(DesignError, match="must be of the formula's offset, none; they were coll"):
        mixed.fit_statistics("gain ~ depth + (1 | model)", collected)
    known = pd.read_csv(R / "mixed_near.csv").set_index("name")
    model = mixed.fit("y ~ x + I(x2 - x) + (1 | g)", near)
    ours = model.tidy(("fixed",), df="satterthwaite").set_index("term").loc["I(x2 - x)"]
    columns = ["estimate", "std_error", "statistic"]
    at = known.loc["difference", columns].to_numpy(dtype=float)
    np.testing.assert_allclose(ours[columns].to_numpy(dtype=float), at, rtol=1e-5)


@pytest.fixture(scope="module")
def plain():
    return mixed.fit("gain ~ depth + kind + (1 | model)", rows)


CALLS = [
    (lambda m: mixed.fit(PLAIN, rows[:0]), DesignError, "the selection is empty"),
    (lambda m: mixed.fit(PLAIN, rows.assign(precision=0.0), weights="precision"), ColumnError,
     r"Weights 'precision' must be positive; the smallest is"),
    (lambda m: mixed.fit(PLAIN, Path("nothing.parquet")), StoreError, "must name Parquet files"),
    (lambda m: mixed.fit(PLAIN, rows, contrasts={"depth": "a"}), ColumnError, "of factors of the"),
    (lambda m: m.tidy(df="z"), AnalysisError, "`df` must be one of 'kenward-roger', 'satterth"),
    (lambda m: mixed.fit(m.formula.text, rows, reml="yes"), AnalysisError, "`reml` must be True"),
    (lambda m: m.update(reml="no"), AnalysisError, "`reml` must be True or False; found"),
    (lambda m: mixed.fit_statistics(m.formula.text, m.statistics, reml="ML"), AnalysisError,
     "`reml` must be True or False; found"),
    (lambda m: m.means("kind", pairs="kind"), AnalysisError, "`pairs` must be True or False"),
    (lambda m: m.trends("depth", "kind", pairs="none"), AnalysisError, "`pairs` must be True"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "named"), CALLS)
def test_arguments_that_are_none_are_refused(plain, call, kind, named):
    with pytest.raises(kind, match=named):
        call(plain)


def test_one_kind_of_effect_may_be_asked_by_its_name_and_none_may_not(plain):
    binary = mixed.fit_binomial("(gain > 1) ~ depth + (1 | model)", rows)
    for model in (plain, binary):
        pd.testing.assert_frame_equal(model.tidy("fixed"), model.tidy(["fixed"]))
        with pytest.raises(AnalysisError, match="kind of effect must be asked for; found none"):
            model.tidy(())
        with pytest.raises(AnalysisError, match=r"`effects` must be one of .*found 'random'"):
            model.tidy("random")
