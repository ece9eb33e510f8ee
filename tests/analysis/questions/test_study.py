"""The registered analysis of the study, on tables whose truth is known."""

from __future__ import annotations

import itertools
import math
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.exhibits.study import charts, tables
from analysis.questions.study import (
    fleet,
    horizons,
    labs,
    ladder,
    registered,
    screening,
    shares,
    signs,
    slope,
    use,
)
from analysis.questions.study.verdict import verdict_on_heritage
from analysis.store import Store, open_store
from analysis.tidy.errors import DesignError
from collect.record.writer import write_table
from collect.training.study.design import read_design

ROOT = Path(__file__).parents[3]
RECIPES = {
    "gpt_neo": "EleutherAI",
    "gptj": "EleutherAI",
    "pythia": "EleutherAI",
    "pythia_default_init": "EleutherAI",
    "opt": "Meta",
    "opt_post": "Meta",
    "bloom": "BigScience",
    "olmo2": "AI2",
}


def drawn_table(rng: np.random.Generator, *, n_rows: int = 8, n_seeds: int = 2) -> np.ndarray:
    """Return a table of recipes by four shapes by seeds with effects of every source."""
    rows, columns = rng.normal(0, 1.0, (n_rows, 1)), rng.normal(0, 0.5, (1, 4))
    cells = rows + columns + rng.normal(0, 0.3, (n_rows, 4))
    return np.asarray(cells[:, :, None] + rng.normal(0, 0.4, (n_rows, 4, n_seeds)))


def test_sums_of_squares_are_those_of_nested_regressions() -> None:
    values = drawn_table(np.random.default_rng(1))
    y = values.ravel()
    row, column, _ = (index.ravel() for index in np.indices(values.shape))
    ones, rows, columns = np.ones((len(y), 1)), np.eye(8)[row], np.eye(4)[column]
    both = (rows[:, :, None] * columns[:, None, :]).reshape(len(y), -1)

    def residual(*designs: np.ndarray) -> float:
        design = np.column_stack(designs)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    expected = {
        "recipe": residual(ones) - residual(rows),
        "geometry": residual(rows) - residual(rows, columns),
        "recipe:geometry": residual(rows, columns) - residual(both),
        "seed": residual(both),
    }
    found = shares.sources(values, "recipe", shares.GEOMETRY)
    assert {s.name: s.sum_of_squares for s in found} == pytest.approx(expected)
    assert [s.df for s in found] == [7, 3, 21, 32]
    fine = shares.sources(values, "recipe", shares.SCALE_AND_SHAPE)
    parts = {s.name: s.sum_of_squares for s in fine}
    assert sum(parts[name] for name in shares.SCALE_AND_SHAPE) == pytest.approx(
        expected["geometry"]
    )
    large, small = values[:, 3].mean(), values[:, 0].mean()
    assert parts["scale"] == pytest.approx(8 * 2 * (large - small) ** 2 / 2)


def test_joint_intervals_hold_the_true_shares_and_estimates_are_near_them() -> None:
    rng = np.random.default_rng(2)
    cells = drawn_table(rng, n_seeds=1)[:, :, 0]
    exact = shares.sources(np.repeat(cells[:, :, None], 2, axis=2), "recipe", shares.GEOMETRY)
    parts = [source.sum_of_squares / (2 * cells.size) for source in exact[:-1]]
    truth = np.array([*parts, 0.3**2]) / (sum(parts) + 0.3**2)
    covered, estimates = [], []
    for _ in range(300):
        values = cells[:, :, None] + rng.normal(0, 0.3, (*cells.shape, 2))
        found = shares.sources(values, "recipe", shares.GEOMETRY)
        ends = np.array(shares.joint_intervals(found, values.size, 0.95))
        covered.append(bool(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all()))
        estimates.append(shares.estimated_shares(found, values.size))
    assert np.mean(covered) > 0.93
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=0.01)


def test_shares_sum_to_one_and_f_is_the_usual_one() -> None:
    values = drawn_table(np.random.default_rng(3))
    found = shares.variance_shares(
        values, "recipe", shares.SCALE_AND_SHAPE, n_resamples=200, rng=np.random.default_rng(0)
    )
    for _, rows in found.groupby("method"):
        assert rows["estimate"].sum() == pytest.approx(1)
        assert (rows["conf_low"] <= rows["conf_high"]).all()
    one_way = shares.sources(values[:, :1], "recipe", {})
    error = one_way[-1].sum_of_squares / one_way[-1].df
    expected = stats.f_oneway(*values[:, 0]).statistic
    assert one_way[0].sum_of_squares / one_way[0].df / error == pytest.approx(expected)


def test_a_row_with_a_run_missing_is_left_out_whole() -> None:
    runs = pd.DataFrame(
        [
            {"recipe": recipe, "geometry": shape, "seed": seed, "excess": float(seed)}
            for recipe in "abc"
            for shape in "xy"
            for seed in (0, 1)
        ]
    )
    runs.loc[0, "excess"] = np.nan
    values, kept = shares.cell_table(runs, "excess", "recipe", "geometry", ["x", "y"])
    assert kept == ["b", "c"]
    assert values.shape == (2, 2, 2)
    with pytest.raises(DesignError, match="two complete recipe levels and two seeds"):
        shares.cell_table(runs.iloc[:6], "excess", "recipe", "geometry", ["x", "y"])


def test_the_lab_share_is_compared_with_every_labelling() -> None:
    means = pd.DataFrame({"recipe": list("pqrs"), "lab": list("AABC"), "excess": [1.0, 2.0, 5, 9]})
    found = labs.lab_share(means, "excess").set_index("term")
    values = means["excess"].to_numpy()

    def share(labels: tuple[str, ...]) -> float:
        groups = [values[np.array(labels) == name] for name in set(labels)]
        between = sum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups)
        return float(between / ((values - values.mean()) ** 2).sum())

    every = [share(labels) for labels in set(itertools.permutations("AABC"))]
    assert found.loc["lab", "estimate"] == pytest.approx(share(("A", "A", "B", "C")))
    assert found.loc["lab", "n_permutations"] == len(every) == 12
    reaching = np.mean(np.array(every) >= share(("A", "A", "B", "C")) - 1e-9)
    assert found.loc["lab", "p_value"] == pytest.approx(reaching) == pytest.approx(2 / 12)
    assert np.mean(every) == pytest.approx(found.loc["lab", "null_value"]) == pytest.approx(2 / 3)
    assert found["estimate"].sum() == pytest.approx(1)
    with pytest.raises(DesignError, match="belong to two labs"):
        labs.lab_share(means.assign(lab="A"), "excess")


def test_negative_cells_are_found_and_false_ones_are_rare() -> None:
    rng = np.random.default_rng(4)
    runs = pd.DataFrame({"cell": np.repeat(np.arange(16), 2), "excess": rng.normal(0, 0.1, 32)})
    runs.loc[runs["cell"] == 3, "excess"] -= 2
    found = signs.negative_cells(runs, "excess").set_index("level")
    assert found.index[found["p_adjusted"] < 0.01].tolist() == [3]
    pooled = runs.groupby("cell")["excess"].var().mean()
    assert found.loc[3, "std_error"] == pytest.approx((pooled / 2) ** 0.5)
    assert (found["df"] == 16).all()
    null = [
        signs.negative_cells(runs.assign(excess=rng.normal(0, 1, 32)), "excess")["p_adjusted"].min()
        for _ in range(300)
    ]
    assert np.mean(np.array(null) < 0.05) < 0.09
    with pytest.raises(DesignError, match="two runs in some cell"):
        signs.negative_cells(runs.drop_duplicates("cell"), "excess")


def fraction(rng: np.random.Generator, sd: float) -> tuple[pd.DataFrame, pd.Series]:
    """Return a replicated 2^(4-1) in which a has the effect 3, d the effect -1, others none."""
    rows = []
    for a, b, c in itertools.product((-1, 1), repeat=3):
        for _ in range(2):
            d = a * b * c
            y = 10 + 1.5 * a - 0.5 * d + rng.normal(0, sd)
            rows.append({**dict(zip("abcd", (a, b, c, d), strict=True)), "y": y})
    frame = pd.DataFrame(rows)
    frame[list("abcd")] = frame[list("abcd")].replace({-1: "lo", 1: "hi"})
    return frame, pd.Series(dict.fromkeys("abcd", "lo"))


def test_main_effects_against_seeds_and_by_lenth() -> None:
    runs, low = fraction(np.random.default_rng(5), 0.05)
    found = screening.main_effects(runs, "y", low)
    seeds = found[found["method"] == "seeds"].set_index("term")
    assert seeds["estimate"].to_dict() == pytest.approx(
        {"a": 3.0, "b": 0.0, "c": 0.0, "d": -1.0}, abs=0.08
    )
    difference = runs.loc[runs["a"] == "hi", "y"].mean() - runs.loc[runs["a"] == "lo", "y"].mean()
    assert seeds.loc["a", "estimate"] == pytest.approx(difference)
    cell = runs.groupby(list("abcd"))["y"].var().mean()
    assert seeds.loc["a", "std_error"] == pytest.approx((4 * cell / 16) ** 0.5)
    assert (found[found["method"] == "Lenth"]["df"] == 7 / 3).all()
    assert screening.largest_terms(found, 2) == ["a", "d"]
    with pytest.raises(DesignError, match="balanced and orthogonal"):
        screening.main_effects(runs.iloc[1:], "y", low)


def test_lenths_error_by_hand() -> None:
    """Median of the five is 1.5, 2.5 times 1.5 of it is 5.6; the other four have median 1.25."""
    assert screening.lenth_error(np.array([0.5, -1.0, 1.5, 2.0, -20.0])) == pytest.approx(1.875)
    assert screening.lenth_error(np.zeros(5)) == 0.0


def test_all_contrasts_of_a_fraction_are_one_less_than_its_cells() -> None:
    runs, low = fraction(np.random.default_rng(6), 0.0)
    cells, place = np.unique(screening.signs_of(runs, low), axis=0, return_inverse=True)
    means = np.bincount(place.ravel(), runs["y"]) / 2
    found = np.sort(np.abs(screening.all_contrasts(cells, means)))
    assert found == pytest.approx([0, 0, 0, 0, 0, 1, 3], abs=1e-12)


def test_an_additive_truth_is_foretold_and_another_is_not() -> None:
    screened, low = fraction(np.random.default_rng(7), 0.0)
    others = pd.DataFrame({"a": ["lo", "hi"], "d": ["lo", "lo"], "y": [9.0, 12.0]})
    row = screening.foretold(screened, others, "y", low, ["a", "d"]).iloc[0]
    assert row["r_squared"] == pytest.approx(1)
    wrong = screening.foretold(screened, others.assign(y=[12.0, 9.0]), "y", low, ["a", "d"])
    assert wrong["r_squared"].iloc[0] == pytest.approx(-3)


def test_the_slope_is_split_into_depths_part_and_the_rates() -> None:
    runs = pd.DataFrame(
        [
            {"n_layers": n, "learning_rate": rate, "decay_turns": turns}
            for n in (3, 6, 12)
            for rate in (5e-4, 4e-3)
            for turns in (0.1, 4.0)
        ]
    )
    logs = np.log(runs)
    noise = np.random.default_rng(8).normal(0, 1e-6, len(runs))
    runs["y"] = 1 - 0.05 * logs["n_layers"] + 0.1 * logs["learning_rate"] + noise
    found = slope.slopes(runs, "y").set_index("term")["estimate"]
    assert found["depth's own part"] == pytest.approx(-0.05, abs=1e-4)
    assert found["rate's part"] == pytest.approx(-0.12, abs=1e-4)
    assert found["slope a suite would show"] == pytest.approx(-0.17, abs=1e-4)
    with pytest.raises(DesignError, match="vary apart"):
        slope.slopes(runs[runs["decay_turns"] == 0.1], "y")


def test_the_interval_of_a_slope_covers_the_truth() -> None:
    rng = np.random.default_rng(9)
    grid = itertools.product((3, 6, 12), (5e-4, 1.5e-3, 4e-3), (0.1, 4.0))
    runs = pd.DataFrame(list(grid), columns=["n_layers", "learning_rate", "decay_turns"])
    covered = 0
    for _ in range(300):
        noisy = runs.assign(y=0.1 * np.log(runs["learning_rate"]) + rng.normal(0, 0.2, len(runs)))
        row = slope.slopes(noisy, "y").set_index("term").loc["rate's part"]
        covered += bool(row["conf_low"] <= -0.12 <= row["conf_high"])
    assert 0.91 < covered / 300 < 0.985


def test_a_run_is_read_where_its_loss_crosses_the_goal() -> None:
    run = pd.DataFrame(
        {"loss": [5.0, 3.0, 2.0, 1.0]} | {r: [0, 1, 2, 4] for r in horizons.RESPONSES}
    )
    found = horizons.at_loss(run, 1.5)
    assert (found["excess"], found["loss"], found["reached"]) == (3.0, 1.5, True)
    never = horizons.at_loss(run, 0.5)
    assert np.isnan(never["excess"])
    assert not never["reached"]
    assert horizons.at_loss(run, 6.0)["excess"] == 0
    assert horizons.at_last(run, 0.5)["reached"] is False


def test_the_ladder_asks_for_learning_and_for_forgetting() -> None:
    rows = []
    for length, moved, reached in (("steps_400", 1.0, False), ("steps_1200", 0.05, True)):
        for seed, value in ((0, 0.0), (1, 0.1)):
            plain = {"sigma": "as said", "excess": value, "seed": seed, "reached": reached}
            rows.append({"length": length, "of_recipe": "opt", **plain})
        half = {"sigma": "half", "excess": 0.05 + moved, "seed": 0, "reached": reached}
        rows.append({"length": length, "of_recipe": "opt", **half})
    found = ladder.lengths(pd.DataFrame(rows).iloc[::-1])
    assert found["term"].tolist() == ["steps_400", "steps_1200"]
    assert found["holds"].tolist() == [False, True]
    assert found["sd"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert found["estimate"].tolist() == pytest.approx([1.0, 0.05])
    unmoved = ladder.lengths(pd.DataFrame(rows).query("sigma == 'as said'"))
    assert unmoved["estimate"].isna().all()
    assert not unmoved["holds"].any()


def filled(directory: Path, runs: list[dict[str, object]]) -> Store:
    """Return a store of runs: study, cell, levels, seed, and the excess at the last checkpoint."""
    found: dict[str, list[dict[str, object]]] = {}
    for place, run in enumerate(runs):
        key = {"study_run_id": f"run{place}"}
        shape = {"n_layers": 3, "d_model": 64, "n_heads": 4, "n_parameters": 1}
        levels = run["levels"]
        assert isinstance(levels, dict)
        found.setdefault("study_run", []).append(
            {
                **key, **shape, "study": run["study"], "block": run.get("block", "all"),
                "cell": "/".join(levels.values()), "seed": run["seed"],
                "parent_id": run.get("parent_id"), "family": "gpt_neox", "weight_decay": 0.1,
                "learning_rate": 2e-3, "decay_turns": 1.0,
                "n_steps": 10, "loss_before": 5.5, "loss_after": 1.5,
                "bigram_loss": 2.3, "trigram_loss": 1.75, "text_sha256": "t",
                "weights_sha256": "w", "recipe": "{}", "schema_version": 2, "code_version": "c",
                "python_version": "p", "torch_version": "t", "transformers_version": "t",
                "started_at": datetime(2026, 1, 1), "cpu_s": 1.0,
            }
        )  # fmt: skip
        for factor, level in levels.items():
            found.setdefault("study_level", []).append({**key, "factor": factor, "level": level})
        for step, loss, growth in (
            (0, 5.5, 0.0),
            (5, 2.0, run["excess"]),
            (10, 1.5, run["excess"]),
        ):
            gains = dict.fromkeys(
                ("first_log_gain", "first_log_gain_centred", "later_log_gain_centred",
                 "equal_writes", "equal_writes_centred", "last_log_gain_centred",
                 "share_negative", "share_negative_centred"), 0.5
            )  # fmt: skip
            for tokens in ("all", "without_first"):
                of = {**key, "step": step, "tokens": tokens}
                found.setdefault("study_response", []).append(
                    {**of, **gains, "loss": loss, "later_log_gain": float(str(growth)) + 0.5,
                     "last_log_gain": float(str(growth))}
                )  # fmt: skip
                found.setdefault("study_profile", []).append(
                    {**of, "layer": 1, "log_gain": 0.2, "log_gain_sd": 0.1, "log_gain_centred": 0.2,
                     "share_negative": 0.0, "ratio": 1.0, "cosine": 0.0}
                )  # fmt: skip
    for name, rows in found.items():
        write_table(name, pd.DataFrame(rows), directory / name / "simulated.parquet")
    return open_store(directory)


def packages(rng: np.random.Generator, of_recipe: dict[str, float]) -> list[dict[str, object]]:
    return [
        {
            "study": "packages",
            "block": "documented",
            "seed": seed,
            "levels": {
                "recipe": recipe,
                "lab": lab,
                "geometry": shape,
                "heads": "w16",
                "text": "kjv",
                "status": "documented",
            },
            "excess": of_recipe[recipe] + rng.normal(0, 0.02),
        }
        for recipe, lab in RECIPES.items()
        for shape in registered.SHAPES
        for seed in (0, 1)
    ]


def test_recipes_that_differ_within_a_lab_give_the_verdict_recipe_not_lab(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    values = dict(zip(RECIPES, (-0.8, 0.7, -0.1, 0.4, 0.9, -0.6, 0.1, 0.2), strict=True))
    store = filled(tmp_path, packages(rng, values))
    found = registered.outcomes(store, rng=np.random.default_rng(0))
    assert len(found) == 2 * len(registered.PREDICTIONS)
    verdict = found[found["condition"] == "equal loss"].set_index("claim_id")["verdict"]
    expected = {"S1": "held", "S2": "held", "S3": "missed", "S4": "held", "S5": "missed",
                "S6": "held", "S11": "held"}  # fmt: skip
    assert {name: verdict[name] for name in expected} == expected
    assert set(verdict[["S7", "S8", "S9", "S10", "S12", "S13"]]) == {"cannot be told"}
    notes = found.set_index("claim_id")["note"]
    assert "must hold runs of the study 'ingredients'" in notes["S7"].iloc[0]
    answers = dict(verdict_on_heritage(found))
    assert answers["recipe, not lab: training choices, not who made them"] == "held"
    assert answers["confirmed: the lab decides"] == "missed"
    assert answers["mechanism identified"] == "cannot be told"
    rows = tables.outcome_rows(found).set_index("no")
    assert rows.loc["S1", ["steps", "loss"]].tolist() == ["held", "held"]
    assert "must hold runs" in rows.loc["S7", "found"]


def test_no_difference_between_recipes_is_not_called_one(tmp_path: Path) -> None:
    store = filled(tmp_path, packages(np.random.default_rng(11), dict.fromkeys(RECIPES, 0.5)))
    found = registered.outcomes(store, rng=np.random.default_rng(0))
    verdict = found.groupby("claim_id")["verdict"].first()
    assert (verdict["S1"], verdict["S5"], verdict["S6"]) == ("missed", "missed", "missed")


def test_birth_and_upbringing_are_told_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    births = dict(zip("abcdef", range(6), strict=True))
    runs = [
        {
            "study": "inheritance",
            "seed": seed,
            "parent_id": "parent",
            "levels": {"birth": birth, "upbringing": f"as_{later}"},
            "excess": value + rng.normal(0, 0.05),
        }
        for birth, value in births.items()
        for later in births
        for seed in (0, 1)
    ]
    store = filled(tmp_path, runs)
    found = registered.outcomes(store, rng=np.random.default_rng(0)).set_index("claim_id")
    assert set(found.loc["S9", "verdict"]) == {"held"}


def test_the_low_levels_are_the_first_ones_of_the_design() -> None:
    design = read_design(ROOT / "data" / "study" / "ingredients.toml")
    assert {name: next(iter(levels)) for name, levels in design.factors.items()} == (
        registered.LOW.to_dict()
    )


def test_a_length_at_which_no_run_arrives_does_not_hold() -> None:
    runs = pd.DataFrame(
        [
            {"length": "steps_9", "of_recipe": recipe, "sigma": sigma, "seed": seed,
             "reached": False, "excess": np.nan}
            for recipe in "ab" for sigma in ("as said", "half") for seed in (0, 1)
        ]
    )  # fmt: skip
    (row,) = ladder.lengths(runs).to_dict("records")
    assert (row["share"], row["holds"]) == (0.0, False)
    assert math.isnan(row["statistic"])


def test_chance_is_the_spread_within_cells_and_shapes_count_once_half_are_complete() -> None:
    runs = pd.DataFrame(
        [
            {"cell": f"{recipe}/{shape}", "recipe": recipe, "geometry": shape, "excess": value}
            for recipe, shape, *values in (
                ("a", "l3d64", 1.0, 1.2), ("a", "l12d64", 1.0, 1.0), ("b", "l3d64", 3.0, 3.2),
                ("b", "l3d128", 3.0),
            )
            for value in values
        ]
    )  # fmt: skip
    band = fleet.band_of_chance(runs)
    assert (band.df, band.sd) == (3, pytest.approx(np.sqrt(0.04 / 3)))
    assert band.middle == pytest.approx((1.05 + 9.2 / 3) / 2)
    assert band.high - band.middle == pytest.approx(stats.t.ppf(0.975, 3) * band.sd)
    assert fleet.shapes_told(runs) == ["l3d64"]
    assert fleet.shapes_told(runs[runs["recipe"] == "a"]) == []
    more = pd.DataFrame(
        [{"recipe": "b", "geometry": "l12d64", "excess": 3.0, "cell": "b/l12d64"}] * 2
    )
    assert fleet.shapes_told(pd.concat([runs, more])) == ["l3d64", "l12d64"]


def test_shares_of_the_fleet_are_the_registered_ones_once_all_shapes_are_there(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(10)
    values = dict(zip(RECIPES, (-0.8, 0.7, -0.1, 0.4, 0.9, -0.6, 0.1, 0.2), strict=True))
    store = filled(tmp_path, packages(rng, values))
    found = fleet.response_shares(store, rng=np.random.default_rng(1))
    assert set(found["response"]) == {"excess", "last_log_gain"}
    expected = registered.fleet_shares(store, "equal steps", "excess", np.random.default_rng(1))
    first = found[found["response"] == "excess"]
    assert first["estimate"].tolist() == expected["estimate"].tolist()
    order = fleet.recipe_runs(store)["recipe"].drop_duplicates()
    assert list(order) == sorted(values, key=lambda name: values[name])


def test_the_study_is_told_in_words_that_follow_its_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    values = dict(zip(RECIPES, (-0.8, 0.7, -0.1, 0.4, 0.9, -0.6, 0.1, 0.2), strict=True))
    store = filled(tmp_path, packages(rng, values))
    runs = fleet.recipe_runs(store)
    found = fleet.response_shares(store, rng=np.random.default_rng(2))
    said = tables.sentence(runs, found)
    recipe = found[(found["response"] == "excess") & (found["term"] == "recipe")].iloc[0]
    start = "Among 8 recipes trained on the same text in 4 shapes, the recipe makes"
    assert f"{start} {100 * recipe['estimate']:.0f}" in said
    share = f"the recipe makes {100 * recipe['estimate']:.0f}"
    assert tables.short_sentence(runs, found).startswith(f"Among 8 recipes in 4 shapes {share}")
    for told in (tables.sentence, tables.short_sentence):
        assert "cannot be told" in told(runs, pd.DataFrame())
    done = pd.DataFrame({"n_planned": [3, 2], "n_complete": [1, 2]})
    assert tables.unfinished(done).startswith("2 planned runs")
    assert tables.unfinished(done.iloc[1:]) == ""
    drawn = charts.chart_recipes(runs, fleet.band_of_chance(runs)).to_dict()
    assert "colour for the lab" in drawn["description"]
    assert charts.chart_shares(found[found["method"] == "F inversion, joint"]).to_dict()["layer"]


def test_growth_is_ranked_against_the_loss_of_recipes_of_one_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = pd.DataFrame(
        [
            {"recipe": name, "geometry": shape, "loss": 2 - 0.1 * place + shift, "excess": place,
             "last_log_gain": -place, "penultimate_log_gain": place**2}
            for place, name in enumerate(RECIPES)
            for shape, shift in (("l3d64", 0.01), ("l3d64", -0.01), ("l12d64", 9.0 * (place % 2)))
        ]
    )  # fmt: skip
    monkeypatch.setattr(use, "recipe_runs", lambda _store: runs)
    found = use.loss_and_growth(horizons.Store).set_index("term")  # type: ignore[arg-type]
    assert found["estimate"].to_dict() == {
        "excess": -1.0, "last_log_gain": 1.0, "penultimate_log_gain": -1.0
    }  # fmt: skip
    assert (found["n_obs"] == 8).all()
    said = tables.use_sentence(found.reset_index())
    assert said.startswith("Across 8 recipes")
    assert tables.use_short(found.reset_index()).startswith(
        "Of 3 definitions of growth 3 are shown"
    )
    open_ends = found.assign(conf_low=[-1.0, 0.5, -1.0], conf_high=1.0).reset_index()
    assert tables.use_short(open_ends).startswith("Of 3 definitions of growth 1 is shown")
    none = tables.use_short(open_ends.assign(conf_low=-1.0))
    assert none.startswith("Of 3 definitions of growth none is shown")
    monkeypatch.setattr(use, "recipe_runs", lambda _store: runs[runs["recipe"] < "g"])
    with pytest.raises(DesignError, match="Ranks must be those of 5 recipes or more; 1 are"):
        use.loss_and_growth(horizons.Store)  # type: ignore[arg-type]
