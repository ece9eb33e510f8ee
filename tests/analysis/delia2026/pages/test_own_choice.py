"""The reader's own definition: every answer is that of the points drawn and of the claims."""

import re

import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.hierarchy import exchanges
from analysis.delia2026.pages import own_choice, own_choice_charts
from analysis.drawing import live
from analysis.report.examination import PageFaults
from analysis.store import open_store
from tests.analysis.places import PUBLISHED

KEYS = ["block", "token", "models", "unit"]
#: Letters that fit beside each other on a phone at the size of the figure.
LONGEST = 48


@pytest.fixture(scope="module")
def store():
    return open_store(PUBLISHED)


@pytest.fixture(scope="module")
def points(store):
    return own_choice.points(store)


@pytest.fixture(scope="module")
def answers(store):
    return own_choice.answers(store)


@pytest.fixture(scope="module")
def live_chart(points, answers):
    return own_choice_charts.chart_own_choice(points, answers, is_live=True)


def test_every_choice_is_answered_or_says_why_not(points, answers):
    sizes = [len(levels) for levels in own_choice.CHOICES.values()]
    assert len(answers) == len(answers[KEYS].drop_duplicates()) == pd.Series(sizes).prod()
    drawn = set(map(tuple, points[KEYS].to_numpy()))
    said = own_choice.lines(answers).set_index([*KEYS, "place"])["text"]
    for row in answers.to_dict("records"):
        choice = tuple(row[name] for name in KEYS)
        assert (choice in drawn) == pd.notna(row["p_value"])
        assert (said[(*choice, 0)] == "No such number.") == pd.isna(row["p_value"])
    assert said.str.len().max() <= LONGEST
    assert answers["p_value"].isna().any()


def test_the_points_are_what_is_counted(points, answers):
    some = answers.dropna().set_index(KEYS)
    counted = points.assign(below=points["gain"] < 1).groupby(KEYS)["below"].agg(["sum", "size"])
    assert counted["sum"].to_dict() == some["n_below"].astype(int).to_dict()
    assert counted["size"].to_dict() == some["n_obs"].astype(int).to_dict()


def test_the_papers_choice_is_the_table_of_the_claim(answers):
    row = answers.set_index(KEYS).loc[tuple(own_choice.PAPERS[name] for name in KEYS)]
    table = [[row["ours_below"], row["n_ours"] - row["ours_below"]]]
    others = row["n_below"] - row["ours_below"]
    table.append([others, row["n_obs"] - row["n_ours"] - others])
    assert table == [[4, 1], [2, 9]]
    assert row["p_value"] == pytest.approx(stats.fisher_exact(table).pvalue)
    assert row["p_value"] == pytest.approx(156 / 4368)


def test_the_finding_says_whose_choice_alone_has_a_small_p(answers):
    said = own_choice.finding(answers).replace("\xa0", " ")
    could = answers[answers["smallest_p"] < 0.05]
    assert len(could) == 6  # two of the six are of the same models as two others
    assert "1 of 4" in said
    assert said.endswith("the paper's own.")
    # By hand from the hunt's file: 6 of 16 below 1 in the last block but one, 1 in the last.
    assert "1 or 6 of the same 16" in said
    said = own_choice.papers(answers)
    assert (said["below"].replace("\xa0", " "), said["ours"]) == ("6 of 16", "5")
    assert float(said["smallest"]) == pytest.approx(6 / 4368, abs=5e-5)
    others = answers.assign(p_value=answers["p_value"].where(answers["p_value"] >= 0.05, 0.5))
    others.loc[others["p_value"].idxmax(), "p_value"] = 0.01  # another choice than the paper's
    assert "paper" not in own_choice.finding(others)


def test_p_of_suites_and_labs_is_that_of_the_hierarchy_page(store, answers):
    tested = exchanges.exchanges(store).set_index("specification")["p_value"]
    found = answers.set_index(KEYS)["p_value"]
    for models, name in (("paper", "hunt"), ("base", "all")):
        for unit in ("suite", "lab"):
            p = found["last but one", "last", models, f"{unit}s"]
            assert p == pytest.approx(tested[f"{name}_{unit}_share_of_units"])


def test_where_no_model_shrinks_there_is_nothing_to_tell(answers):
    rows = answers[(answers["n_below"] == 0) & (answers["unit"] == "models")]
    assert len(rows)
    assert (rows["p_value"] == 1).all()


def test_the_reader_is_offered_every_choice_and_begins_with_the_papers(live_chart):
    spec = live_chart.to_dict()
    bound = {it["name"]: it for it in spec["params"] if "bind" in it}
    for name, levels in own_choice.CHOICES.items():
        assert bound[name]["bind"]["options"] == [*levels]
        assert bound[name]["value"] == own_choice.PAPERS[name] == levels[0]
    filters = [step["filter"] for it in spec["layer"] for step in it.get("transform", ())]
    assert all(set(KEYS) <= {*re.findall(r"datum\.(\w+)", it)} for it in filters)


def test_the_live_figure_is_one_raw_block_that_loads_nothing(live_chart):
    markup = live.markup(live_chart, "own")
    opening, body = markup.split("\n", 1)
    fence = opening.removesuffix("{=html}")
    assert body.rstrip().endswith(fence)
    assert body.count(fence) == 1
    html = body.rstrip().removesuffix(fence)
    assert PageFaults.of(html) == []
    assert html.count('id="own"') == 1
    assert html.count("<script") == html.count("</script>") == 2
