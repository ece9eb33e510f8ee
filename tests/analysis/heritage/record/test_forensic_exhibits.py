"""The frames of the report's section on what is printed."""

import pytest

from analysis.heritage.record import forensic_tables as exhibits


@pytest.fixture(scope="module")
def rows(published_store):
    return exhibits.recomputed(published_store).set_index("place")


def test_each_printed_number_is_compared_with_what_follows(rows):
    assert rows["agrees"].to_dict() == {
        "Fig. 1": "yes",
        "§5.2.3": "yes",
        "§5.5": "yes",
        "App. B": "yes",
        "§4.2": "yes",
        "§5.3": "no",
    }
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
