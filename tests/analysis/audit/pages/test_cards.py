"""The cards of claims and the pages around the paper: front, data, imprint."""

import base64
import io
import itertools
import re

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import paper, weight, wording
from analysis.audit.about import About
from analysis.audit.pages import cards, front, grounds, imprint, relations, strips
from analysis.audit.pages import tables as exhibits
from analysis.audit.pages.behind import behind
from analysis.audit.pages.tables import Words
from analysis.delia2026.pages import frames
from analysis.delia2026.pages.register import CLAIMS
from analysis.store import open_store
from analysis.tidy import markdown
from tests.analysis.drawn import borrowed
from tests.analysis.places import ROOT, SECOND


@pytest.fixture(scope="module")
def second():
    store, registry = open_store(SECOND), paper.load(SECOND)
    made = claims.examine(store, registry)
    judged = claims.evaluate(store, registry, made=made)
    n_checks = sum(len(found) for found in made.values())
    text = cards.cards(store, judged, made, {2: "[A section](a.html#sec-a)"})
    rows = re.findall(r"^\| \[(?:holds|fails|undecided|no data|shown only)\]", text, re.MULTILINE)
    assert len(rows) == n_checks
    assert text.count(".claim-card") == len(judged)
    return text


def test_a_card_has_an_address_its_verdict_and_its_sections(second):
    assert '::: {#claim-2 .claim-card data-number="2" data-verdict="' in second
    assert "*Used in* [A section](a.html#sec-a)." in second
    assert "[reproduced]{.verdict .verdict-reproduced}" in second
    assert re.search(r"\[3 nats|share of models below 3 nats", second, re.IGNORECASE)
    assert "Rests on" not in second


def test_a_card_says_how_often_the_rule_gives_each_verdict():
    rates = pd.DataFrame(
        [
            ("depth", False, "undecided", 0.25),
            ("depth", False, "contradicted", 0.75),
            ("depth", True, "contradicted", 1.0),
            ("nothing", False, "undecided", 1.0),
            ("nothing", True, "undecided", 1.0),
            ("nothing", True, "reproduced", 0.0),
        ],
        columns=["truth", "wrong_labels", "verdict", "probability"],
    ).assign(n_papers=1000)
    said, _, table = cards.planted_line(rates).partition("\n\n")
    assert "Of 1,000 simulated data sets" in said
    cells = [[it.strip() for it in line.strip("|").split("|")] for line in table.splitlines()]
    assert cells[0] == ["What decides the gain", "Contradicted", "Undecided"]
    assert cells[2:] == [
        ["depth", "750", "250"],
        ["depth, labels wrong", "1,000", "0"],
        ["nothing", "0", "1,000"],
    ]


def test_what_data_say_cannot_become_markup():
    row = {"claim_id": 1, "statement": "a <b> [x](y)", "place": "*p*", "verdict": "contradicted"}
    row |= {"family": 'a "law"', "note": "`n`", "rule": "$r$", "estimand": "<i>", "kind": "value"}
    check = claims.Check(
        "part <p>", "`read`", None, note="![x](y)", evidence=("a_b",), has_data=False
    )
    text = cards.card(row, [check], cards.Facts(meaning="plain"))
    assert 'data-law="a law"' in text
    for printed in ("\\*p\\*", "\\$r\\$", "\\<i\\>", "part \\<p\\>", "\\!\\[x\\]\\(y\\)"):
        assert printed in text
    assert "[no data]{.verdict .verdict-no-data}" in text


def test_the_reason_counts_readings_part_by_part():
    rows = [
        {"term": "a", "holds": True, "decides": True},
        {"term": "a", "holds": False, "decides": True},
        {"term": "a", "holds": None, "decides": True, "has_data": False},
        {"term": "b", "holds": None, "decides": True},
        {"term": "b", "holds": True, "decides": False},
        {"term": "b, printed", "holds": False, "decides": False, "beside": "not as printed"},
        {"term": "b", "holds": True, "decides": False, "beside": "as printed"},
        {"term": "c", "holds": False, "decides": True},
        {"term": "c", "holds": None, "decides": True},
        {"term": "e", "holds": True, "decides": True},
        {"term": "d", "holds": None, "decides": True, "has_data": False},
    ]
    rows = [{"has_data": True, **row} for row in rows]
    assert cards.reasons(rows) == {
        "a": "a: of 3 readings 1 holds, 1 fails, 1 is without data",
        "b": "b: its one reading is undecided; beside the verdict, its one reading holds",
        "b, printed": "b, printed (beside the verdict): its one reading fails",
        "c": "c: of 2 readings 1 fails, 1 is undecided",
        "e": "e: its one reading holds",
        "d": "d: its one reading is without data",
    }
    assert cards.grounds_shown(rows, []) == [f"{'; '.join(cards.reasons(rows).values())}."]


@pytest.fixture(scope="module")
def shipped(shipped_store, judged, made):
    return cards.cards(shipped_store, judged, made, {}, caveats_at="codebook.html#caveat-")


def test_strips_of_a_claim_stand_in_the_order_in_which_it_names_its_values(shipped_store, made):
    stored = strips.lines(shipped_store.query("FROM claim_line"))
    n_several = 0
    for number, one in CLAIMS.items():
        rows = claims.check_rows(made[number], one.kind).to_dict("records")
        for part in cards.reasons(rows):
            of_part = [line for line in stored.get(number, ()) if line.part == part]
            shown = "".join(cards.grounds_shown(rows, of_part))
            feet = re.findall(r'class="strip-foot"><span>(.*?)<', shown)
            declared = [line.measure for line in one.lines if line.part == part]
            names = [strips.AXES.get(it, it) for it in declared]
            if feet:  # two of one part are drawn both or not at all
                pairs = zip(feet, names, strict=True)
                assert all(foot.startswith(name) for foot, name in pairs), (number, part)
            n_several += len(feet) > 1
    assert n_several >= 3


def test_every_card_says_on_what_its_claim_rests_and_leads_to_known_defects(shipped, judged):
    printed = re.findall(r"^\*Rests on\* \[[a-z ]+\]\(#rests-on-([a-z]+)\)", shipped, re.MULTILINE)
    counted = judged["property"].value_counts().to_dict()
    assert pd.Series(printed).value_counts().to_dict() == counted
    assert sum(counted.values()) == len(CLAIMS)
    assert "[One block too early](codebook.html#caveat-B1)" in shipped
    assert not re.search(
        r"Caveats? B\d|\bB\d+\b(?!\))", re.sub(r"data-\w+=\"[^\"]*\"", "", shipped)
    )


def test_what_cards_share_is_said_once_for_all_of_them(shipped, shipped_store):
    rests = claims.properties(shipped_store)
    printed = grounds.listing(rests)
    assert grounds.TELLING not in shipped
    assert "gain_" not in printed + re.sub(r"From [^.]+\.|`[^`]*`", "", shipped)
    for name, rows in rests.groupby("property"):
        assert (
            f"{{#rests-on-{name} .rests-on}} (claims [{wording.join_runs(rows['claim_id'])}"
            in printed
        )
    listed = [
        {int(it) for it in re.findall(r"\d+", _spelt(numbers))}
        for numbers in re.findall(r"\[([\d, to]+)\]\{\.claims\}", printed)
    ]
    having = set(rests.loc[rests["property"] == "parametrisation", "claim_id"])
    assert set().union(*(it for it in listed if it <= having)) == having
    partners = {it for names in rests["partner"] for it in names.split()}
    assert all(it.endswith(tuple(grounds.PARTNERS)) for it in partners)


def _spelt(numbers):
    """Return numbers with their runs written out."""
    return re.sub(
        r"(\d+) to (\d+)", lambda it: " ".join(map(str, range(int(it[1]), int(it[2]) + 1))), numbers
    )


def test_what_is_shown_beside_cards_is_counted():
    judged = pd.DataFrame({"verdict": ["contradicted"] * 2, "family": ["b", "a"]})
    bar = cards.controls(judged)
    assert len(re.findall("data-verdict=", bar)) == len(claims.VERDICTS)
    assert "contradicted</span> 2</button>" in bar
    assert "<option>b</option><option>a</option>" in bar
    judged = pd.DataFrame(
        {"claim_id": [1, 5, 16], "rule": ["p < 0.001.", "The 95 % interval holds 1.", "interval"]}
    )
    assert exhibits.judged_by_interval(judged) == "[5 and 16]{.claims}"


def test_the_rows_under_a_table_come_back_as_they_were():
    rows = pd.DataFrame({"suite": ["a", "b"], "log_gain": [0.1, -0.25]})
    text = behind(rows, name="gains", formula="log_gain ~ 1", r="lm(log_gain ~ 1, d)")
    coded = re.search(r"base64,([^\"]+)", text)
    assert coded
    back = pd.read_csv(io.BytesIO(base64.b64decode(coded[1])))
    pd.testing.assert_frame_equal(back, rows)
    assert 'download="gains.csv"' in text
    assert "n = 2 rows" in text


@pytest.mark.parametrize(("share", "n", "said"), [(2 / 3, 6, "4 of 6"), (0.0, 1, "0 of 1")])
def test_a_share_of_few_is_said_as_a_count(share, n, said):
    assert Words({"estimate": share, "n_obs": n}).hits == said


def test_the_two_sets_of_base_models_differ_by_the_post_norm_model(shipped_store):
    said = frames.base_sets(shipped_store)
    assert (said["all"], said["kept"]) == ("23 base models", "22 base models")
    assert (said["left_out"], said["left_out_gain"]) == ("opt-350m", "0.9995")


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
    ).assign(stated_by="author")
    text = front.columns(judged, {2: "two [x](y)", 7: "seven"})
    assert re.findall(r"\[(\d+)\]\{\.front-count\}", text) == ["0", "0", "6", "1"]
    assert (
        "- [two \\[x\\]\\(y\\)](claims.html#claim-2)\n- [5 more](claims.html#verdict-contradicted)"
        in text
    )
    rest = front.columns(judged.assign(verdict=claims.VERDICTS[-1]), {})
    assert "- [7 more](claims.html)" in rest
    # What the author does not state is counted nowhere.
    other = judged.tail(1).assign(claim_id=8, stated_by="audit")
    judged = pd.concat([judged, other], ignore_index=True)
    assert front.columns(judged, {2: "two [x](y)", 7: "seven"}) == text
    assert (
        front.counted(judged) == "7 claims, of which 6 are contradicted and 1 could not be checked"
    )


def test_example_rows_are_the_first_by_their_columns_whatever_the_order_of_a_view(
    shipped_store, monkeypatch
):
    one = pd.DataFrame({"relation": ["raw.gain_by_model"]})
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
        assert f"## `{name}` {{#{relations.anchor(name)} .unnumbered}}" in text
        assert len(result) <= relations.N_EXAMPLES
    assert "| `mean` |" in text
    assert "2\\.5" in text
    short = relations.listing(store, rows, filled=True)
    assert "#data-claim " in short
    assert "#data-raw-residual-norm " not in short
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


def test_of_one_law_there_is_nothing_to_choose_and_no_heading_stands_over_nothing():
    store, registry = open_store(SECOND), paper.load(SECOND)
    judged = claims.evaluate(store, registry, made=claims.examine(store, registry))
    several, alone = judged.assign(family=list(map(str, judged.index))), judged.assign(family="a")
    assert 'name="law"' in cards.controls(several)
    assert "law" not in cards.controls(alone)
    text = relations.listing(store, relations.examples(store), filled=True)
    heads = re.findall(r"^(##?) ", text, re.MULTILINE)
    assert heads[-1] == "##"
    assert ("#", "#") not in set(itertools.pairwise(heads))


def test_claims_stand_in_the_order_of_what_rests_on_them():
    judged = pd.DataFrame(
        {"claim_id": [1, 2, 3, 4], "importance": ["side", "central", "supporting", "central"]}
    )
    assert weight.sort_importance(judged)["claim_id"].tolist() == [2, 4, 3, 1]
    assert judged["claim_id"].tolist() == [1, 2, 3, 4]
    bar = cards.controls(judged.assign(verdict="undecided", family="law"))
    assert bar.index('value="importance"') < bar.index('value="number"')
    alone = judged.assign(verdict="undecided", family="law", importance="central")
    assert 'value="importance"' not in cards.controls(alone)


def test_claims_are_counted_by_what_rests_on_them():
    judged = pd.DataFrame(
        {
            "importance": ["side", "central", "central", "side"],
            "verdict": ["undecided", "undecided", "reproduced", "undecided"],
            "stated_by": ["author", "author", "author", "file"],
        }
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in exhibits.importance_table(judged).splitlines()
        if line.startswith("| ")
    ]
    assert [row[1:] for row in rows[1:]] == [["2", "1", "1"], ["1", "0", "1"]]
    assert rows[1][0].startswith("central")


@pytest.mark.parametrize(
    ("stated_by", "said"),
    [
        (["file", "audit", "audit", "author"], "1 stands in his result files alone and 2 are our"),
        (["audit"], "1 is our own"),
        (["author"], ""),
    ],
)
def test_statements_of_no_document_are_counted(stated_by, said):
    assert weight.apart_in_words(pd.DataFrame({"stated_by": stated_by})).startswith(said)


def test_a_card_is_headed_by_the_plain_meaning_and_quotes_below(shipped):
    for number, one in CLAIMS.items():
        card = shipped[shipped.index(f"{{#claim-{number} .claim-card") :]
        head = card[card.index("\n# ") : card.index(f"{{#claim-{number}-statement")]
        assert markdown.literal(one.meaning) in head
        words = card[card.index(f"{{#claim-{number}-statement") :].split("\n\n")[1]
        assert words.endswith("{.claim-words}")


def test_an_undecided_claim_says_how_nearly_certain_that_was():
    rates = pd.DataFrame(
        {
            "truth": ["a", "a", "b"],
            "verdict": ["undecided", "reproduced", "undecided"],
            "probability": [0.721, 0.279, 0.999],
        }
    )
    assert "72 to 99 undecided" in cards.near_certain(rates)
    assert cards.near_certain(rates[rates["verdict"] == "reproduced"]) == ""
