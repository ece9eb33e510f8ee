"""What the front says of its verdict, counted again from the files that it is computed from."""

import csv
import re
import shlex

import pandas as pd
import pytest

from analysis.commands.cli import main
from analysis.delia2026.pages import frames, front_words
from analysis.delia2026.study import fleet
from analysis.store import open_store
from tests.analysis.places import PUBLISHED, ROOT


@pytest.fixture(scope="module")
def store():
    return open_store(PUBLISHED, ROOT / "data" / "fleet")


def rows(name):
    with (PUBLISHED / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_rates_of_undecided_are_those_of_the_table(store):
    of_100 = {
        row["truth"]: 100 * float(row["probability"])
        for row in rows("verdict_rate.csv")
        if row["claim_id"] == "20" and row["verdict"] == "undecided"
    }
    said = front_words.certainty(store)
    assert int(said["worlds"]) == len(of_100)
    others = [
        row
        for row in rows("verdict_rate.csv")
        if row["claim_id"] == "20" and row["wrong_labels"].lower() != "true"
    ]
    yes = [
        row for row in others if row["verdict"] == "reproduced" and float(row["probability"]) > 0
    ]
    assert not yes
    assert said["yes"].replace("\xa0", " ") == f"none of the {said['worlds']}"
    no = max(float(row["probability"]) for row in others if row["verdict"] == "contradicted")
    assert int(said["no"]) - 1 < 100 * no <= int(said["no"])
    assert int(said["if_true"]) <= of_100["hierarchy"] < int(said["if_true"]) + 1


def test_no_list_shows_both_halves_of_the_ranking(store):
    rates = pd.DataFrame(rows("rule_rate.csv"))
    rates = rates[(rates["rule"] == "profile likelihood") & (rates["n_papers"] == "4000")]
    claimed = rates[(rates["world"] == "lab > depth > scale") & (rates["share"] == "0.6")]
    seen = claimed[claimed["form"] == "normal"].pivot_table(
        "share_yes", "n_models", "statement", aggfunc=lambda it: float(it.iloc[0])
    )
    lists = seen.loc[["31", "63", "123"], ["lab over geometry", "geometry over scale"]]
    assert lists.notna().all(axis=None)
    said = front_words.settling(store)
    assert said["n"] == "3"
    # Lab, depth and size explain 12 : 5 : 1 parts, the lab 60 %.
    assert said["claimed"] == f"{round(60 / 12 * (12 + 5 + 1))}\xa0%"
    assert float(said["most"].rstrip(" %\u202f\xa0")) == pytest.approx(
        100 * lists.min(axis=1).max(), abs=0.05
    )


def test_central_claims_outside_the_abstract_are_named():
    judged = pd.DataFrame(
        {
            "claim_id": [4, 13, 21, 29],
            "verdict": ["reproduced", "contradicted", "undecided", "contradicted"],
            "importance": ["central", "supporting", "central", "central"],
            "repeats": [float("nan"), float("nan"), float("nan"), 4.0],
            "place": ["abstract", "abstract", "§1.2", "Fig. 1"],
        }
    )
    said = front_words.central(judged)
    assert (said["n"], said["elsewhere"]) == ("2", "21")
    assert front_words.central(judged.head(2))["elsewhere"] == "none"


def test_verdicts_are_tallied():
    judged = pd.DataFrame({"verdict": ["reproduced", "contradicted", "contradicted"]})
    said = {name: text.replace("\xa0", " ") for name, text in front_words.tally(judged).items()}
    assert said["n"] == "3"
    assert "1 is reproduced, and 0 depend on the reading. 2 are contradicted" in said["verdicts"]


def test_orders_of_recipes_and_suites_are_ranked_by_hand(store):
    runs, gains = fleet.recipe_runs(store), frames.penultimate_gains(store)
    said = front_words.orders(runs, gains)
    # Growth here: BLOOM, GPT-J, GPT-Neo, Pythia, OPT; gain there: GPT-Neo, Pythia, BLOOM, OPT,
    # GPT-J. Ranks 1 to 5 against 3 5 1 2 4: 1 - 6 * 22 / 120.
    assert said == {"rank": "−0.1", "suites": "5"}


def test_signs_are_counted_on_either_side():
    models = pd.DataFrame(
        {"lab": ["EleutherAI", "EleutherAI", "Meta"], "gain_mean": [0.9, 1.1, 0.99]}
    )
    said = {name: text.replace("\xa0", " ") for name, text in front_words.signs(models).items()}
    assert said == {"ours": "1 of 2", "others": "1 of 1", "all": "2 of 3"}


def test_the_command_that_the_front_shows_prints_what_the_front_shows(store, capsys):
    markdown = front_words.checking(store)
    command = re.search(r"```sh\n(.*?)\n```", markdown, re.DOTALL)[1]
    words = shlex.split(command)
    assert words[:2] == ["thermoscope", "sql"]
    assert main(["--data", str(PUBLISHED), *words[1:]]) == 0
    printed = re.findall(r"\d+\.\d+", capsys.readouterr().out)
    shown = markdown.split("```")[2].replace("\\", "")
    assert printed == re.findall(r"\d+\.\d+", shown)
    assert len(printed) == 2
