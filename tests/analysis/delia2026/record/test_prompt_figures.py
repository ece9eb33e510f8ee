"""The paper's Figures 6 and 7 against the shipped tables, read and counted without our code."""

import csv
import re
import statistics
from collections import defaultdict

import pytest

from analysis.delia2026.record import prompt_charts
from analysis.delia2026.record import prompt_figures as figures
from tests.analysis.drawn import borrowed, lines_with_points
from tests.analysis.places import PUBLISHED

SWEEP = "pythia_family_NO_FINAL_LN_20260105_174820.json"
METRIC = "gain_penultimate_block"


def rows(name):
    with (PUBLISHED / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def by_hand():
    """Return the gains of each model, prompt by prompt, and each model's own row."""
    gains = defaultdict(list)
    for row in rows("published_excerpt.csv"):
        if (row["file"], row["metric"], row["statistic"]) == (SWEEP, METRIC, "value"):
            gains[row["model_id"]].append(float(row["value"]))
    models = {row["model_id"]: row for row in rows("model.csv")}
    return dict(gains), models


def test_figure_6_has_mean_deviation_and_parameters_of_each_model(shipped_store, by_hand):
    gains, models = by_hand
    drawn = figures.gains_by_size(shipped_store).set_index("model_id")
    assert set(drawn.index) == set(gains)
    assert drawn["parameters"].is_monotonic_increasing
    for model_id, values in gains.items():
        row, mean, deviation = (
            drawn.loc[model_id],
            statistics.mean(values),
            statistics.stdev(values),
        )
        assert row["n_prompts"] == len(values) == 25
        assert row["gain_mean"] == pytest.approx(mean, rel=1e-9)
        assert row["gain_low"] == pytest.approx(mean - deviation, rel=1e-9)
        assert row["gain_high"] == pytest.approx(mean + deviation, rel=1e-9)
        assert row["parameters"] == pytest.approx(int(models[model_id]["n_parameters"]) / 1e9)


def test_figure_6_says_which_correlation_its_data_give(shipped_store, by_hand):
    gains, models = by_hand
    drawn, printed = (
        figures.gains_by_size(shipped_store),
        figures.printed_correlation(shipped_store),
    )
    means = {name: statistics.mean(values) for name, values in gains.items()}
    depth = [int(models[name]["n_layers"]) for name in means]
    density = [int(models[name]["n_heads"]) / int(models[name]["d_head"]) for name in means]
    r = statistics.correlation(depth, list(means.values()))
    assert figures.correlation(drawn, "n_layers") == pytest.approx(r)
    assert figures.correlation(drawn, "rho") == pytest.approx(
        statistics.correlation(density, list(means.values()))
    )
    crossing = sum(
        abs(statistics.mean(values) - 1) < statistics.stdev(values) for values in gains.values()
    )
    said = prompt_charts.scaling(drawn, printed)
    assert printed == "−0.81"
    assert f"−{-r:.2f}" in said
    assert f"{crossing} of 8" in said
    # A printed value that the data give is not contradicted.
    assert "same" in prompt_charts.scaling(drawn, f"−{-r:.2f}")


def test_figure_7_draws_every_prompt_and_marks_what_stands_apart(shipped_store, by_hand):
    gains, _ = by_hand
    drawn = figures.gains_by_prompt(shipped_store)
    for model_id, values in gains.items():
        name = model_id.partition("/")[2]
        found = drawn.loc[drawn["model"] == name, "gain"]
        assert sorted(found) == pytest.approx(sorted(values), rel=1e-12)
    every = sorted(value for values in gains.values() for value in values)
    beyond = sorted(drawn.loc[drawn["is_apart"], "gain"])
    assert beyond == pytest.approx([every[0], every[-1]])
    both = sum(min(values) < 1 <= max(values) for values in gains.values())
    said = prompt_charts.robustness(drawn)
    assert f"{both} of 8" in said
    assert re.search(r"2 gains of pythia-70m stand", said)


def test_both_draw_all_of_their_rows_and_borrow_no_look(shipped_store):
    models, prompts = figures.gains_by_size(shipped_store), figures.gains_by_prompt(shipped_store)
    printed = figures.printed_correlation(shipped_store)
    for chart, least in (
        (prompt_charts.chart_gain_by_size(models, printed), 8),
        (prompt_charts.chart_gain_by_prompt(prompts, models), 200),
    ):
        spec = chart.to_dict()
        assert max(map(len, spec["datasets"].values())) >= least
        assert not borrowed(spec)
        assert not lines_with_points(spec)
        # The axis reaches over what is drawn on it.
        scales = [
            it["encoding"][side]["scale"]["domain"]
            for it in spec["layer"]
            for side in ("x", "y")
            if it.get("encoding", {}).get(side, {}).get("field") in ("gain", "gain_mean")
            and "scale" in it["encoding"][side]
        ]
        low, high = scales[0]
        drawn = prompts["gain"] if least == 200 else [*models["gain_low"], *models["gain_high"]]
        assert low < min(drawn)
        assert max(drawn) < high
