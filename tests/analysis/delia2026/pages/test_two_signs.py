"""The first picture of the front: one network with both signs, and the words beside it."""

import hashlib

import duckdb
import pytest

from analysis.delia2026.pages import two_signs
from analysis.store import open_store
from tests.analysis.places import PUBLISHED, SHARED

PAPER = SHARED / "paper"
#: Of the words as they stand in the document, which is not shipped.
HASHES = ["1de361dca6ddaf4a", "d0e3b71766b7ee93"]


@pytest.fixture(scope="module")
def rows():
    return two_signs.two_signs(open_store(PUBLISHED))


def test_both_gains_are_those_of_the_file(rows):
    counted = duckdb.sql(
        f"SELECT metric, mean, n FROM read_csv('{PUBLISHED}/published_figure.csv') "
        "WHERE model_id = 'EleutherAI/pythia-6.9b' "
        "AND file = 'thermodynamic_benchmark_20260105_141034.json'"
    ).fetchall()
    by_metric = {metric: (gain, n) for metric, gain, n in counted}
    # Growth over the 31 blocks after the first; the average block has its 31st root.
    growth, n = by_metric["total_amplification"]
    by_metric["gain_body"] = growth ** (1 / 31), n
    assert set(rows["model_id"]) == {"EleutherAI/pythia-6.9b"}
    for row in rows.itertuples():
        assert (row.gain_mean, row.n_prompts) == pytest.approx(by_metric[row.metric])
    gains = rows.set_index("block")["gain_mean"]
    assert gains["last block"] < 1 < gains["average block"]
    assert rows["file"].nunique() == 1


def test_the_finding_says_the_side_of_each_gain(rows):
    assert "shortens its vectors in the last block (×0.80)" in two_signs.finding(rows)
    turned = rows.assign(gain_mean=1 / rows["gain_mean"])
    assert "lengthens its vectors in the last block (×1.24)" in two_signs.finding(turned)


def test_every_arrow_points_to_its_side(rows):
    spec = two_signs.chart_two_signs(rows).to_dict()
    heads = [it for it in spec["layer"] if it["mark"].get("type") == "point"]
    drawn = {it["mark"]["shape"]: spec["datasets"][it["data"]["name"]] for it in heads}
    left, right = two_signs.ARROWS
    assert [row["gain_mean"] < 1 for row in drawn[left]] == [True]
    assert [row["gain_mean"] > 1 for row in drawn[right]] == [True]


def test_the_words_are_quoted_letter_by_letter():
    assert [
        hashlib.sha256(each.quotation.encode()).hexdigest()[:16] for each in two_signs.WORDS
    ] == HASHES
    if not PAPER.is_dir():
        pytest.skip("the paper's documents are not beside the checkout: ../shared/paper")
    for each in two_signs.WORDS:
        text = (PAPER / f"{each.document}.md").read_text(encoding="utf-8")
        before = text[: text.index(each.quotation)]
        assert each.place == f"line {before.count(chr(10)) + 1}"
