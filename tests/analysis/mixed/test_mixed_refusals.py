"""Bad input: one sentence that says what must hold and what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.algebra.rank import SPANNED
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError, StoreError

rows = pd.read_csv(Path(__file__).parents[2] / "r/mixed_data_crossed.csv")

REFUSED: dict[str, tuple[str, pd.DataFrame, type[AnalysisError], str]] = {
    "unknown column": (
        "gain ~ depht + (1 | model)",
        rows,
        ColumnError,
        "The rows must have a column 'depht'; the nearest is 'depth'.",
    ),
    "unknown group": (
        "gain ~ depth + (1 | modle)",
        rows,
        ColumnError,
        "The rows must have a column 'modle'; the nearest is 'model'.",
    ),
    "text response": (
        "kind ~ depth + (1 | model)",
        rows,
        ColumnError,
        "Column 'kind' must hold numbers; it holds varchar.",
    ),
    "text in arithmetic": (
        "gain ~ log(kind) + (1 | model)",
        rows,
        ColumnError,
        "Column 'kind' must hold numbers; it holds varchar.",
    ),
    "constant predictor": (
        "gain ~ depth + (1 | model)",
        rows.assign(depth=1.5),
        DesignError,
        "Every predictor must vary; ['depth'] do not.",
    ),
    "constant response": (
        "gain ~ depth + (1 | model)",
        rows.assign(gain=2.0),
        DesignError,
        "The response 'gain' must vary beyond the fixed effects; they fit it exactly.",
    ),
    "repeated predictor": (
        "gain ~ depth + I(2 * depth) + (1 | model)",
        rows,
        DesignError,
        f"Every term must add something; ['I(2 * depth)'] are {SPANNED}.",
    ),
    "predictor that the lab determines": (
        "gain ~ lab + size + (1 | model)",
        rows.assign(size=rows["lab"].map({"alpha": 1.0, "beta": 2.0}).fillna(3.5)),
        DesignError,
        f"Every term must add something; ['size'] are {SPANNED}.",
    ),
    "factor with one level": (
        "gain ~ kind + (1 | model)",
        rows.assign(kind="base"),
        DesignError,
        "Factor 'kind' must have at least two levels; found ['base'].",
    ),
    "group with one level": (
        "gain ~ depth + (1 | lab)",
        rows.assign(lab="alpha"),
        DesignError,
        "Group 'lab' must have at least two levels; found ['alpha'].",
    ),
    "a random effect twice": (
        "gain ~ depth + (1 | model) + (depth | model)",
        rows,
        DesignError,
        "Every random effect must occur once; Intercept among model occurs in several terms, "
        "whose variances cannot be told apart.",
    ),
    "group of single rows": (
        "gain ~ depth + (1 | row)",
        rows.assign(row=[f"r{place}" for place in range(len(rows))]),
        DesignError,
        f"Group 'row' must have fewer effects than there are rows; it has {len(rows)} for "
        f"{len(rows)} rows.",
    ),
    "infinite value": (
        "gain ~ depth + (1 | model)",
        rows.assign(depth=[np.inf, *rows["depth"][1:]]),
        ColumnError,
        f"'depth' must be a finite number in every row; rows where it is not: 1 of {len(rows)}.",
    ),
    "missing response": (
        "gain ~ depth + (1 | model)",
        rows.assign(gain=[np.nan, np.nan, *rows["gain"][2:]]),
        ColumnError,
        f"'gain' must be a finite number in every row; rows where it is not: 2 of {len(rows)}.",
    ),
    "missing level": (
        "gain ~ depth + (1 | model)",
        rows.assign(model=[None, *rows["model"][1:]]),
        ColumnError,
        f"Column 'model' must name a level in every row; rows without: 1 of {len(rows)}.",
    ),
    "logarithm of zero": (
        "gain ~ log(depth) + (1 | model)",
        rows.assign(depth=[0.0, *rows["depth"][1:]]),
        ColumnError,
        f"'log(depth)' must be a finite number in every row; rows where it is not: 1 of "
        f"{len(rows)}.",
    ),
    "infinite in a constant predictor": (
        "gain ~ rho + (1 | model)",
        rows.assign(rho=rows["rho"].where(rows["model"] != "m12", np.inf)),
        ColumnError,
        f"'rho' must be a finite number in every row; rows where it is not: "
        f"{(rows['model'] == 'm12').sum()} of {len(rows)}.",
    ),
    "empty selection": (
        "gain ~ depth + (1 | model)",
        rows[rows["lab"] == "nobody"],
        DesignError,
        "A mixed model needs rows; the selection is empty.",
    ),
    "no tilde": (
        "gain + depth + (1 | model)",
        rows,
        ColumnError,
        "A formula must read 'response ~ terms + (1 | group)'; found 'gain + depth + (1 | model)'.",
    ),
    "missing operator": (
        "gain ~ depth rho + (1 | model)",
        rows,
        ColumnError,
        "The formula part 'depth rho' must be readable; 'depth rho' is not one term.",
    ),
    "dangling operator": (
        "gain ~ depth * + (1 | model)",
        rows,
        ColumnError,
        "The formula part 'depth *' must be readable; expected a noun, but instead the expression "
        "ended.",
    ),
    "a column in backticks": (
        "gain ~ `the depth` + (1 | model)",
        rows,
        ColumnError,
        "A column that is not a word must be written Q('its name'), not in backticks; found "
        "'`the depth`'.",
    ),
    "a group in backticks": (
        "gain ~ depth + (1 | `the model`)",
        rows,
        ColumnError,
        "A column that is not a word must be written Q('its name'), not in backticks; found "
        "'`the model`'.",
    ),
    "open bracket": (
        "gain ~ depth + (1 | model",
        rows,
        ColumnError,
        "The formula 'gain ~ depth + (1 | model' must be readable; a bracket is not closed.",
    ),
    "bar without brackets": (
        "gain ~ depth + 1 | model",
        rows,
        ColumnError,
        "A random term must stand in brackets; 'gain ~ depth + 1 | model' has a bar outside them.",
    ),
    "no random term": (
        "gain ~ depth",
        rows,
        DesignError,
        "A mixed model must have a random term; 'gain ~ depth' has none.",
    ),
    "unknown function": (
        "gain ~ cube(depth) + (1 | model)",
        rows,
        ColumnError,
        "The expression 'cube(depth)' must use known functions; 'cube' is not one.",
    ),
    "polynomial of huge numbers": (
        "gain ~ poly(depth, 2) + (1 | model)",
        rows.assign(depth=rows["depth"] * 1e200),
        ColumnError,
        "'poly(depth, 2)' must be of finite numbers whose powers are finite; its constants are "
        "not.",
    ),
    "unknown contrast": (
        "gain ~ C(kind, Wrong) + (1 | model)",
        rows,
        ColumnError,
        "The contrast in 'C(kind, Wrong)' must be one of Treatment, Sum, Helmert, Poly, Diff; "
        "name 'Wrong' is not defined.",
    ),
}

near = pd.read_csv(Path(__file__).parents[2] / "r/mixed_data_near.csv")


@pytest.mark.parametrize("column", ["x2", "x3"])
def test_columns_that_hardly_differ_are_told_with_the_distance_that_is_seen(column: str) -> None:
    formula = f"y ~ x + {column} + (1 | g)"
    with pytest.raises(DesignError, match=rf"\['{column}'\].*3e-06") as refusal:
        mixed.fit(formula, near)
    assert "I(x2 - x)" in str(refusal.value)
    notes = mixed.fit(formula, near, aliased="drop").warnings().set_index("guard")["note"]
    assert "3e-06" in notes["columns left out"]
    assert column in notes["columns left out"]


def test_the_difference_of_columns_that_hardly_differ_has_lme4s_estimate() -> None:
    known = pd.read_csv(Path(__file__).parents[2] / "r/mixed_near.csv").set_index("name")
    model = mixed.fit("y ~ x + I(x2 - x) + (1 | g)", near)
    ours = model.tidy(("fixed",), df="satterthwaite").set_index("term").loc["I(x2 - x)"]
    columns = ["estimate", "std_error", "statistic"]
    at = known.loc["difference", columns].to_numpy(dtype=float)
    np.testing.assert_allclose(ours[columns].to_numpy(dtype=float), at, rtol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name: str) -> None:
    formula, frame, kind, sentence = REFUSED[name]
    with pytest.raises(kind) as refusal:
        mixed.fit(formula, frame)
    assert refusal.value.problem == sentence
    assert refusal.value.hint


def test_a_weight_must_be_positive() -> None:
    weights = [0.0, *rows["precision"][1:]]
    with pytest.raises(ColumnError, match=r"Weights 'precision' must be positive; the smallest is"):
        mixed.fit("gain ~ depth + (1 | model)", rows.assign(precision=weights), weights="precision")


def test_a_path_must_be_parquet(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="must name Parquet files"):
        mixed.fit("gain ~ depth + (1 | model)", tmp_path / "nothing.parquet")


def test_an_unknown_method_names_the_known_ones() -> None:
    model = mixed.fit("gain ~ depth + (1 | model)", rows)
    with pytest.raises(AnalysisError, match="`df` must be one of 'kenward-roger', 'satterth"):
        model.tidy(df="z")


def test_a_fit_that_leaves_no_residual_has_no_kenward_roger_test() -> None:
    # With seed 24 the standard errors came out a hundred times too small, with 3 not at all.
    for seed in (3, 24):
        rng = np.random.default_rng(seed)
        eight = pd.DataFrame({name: rng.normal(size=8) for name in "yabc"})
        eight = eight.assign(lab=list("aabbccdd"), suite=list("abcdabcd"))
        model = mixed.fit("y ~ a + b + c + (1 | lab) + (1 | suite)", eight)
        with pytest.raises(DesignError, match="must know how uncertain each variance is"):
            model.tidy(["fixed"], df="kenward-roger")
        assert "The residual variance is nothing" in " ".join(model.warnings()["note"])


def test_sums_are_fitted_with_the_offset_they_were_collected_with() -> None:
    known = "gain ~ depth + offset(known) + (1 | model)"
    collected = mixed.collect_statistics(known, rows)
    assert mixed.fit_statistics(known, collected).statistics.offset == "known"
    with pytest.raises(DesignError, match="must be of the formula's offset, none; they were coll"):
        mixed.fit_statistics("gain ~ depth + (1 | model)", collected)


@pytest.mark.parametrize(
    ("formula", "refusal"),
    [
        ("gain ~ depth + (1 | model) ~ prompt", "A formula must read"),
        ("gain ~ depth + (0 | model)", "Something must vary among the levels of 'model'"),
        ("1 ~ depth + (1 | model)", "must read a column; '1' reads none"),
    ],
)
def test_formulas_without_a_meaning_are_refused(formula: str, refusal: str) -> None:
    with pytest.raises(AnalysisError, match=refusal):
        mixed.fit(formula, rows)


def test_a_contrast_of_no_factor_is_refused() -> None:
    with pytest.raises(ColumnError, match="Contrasts must be of factors of the formula"):
        mixed.fit("gain ~ depth + (1 | model)", rows, contrasts={"depth": "a"})


def test_numbers_whose_squares_overflow_are_refused() -> None:
    with pytest.raises(ColumnError, match="'depth' must be at most 1e"):
        mixed.fit("gain ~ depth + (1 | model)", rows.assign(depth=rows["depth"] * 1e200))


@pytest.fixture(scope="module")
def plain() -> mixed.MixedModel:
    return mixed.fit("gain ~ depth + kind + (1 | model)", rows)


FLAGS: dict[str, tuple[str, Callable[[mixed.MixedModel], object]]] = {
    "fit": ("reml", lambda m: mixed.fit(m.formula.text, rows, reml="yes")),  # type: ignore[arg-type]
    "update": ("reml", lambda m: m.update(reml="no")),  # type: ignore[arg-type]
    "statistics": (
        "reml",
        lambda m: mixed.fit_statistics(m.formula.text, m.statistics, reml="ML"),  # type: ignore[arg-type]
    ),
    "means": ("pairs", lambda m: m.means("kind", pairs="kind")),  # type: ignore[arg-type]
    "trends": ("pairs", lambda m: m.trends("depth", "kind", pairs="none")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", FLAGS)
def test_what_says_yes_or_no_is_true_or_false(plain: mixed.MixedModel, name: str) -> None:
    argument, call = FLAGS[name]
    with pytest.raises(AnalysisError, match=f"`{argument}` must be True or False; found"):
        call(plain)


def test_one_kind_of_effect_may_be_asked_by_its_name_and_none_may_not(
    plain: mixed.MixedModel,
) -> None:
    binary = mixed.fit_binomial("(gain > 1) ~ depth + (1 | model)", rows)
    for model in (plain, binary):
        pd.testing.assert_frame_equal(model.tidy("fixed"), model.tidy(["fixed"]))
        with pytest.raises(AnalysisError, match="Some effects must be asked for; found none"):
            model.tidy(())
        with pytest.raises(AnalysisError, match=r"`effects` must be one of .*found 'random'"):
            model.tidy("random")
