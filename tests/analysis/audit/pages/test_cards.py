"""The cards of claims: one for each, with every check, whatever the claims are."""

import re
from pathlib import Path

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import paper, wording
from analysis.audit.pages import cards, grounds
from analysis.heritage.pages.register import CLAIMS
from analysis.store import open_store

SECOND = Path(__file__).parents[2] / "second_paper"
ROOT = Path(__file__).parents[4]


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
    row = {
        "claim_id": 1,
        "statement": "a <b> [x](y)",
        "place": "*p*",
        "verdict": "contradicted",
        "family": 'a "law"',
        "note": "`n`",
        "rule": "$r$",
        "estimand": "<i>",
        "kind": "value",
    }
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


def test_every_claim_has_a_plain_line():
    meanings = pd.read_csv(ROOT / "data/published/claim_meaning.csv")
    assert list(meanings["claim_id"]) == sorted(CLAIMS)
    assert meanings["meaning"].str.endswith(".").all()
    assert meanings["meaning"].str.len().max() < 120


@pytest.fixture(scope="module")
def shipped(shipped_store, judged, made):
    return cards.cards(shipped_store, judged, made, {}, caveats_at="codebook.html#caveat-")


def test_every_card_says_on_what_its_claim_rests(shipped, judged):
    printed = re.findall(r"^\*Rests on\* \[[a-z ]+\]\(#rests-on-([a-z]+)\)", shipped, re.MULTILINE)
    counted = judged["property"].value_counts().to_dict()
    assert pd.Series(printed).value_counts().to_dict() == counted
    assert sum(counted.values()) == len(CLAIMS)


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


def test_known_defects_are_named_and_led_to(shipped):
    assert "[One block too early](codebook.html#caveat-B1)" in shipped
    assert not re.search(
        r"Caveats? B\d|\bB\d+\b(?!\))", re.sub(r"data-\w+=\"[^\"]*\"", "", shipped)
    )


def test_a_claim_of_which_nothing_is_declared_has_no_such_line(second):
    assert "Rests on" not in second


def test_the_bar_offers_each_verdict_with_its_count():
    judged = pd.DataFrame({"verdict": ["contradicted"] * 2, "family": ["b", "a"]})
    bar = cards.controls(judged)
    assert len(re.findall("data-verdict=", bar)) == len(claims.VERDICTS)
    assert "contradicted</span> 2</button>" in bar
    assert "<option>b</option><option>a</option>" in bar
