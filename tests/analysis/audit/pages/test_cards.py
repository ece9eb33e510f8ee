"""The cards of claims: one for each, with every check, whatever the claims are."""

import base64
import io
import re

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import paper, wording
from analysis.audit.pages import cards, grounds
from analysis.audit.pages import tables as exhibits
from analysis.audit.pages.behind import behind
from analysis.audit.pages.tables import Words
from analysis.heritage.pages import frames
from analysis.heritage.pages.register import CLAIMS
from analysis.store import open_store
from tests.analysis.places import SECOND


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
    assert cards.planted_line(rates) == (
        "*How sure is the rule?* Share of 1,000 simulated papers with each verdict, "
        "where depth rules: contradicted 0.750, undecided 0.250; "
        "where depth rules and labels are wrong: contradicted 1.000; "
        "where nothing rules: undecided 1.000. ([How](#sec-verdict-rule))"
    )


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
        {"term": "c", "holds": False, "decides": True},
        {"term": "c", "holds": None, "decides": True},
        {"term": "e", "holds": True, "decides": True},
        {"term": "d", "holds": None, "decides": True, "has_data": False},
    ]
    rows = [{"has_data": True, **row} for row in rows]
    assert cards.reasons(rows) == {
        "a": "a: of 3 readings 1 holds, 1 fails, 1 is without data",
        "b": "b: its one reading is undecided",
        "c": "c: of 2 readings 1 fails, 1 is undecided",
        "e": "e: its one reading holds",
        "d": "d: its one reading is without data",
    }
    assert cards.found(rows, []) == [f"{'; '.join(cards.reasons(rows).values())}."]


@pytest.fixture(scope="module")
def shipped(shipped_store, judged, made):
    return cards.cards(shipped_store, judged, made, {}, caveats_at="codebook.html#caveat-")


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
            f"{{#rests-on-{name} .rests-on}} (claims [{wording.in_runs(rows['claim_id'])}"
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
