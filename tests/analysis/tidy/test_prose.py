"""Numbers to words: what is printed when a value is missing, tiny or negative."""

import pandas as pd
import pytest

from analysis.tidy import prose


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


def test_numbers_of_a_column_stand_below_one_another_at_their_decimals():
    rows = pd.DataFrame({"n": ["0.049", "−0.13", "∞"], "r": ["r 0.5", "accuracy 12", "–"]})
    lines = prose.pipe_table(rows, {"n": "N", "r": "R"}, numbers=["r"]).splitlines()[1:]
    assert [line.count(":|") for line in lines] == [2, 0, 0, 0]
    assert lines[1:] == [
        "| 0\\.049 | r 0\\.5 |",
        "| −0\\.13\u2007 | accuracy 12\u2008\u2007 |",
        "| ∞ | – |",
    ]


def test_a_list_reads_as_english():
    assert prose.listing(["one"]) == "one"
    assert prose.listing([]) == ""


@pytest.mark.parametrize(
    "cell", ["3\u00a0×\u00a010⁻⁷", "∞", "<\u00a00.01", "[11\u00a0%, 50\u00a0%]", "–"]
)
def test_powers_infinities_and_bounds_are_numbers(cell):
    rows = pd.DataFrame({"n": ["1.5", cell]})
    assert prose.pipe_table(rows, {"n": "N"}).splitlines()[1].endswith("-:|")


def test_a_number_is_never_written_with_an_e():
    tiny = [prose.number(2.1e-8), prose.power_of_ten(1.84e-15, 1), prose.power_of_ten(-4e-5)]
    assert [text.replace(prose.NO_BREAK, " ") for text in tiny] == [
        "2 × 10⁻⁸",
        "1.8 × 10⁻¹⁵",
        "−4 × 10⁻⁵",
    ]


def test_a_cell_keeps_numbers_with_their_units():
    rows = pd.DataFrame({"a": ["4.8 % in 21 of 22 models"]})
    cell = prose.pipe_table(rows, {"a": "A"}).splitlines()[2]
    assert cell == "| 4\\.8\u00a0% in 21\u00a0of\u00a022 models |"


def test_a_weight_that_is_not_zero_does_not_print_as_zero():
    assert prose.floored(2e-8) == "<\u00a00.01"
    assert prose.floored(0.01) == "0.01"


def test_a_verdict_is_short_in_print_and_whole_in_its_class():
    mark = prose.verdict_mark("depends on the reading")
    assert mark == "[depends]{.verdict .verdict-depends-on-the-reading}"
