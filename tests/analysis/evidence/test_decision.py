"""What a value prints as: the digits that are stated, in any form that papers print."""

import pytest

from analysis.evidence import prints_as
from analysis.tidy.errors import AnalysisError


@pytest.mark.parametrize(
    ("value", "stated"),
    [
        (0.0496, ".05"),
        (-0.8116, "−0.81"),
        (62695.87, "62,696"),
        (49.6, "50 %"),
        (0.5, "+0.5"),
        (-0.001, "0.00"),
        (-0.3, "0"),
        (0.00123, "1.2e-3"),
        (1234.0, "1.2e3"),
    ],
)
def test_a_number_may_be_printed_in_any_usual_form(value, stated):
    assert prints_as(value, stated)
    assert not prints_as(1.1 * value + 1, stated)


@pytest.mark.parametrize("stated", ["", "< 0.001", "two", "0.1 to 0.2"])
def test_what_is_no_number_is_refused_rather_than_unlike_every_value(stated):
    with pytest.raises(AnalysisError, match="must be one number"):
        prints_as(0.1, stated)
