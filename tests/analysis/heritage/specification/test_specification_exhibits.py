"""The specification curve in print: frames of the figure, tables, words and the command."""

import io
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.commands.cli import main
from analysis.heritage.specification import choices as specification_choices
from analysis.heritage.specification import curve as specification
from analysis.heritage.specification import curve_tables as specification_exhibits
from analysis.heritage.specification.curve import distinct, specification_curve

PUBLISHED = Path(__file__).parents[4] / "data/published"


@pytest.fixture(scope="module")
def result(published_store):
    figures = specification_choices.figures(published_store)
    levels = specification_choices.CHOICES
    some = levels | {"gain": levels["gain"][:4], "figure": levels["figure"][:1]}
    return specification_curve(
        figures, rng=np.random.default_rng(1), n_permutations=99, levels=some
    )


def test_the_curve_ascends_and_its_marks_share_out_each_bin(result):
    curve = specification_exhibits.curve(result)
    assert len(curve) == len(distinct(result.specifications))
    assert curve["standardised"].is_monotonic_increasing
    assert curve["rank"].tolist() == list(range(1, len(curve) + 1))
    assert curve["is_marked"].sum() == specification_exhibits.N_WHISKERS
    band = specification_exhibits.null_band(result)
    assert (band["rank"].min(), band["rank"].max()) == (1, len(curve))
    marks = specification_exhibits.marks(result)
    shares = marks.groupby(["choice", "bin"])["share"].sum()
    assert shares.to_numpy() == pytest.approx(1)
    assert marks["bin"].nunique() == specification_exhibits.N_BINS
    lifts = marks[marks["share"] > 0].groupby(["choice", "level"])
    assert lifts["lift"].sum().to_numpy() == pytest.approx(specification_exhibits.N_BINS)
    assert marks["rank"].between(1, len(specification_exhibits.curve(result))).all()


def test_the_words_and_tables_are_the_counts_of_the_rows(result):
    words_shown = specification_exhibits.words(result)
    rows = result.specifications
    assert words_shown["rows"] == f"{len(rows):,}"
    assert words_shown["distinct"] == f"{len(distinct(rows)):,}"
    some = distinct(rows)
    by_exchange = (some["p_permutation"] < 0.05) & (some["estimate"] > 0)
    assert words_shown["exchanged"].startswith(f"{100 * by_exchange.mean():.0f}")
    joint = result.joint.set_index(["groups", "term"]).loc[specification.ALL_WAYS]
    significant = joint.loc["share significant as claimed", "estimate"]
    level = specification_exhibits.level_rows(result, "figure").iloc[0]
    assert level["ordinary"].startswith(f"{100 * significant:.0f}")
    by_row = (some["estimate"] > 0) & (some["p_value"] < 0.05)
    assert significant == pytest.approx(by_row.mean())  # who has no p is not counted
    assert words_shown["without_p"] == str(some["p_value"].isna().sum())
    assert some["p_value"].isna().any()
    assert words_shown["claimed"].startswith(f"{100 * some['as_claimed'].mean():.0f}")
    assert all(isinstance(text, str) for text in words_shown.values())
    assert len(specification_exhibits.joint_rows(result)) == 4 * 3
    levels = specification_exhibits.level_rows(result, "gain")
    assert len(levels) == 4
    counted = levels["n"].str.replace(",", "").astype(int).sum()
    assert counted == len(distinct(result.specifications))


def test_the_command_prints_an_overview_and_every_row_as_csv(capsys, monkeypatch, result):
    monkeypatch.setattr(specification, "specification_curve", lambda *_, **__: result)
    source = ["--data", str(PUBLISHED)]
    assert main([*source, "specifications"]) == 0
    printed = capsys.readouterr().out
    assert f"{len(distinct(result.specifications)):,} of these distinct." in printed
    assert "share with the claimed sign" in printed
    assert main([*source, "specifications", "--csv"]) == 0
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(rows) == len(result.specifications)
    assert list(rows.columns) == list(result.specifications.columns)
    first = result.specifications.iloc[0]
    assert math.isclose(rows.loc[0, "estimate"], first["estimate"], rel_tol=1e-9)
