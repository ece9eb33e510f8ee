"""The frames: their keys, their columns, what they warn of."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.inference.association import regression
from analysis.mixed.frames.tables import df_note
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError

R = Path(__file__).parents[3] / "r"
rows = pd.read_csv(R / "mixed_data_crossed.csv")
FORMULA = "gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt)"


@pytest.fixture(scope="module")
def model():
    return mixed.fit(FORMULA, rows)


def guards(model, **options):
    frame = model.warnings(**options)
    return list(frame[["guard", "term", "group"]].itertuples(index=False, name=None))


def test_tidy_has_one_row_per_effect_group_level_and_term(model):
    tidy = model.tidy(["fixed", "ran_pars", "ran_vals"])
    keys = ["effect", "group", "level", "term"]
    assert not tidy.duplicated(keys).any()
    assert (tidy["effect"] == "fixed").sum() == 5
    assert (tidy["effect"] == "ran_pars").sum() == 6
    assert (tidy["effect"] == "ran_vals").sum() == 5 + 2 * 12 + 15
    assert set(tidy.columns) <= set(glossary.GLOSSARY)
    n_groups = model.tidy(["fixed"]).set_index("term")["n_groups"]
    # rho belongs to the 12 models, kind to the 15 prompts, the slope of depth varies by model.
    of_kind = {"kind[T.chat]": 15, "kind[T.code]": 15}
    assert n_groups.to_dict() == {"Intercept": 5, **of_kind, "rho": 12, "depth": 12}
    glance = model.glance()
    assert glance["n_groups"].item() == 5
    assert glance["note"].item().endswith("Groups: prompt, 15; model, 12; lab, 5.")
    signs = mixed.fit_binomial("(gain > 1) ~ depth + (1 | model) + (1 | prompt)", rows).glance()
    assert signs["note"].item().endswith("Groups: prompt, 15; model, 12.")
    alone = mixed.fit("gain ~ depth + (1 | model)", rows).glance()
    assert "Groups:" not in alone["note"].item()


def test_intervals_and_p_values_follow_from_the_statistic_and_its_df(model):
    from scipy import stats

    for df in ("kenward-roger", "satterthwaite", "wald"):
        tidy = model.tidy(["fixed"], df=df, conf_level=0.9)
        freedom = tidy["df"].replace(np.inf, 1e12)
        np.testing.assert_allclose(
            tidy["p_value"], 2 * stats.t.sf(abs(tidy["statistic"]), freedom), rtol=1e-8
        )
        reach = stats.t.isf(0.05, freedom) * tidy["std_error"]
        np.testing.assert_allclose(tidy["conf_high"], tidy["estimate"] + reach, rtol=1e-9)


def test_augment_keeps_rows_order_and_columns(model, tmp_path):
    augmented = model.augment()
    pd.testing.assert_frame_equal(augmented[list(rows.columns)], rows, check_dtype=False)
    np.testing.assert_allclose(
        augmented["fitted"] + augmented["residual"], augmented["gain"], atol=1e-12
    )
    positive = rows.assign(gain=np.exp(rows["gain"]))
    positive.to_parquet(tmp_path / "rows.parquet")
    formula = "log(gain) ~ depth + offset(known) + (1 | model)"
    model = mixed.fit(formula, tmp_path / "rows.parquet")
    augmented = model.augment()
    np.testing.assert_allclose(
        augmented["fitted"] + augmented["residual"], rows["gain"], atol=1e-12
    )
    fixed = augmented["known"] + model.coefficients @ np.array([np.ones(371), rows["depth"]])
    np.testing.assert_allclose(augmented["fitted_fixed"], fixed, atol=1e-12)


def test_augment_needs_the_rows_and_a_locked_store_has_them(model):
    alone = mixed.fit_statistics(FORMULA, model.statistics)
    with pytest.raises(DesignError, match="fitted from statistics"):
        alone.augment()
    connection = duckdb.connect()
    connection.from_df(rows).create("measured")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    model = mixed.fit("gain ~ depth + (1 | model)", connection.table("measured"))
    augmented = model.augment()
    assert len(augmented) == len(rows)


def test_few_groups_groups_alike_and_mixed_definitions_are_warned_of(model):
    assert ("few groups for a z test", "rho", "model") in guards(model, df="wald")
    assert ("few groups for a z test", "depth", "model") in guards(model, df="wald")
    assert not any(guard == "few groups for a z test" for guard, *_ in guards(model))
    assert "rejects too often" in model.tidy(["fixed"], df="wald").set_index("term")["note"]["rho"]
    flat = pd.read_csv(R / "mixed_data_dyestuff2.csv")
    singular = mixed.fit("Yield ~ 1 + (1 | Batch)", flat)
    assert ("variance at the boundary", "", "Batch") in guards(singular)
    assert bool(singular.glance()["singular"].iloc[0])
    assert "The variance of Intercept among Batch is zero" in singular.glance()["note"].iloc[0]
    three = mixed.fit("gain ~ depth + (1 | kind)", rows)
    assert ("fewer than five groups", "", "kind") in guards(three)
    alike = mixed.fit("gain ~ depth + (1 | lab:kind) + (1 | kind:lab)", rows)
    assert ("groups alike", "", "kind:lab") in guards(alike)
    nested = mixed.fit("gain ~ depth + (1 | lab/kind)", rows)
    assert not any(guard == "groups alike" for guard, *_ in guards(nested))
    two = rows.assign(metric=np.where(rows["depth"] > 0.5, "gain_last_block", "gain_final"))
    formula = "gain ~ rho + (1 | model)"
    assert ("mixed definitions", "", "metric") in guards(mixed.fit(formula, two))
    told_apart = mixed.fit("gain ~ rho + metric + (1 | model)", two)
    assert not any(guard == "mixed definitions" for guard, *_ in guards(told_apart))


def test_a_predictor_without_its_intercept_or_slope_is_warned_of(model):
    heritage = rows.assign(heritage=rows["lab"].isin(["alpha", "beta"]))
    formula = "gain ~ heritage + (1 | model)"
    without = mixed.fit(formula, heritage, units=["lab"])
    assert ("no random intercept", "heritage[T.true]", "lab") in guards(without)
    with_lab = mixed.fit(formula + " + (1 | lab)", heritage)
    assert not any(guard == "no random intercept" for guard, *_ in guards(with_lab))
    assert ("confounded with a group", "heritage[T.true]", "lab") in guards(with_lab)
    single = rows.assign(row=[f"r{place}" for place in range(len(rows))])
    by_row = mixed.fit("gain ~ depth + (1 | model)", single, units=["row"])
    assert not any(guard == "no random intercept" for guard, *_ in guards(by_row))
    nested = mixed.fit("gain ~ rho + (1 | lab/model)", rows)
    assert not any(guard == "no random intercept" for guard, *_ in guards(nested))
    crossed = mixed.fit("gain ~ rho + (1 | model:prompt) + (1 | prompt)", rows)
    assert ("no random intercept", "rho", "model") in guards(crossed)
    intercepts = mixed.fit("gain ~ depth + (1 | lab) + (1 | model)", rows)
    assert ("no random slope", "depth", "lab") in guards(intercepts)
    assert not any(guard == "no random slope" for guard, *_ in guards(model))


def test_what_was_not_fitted_or_is_no_frame_cannot_be_predicted(model):
    with pytest.raises(ColumnError, match=r"must hold levels that were fitted; \['poem'\]"):
        model.predict(rows.head(2).assign(kind="poem"))
    with pytest.raises(ColumnError, match="must be a pandas DataFrame; found dict"):
        model.predict({"depth": [0.5]})


@pytest.mark.parametrize("groups", ["new", "known"])
def test_a_row_that_lacks_a_predictor_has_no_prediction_and_says_why(model, groups):
    labelled = rows.head(6).set_axis([3, 1, 4, 1, 5, 9])
    holes = labelled.copy()
    holes["depth"] = [np.nan, *labelled["depth"].iloc[1:4], np.inf, labelled["depth"].iloc[5]]
    holes["kind"] = [*labelled["kind"].iloc[:4], None, None]
    result, whole = (model.predict(each, groups=groups) for each in (holes, labelled))
    assert result.columns.equals(whole.columns)
    assert result.index.equals(labelled.index)
    pd.testing.assert_frame_equal(result.iloc[1:4], whole.iloc[1:4])
    assert result["note"].tolist() == [
        "No prediction: 'depth' is no finite number.",
        *whole["note"].iloc[1:4],
        "No prediction: 'depth' is no finite number. 'kind' names no level.",
        "No prediction: 'kind' names no level.",
    ]
    numbers = result[["estimate", "std_error", "df", "conf_low", "predicted_high"]].iloc[[0, 4, 5]]
    assert numbers.isna().all(axis=None)
    alone = model.predict(holes.iloc[[4]], groups=groups)
    pd.testing.assert_frame_equal(alone, result.iloc[[4]], check_dtype=False)


@pytest.mark.parametrize("name", ["fixed_", "basis1_", "Offset_", "level0", "cell_", "Fitted"])
def test_rows_with_a_column_called_like_one_that_is_joined_are_refused(name):
    # A column called basis1_ or fixed_ once took the place of ours, and residuals were wrong.
    model = mixed.fit(f"gain ~ {name} + (1 | model)", rows.rename(columns={"depth": name}))
    with pytest.raises(ColumnError, match=rf"must not already have .*\['{name}'\]"):
        model.augment()


def test_whole_degrees_of_freedom_are_not_fewer_than_themselves():
    # Five clusters beside the one leave four degrees of freedom, less a rounding error.
    labs = np.repeat(list("abcdef"), 8)
    values = np.random.default_rng(5).normal(size=(2, 48))
    frame = pd.DataFrame({"lab": labs, "y": values[0], "one": (labs == "a").astype(float)})
    notes = regression.fit(frame, "y ~ one", cluster="lab").tidy()["note"]
    assert not notes.str.contains("Fewer than").any()
    assert not df_note(4 - 1e-12)
    assert df_note(3.9)
