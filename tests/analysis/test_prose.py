"""Numbers to words: what is printed when a value is missing, tiny or negative."""

import pandas as pd
import pytest

from analysis import prose


@pytest.mark.parametrize(
    ("value", "text"), [(-0.001, "0.00"), (float("inf"), "∞"), (-1234.5, "−1,234.50")]
)
def test_numbers_print_without_surprises(value, text):
    assert prose.number(value) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "p < 0.001"), (0.0009, "p < 0.001"), (0.0994, "p = 0.099"), (0.2, "p = 0.20")],
)
def test_a_p_value_is_never_printed_as_zero(p, text):
    assert prose.p_value(p).replace(prose.NO_BREAK, " ") == text


def test_a_pipe_in_a_cell_does_not_break_the_table():
    rows = pd.DataFrame({"a": ["|W|"], "b": [None]})
    assert prose.pipe_table(rows, {"a": "A", "b": "B"}).splitlines()[2] == r"| \|W\| | – |"


def test_columns_of_numbers_are_set_right():
    rows = pd.DataFrame({"word": ["x", "y"], "n": ["1,000", "−2"]})
    rule = prose.pipe_table(rows, {"word": "Word", "n": "N"}).splitlines()[1]
    assert rule == "|:-----|-----:|"


def test_a_list_reads_as_english():
    assert prose.listing(["one"]) == "one"
    assert prose.listing([]) == ""
