"""The pages around the paper: front, data, imprint; colours and shapes of verdicts."""

import re

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit.about import About
from analysis.audit.pages import front, imprint, relations
from analysis.drawing import names
from analysis.store import open_store
from tests.analysis.drawn import borrowed
from tests.analysis.places import ROOT, SECOND

STYLE = (ROOT / "quarto" / "site" / "site.css").read_text(encoding="utf-8")


def test_every_verdict_has_a_colour_and_a_shape_of_its_own_in_text_and_in_figures():
    slugs = [name.replace(" ", "-") for name in claims.VERDICTS]
    rules = dict(
        re.findall(r"\.verdict-([\w-]+)[^{}]*\{ --tone: ([^;]+); --shape: [^;]+; \}", STYLE)
    )
    for slug in slugs:
        assert re.search(rf"\.verdict-{slug}\b[^{{]*\{{ --tone", STYLE), slug
    assert len(set(rules.values())) == len(rules) == 5


def test_the_front_counts_every_claim_once_and_links_to_cards():
    judged = pd.DataFrame(
        {"claim_id": range(1, 8), "verdict": [claims.VERDICTS[2]] * 6 + [claims.VERDICTS[-1]]}
    )
    text = front.columns(judged, {2: "two [x](y)", 7: "seven"})
    assert re.findall(r"\[(\d+)\]\{\.front-count\}", text) == ["0", "0", "6", "1"]
    assert (
        "- [two \\[x\\]\\(y\\)](claims.html#claim-2)\n- [5 more](claims.html#verdict-contradicted)"
        in text
    )
    rest = front.columns(judged.assign(verdict=claims.VERDICTS[-1]), {})
    assert "- [7 more](claims.html)" in rest
    assert front.counted(judged) == "7 claims, of which 6 are contradicted and 1 is without data"


def test_names_need_leaders_only_where_there_is_no_room_and_lie_apart():
    points = pd.DataFrame({"name": ["model-one", "model-two", "model-three"], "at": [4.0, 5, 6]})
    points = points.assign(height=5.0)
    panels = [names.Panel((0, 10), (0, 10), width=width) for width in (80, 800)]
    close, wide = (names.placed(points, panel, "at", "height") for panel in panels)
    assert close["is_far"].any()
    assert not wide["is_far"].any()
    curve = pd.DataFrame({"at": np.linspace(4.1, 6, 50), "height": 5.0})
    free = names.placed(points.head(1), panels[1], "at", "height", curve=curve)
    assert free["is_left"].item()
    moved = names.apart([3.0, 1.0, 1.2, 1.1], 0.5)
    assert moved[0] == pytest.approx(3)
    assert moved[1] < moved[3] < moved[2]
    assert np.diff(sorted(moved)).min() == pytest.approx(0.5)
    assert np.mean(moved[1:]) == pytest.approx(1.1)


def test_example_rows_are_the_first_by_their_columns_whatever_the_order_of_a_view(
    shipped_store, monkeypatch
):
    one = pd.DataFrame({"relation": ["gain_by_model"]})
    monkeypatch.setattr(relations.codebook, "relations", lambda store: one)
    (rows,) = relations.examples(shipped_store).values()
    first = ["source", "model_id"]
    whole = shipped_store.query("SELECT source, model_id FROM gain_by_model").sort_values(first)
    assert rows.columns[:2].tolist() == first
    assert rows[first].equals(whole.head(relations.N_EXAMPLES).reset_index(drop=True))


def test_the_data_page_lists_every_relation_with_its_columns_and_rows():
    store = open_store(SECOND)
    rows = relations.examples(store)
    text = relations.listing(store, rows)
    for name, result in rows.items():
        assert f"## `{name}` {{#data-{name.replace('_', '-')} .unnumbered}}" in text
        assert len(result) <= relations.N_EXAMPLES
    assert "| `mean` |" in text
    assert "2\\.5" in text
    short = relations.listing(store, rows, filled=True)
    assert "#data-claim " in short
    assert "#data-residual-norm " not in short
    printed = relations.answer(open_store(SECOND), "SELECT 1.5 AS a, ['x', 'y'] AS b, NULL AS c")
    assert printed.startswith("```sql\nSELECT 1.5 AS a")
    assert printed.splitlines()[-1] == "| 1\\.5 | x, y | – |"


def test_keys_join_tables():
    shared = relations.keys()
    roles = shared.set_index(["table", "key"])["role"]
    assert roles["model", "model_id"] == relations.PART
    assert roles["published_figure", "model_id"] == relations.PART
    assert roles["quoted_number", "claim_id"] == relations.PART
    chart = relations.chart_keys(shared).to_dict()
    assert not borrowed(chart)
    drawn = chart["datasets"].values()
    assert sorted(map(len, drawn)) == [2, len(shared)]  # one mark of each kind is named


def test_a_page_says_how_to_cite_it():
    entry = imprint.bibtex(2026)
    assert entry.startswith("@software{thermoscope,\n  title = {")
    assert "year = {2026}," in entry
    assert "Cite as" in imprint.imprint()
    assert "CC BY" not in imprint.facts(About())
    assert "commit" not in imprint.facts(About())
    assert imprint.imprint().count("CC BY") == 1
