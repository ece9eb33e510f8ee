"""The frames of the report's section on what is printed, and claims judged by it."""

from pathlib import Path

import pandas as pd
import pytest

from analysis.heritage.record import claims_captions as captions
from analysis.heritage.record import claims_mappings as mappings
from analysis.heritage.record import forensic_tables as exhibits
from analysis.store import open_store


@pytest.fixture(scope="module")
def rows(published_store):
    return exhibits.recomputed(published_store).set_index("place")


def test_each_printed_number_is_compared_with_what_follows(rows):
    yes = dict.fromkeys(["Fig. 1", "§5.2.3", "§5.5", "App. B", "§4.2"], "yes")
    assert rows["agrees"].to_dict() == {**yes, "§5.3": "no"}
    assert rows["follows"]["Fig. 1"].endswith("agree for n = 8 alone")
    assert rows["follows"]["App. B"] == "a share of 16 or 32 models"
    assert rows["follows"]["§4.2"].startswith("4 tables; this p with 5, 10 or 15 models")
    assert rows["follows"]["§5.3"].startswith("mean of |error| / size, size the depth")
    assert exhibits.agreeing(rows) == ("5", "6")


def test_the_words_of_the_section_are_computed(published_store):
    assert exhibits.bars(published_store) == ("2", "3")
    # 5 ways to choose who of the 5 expands, of all choices of 4 dampening models among 16.
    assert exhibits.shares_of_the_hunt(published_store) == {
        "eleuther": "5",
        "others": "11",
        "p": f"{5 / 1820:.2g}",
    }


def test_a_store_without_quoted_numbers_gives_no_rows(tiny_store):
    assert exhibits.recomputed(tiny_store).empty
    assert exhibits.shares_of_the_hunt(tiny_store) == {}


ROOT = Path(__file__).parents[4]


def test_a_mapping_to_the_right_notebook_would_hold(shipped_store, tmp_path):
    for path in (ROOT / "data/published").glob("*.csv"):
        text = path.read_text(encoding="utf-8")
        wrong, right = "Scaling_Law_Multi_Pythia.ipynb", "Pythia_Family_Residual_Gain_Sweep.ipynb"
        text = text.replace(f"Fig. 1,{wrong}", f"Fig. 1,{right}")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    checks = mappings.mappings(open_store(tmp_path))
    assert next(it for it in checks if it.part.startswith("Fig. 1")).holds


def test_values_that_stand_apart_are_found_before_the_largest_fall():
    values = pd.DataFrame({"model_id": "m", "value": [1.0, 1.01, 1.02, 1.03, 1.04, 2.0, 0.2]})
    assert captions._apart(values).tolist() == [False] * 5 + [True, True]
