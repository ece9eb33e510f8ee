"""The guide for users of lme4 shows what lmerTest, statsmodels and this package give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis import mixed
from analysis.mixed.algebra.size import FitSize

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "quarto/guides/_for_lme4.qmd").read_text(encoding="utf-8")


def shown(start: str) -> list[str]:
    """Return the cells of the row of the guide's table that begins so."""
    (line,) = [line for line in GUIDE.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_table_of_three_programs_is_what_they_give() -> None:
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


def values_of(lmer: pd.Series, other: object) -> int:
    """Return by what factor the p of statsmodels is smaller, in whole thousands."""
    return int(round(lmer["p_value"] / other.pvalues["Days"], -3))


def test_the_table_of_times_is_that_of_the_benchmark() -> None:
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


def test_the_size_of_a_fit_is_what_the_guide_says() -> None:
    size = FitSize(20_000, 10_000)
    assert f"about {size.memory / 1e9:.0f} GB" in GUIDE.replace("\n", " ")
    assert round(size.seconds / 3600) == 5
