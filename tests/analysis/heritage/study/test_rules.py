"""Each registered rule on rows that lie just on either side of it, made without a store."""

import pandas as pd
import pytest

from analysis.heritage.study.verdict import HELD, MISSED, UNTOLD, verdict_on_heritage


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [MISSED, HELD, MISSED, MISSED, UNTOLD]),
        ({"S4": [MISSED, MISSED]}, [HELD, MISSED, MISSED, MISSED, UNTOLD]),
        # Horizons that disagree confirm neither a statement nor its opposite.
        ({"S4": [HELD, MISSED]}, [MISSED, MISSED, MISSED, MISSED, UNTOLD]),
        ({"S2": [UNTOLD, HELD]}, [MISSED, UNTOLD, MISSED, MISSED, UNTOLD]),
        ({"S1": [UNTOLD, MISSED]}, [MISSED, MISSED, MISSED, MISSED, UNTOLD]),
        ({"S3": [HELD, HELD], "S7": [HELD, HELD]}, [MISSED, HELD, HELD, MISSED, HELD]),
        ({"S6": [MISSED, HELD]}, [MISSED, HELD, MISSED, MISSED, UNTOLD]),
        ({"S6": [MISSED, UNTOLD]}, [MISSED, HELD, MISSED, UNTOLD, UNTOLD]),
        ({"S6": [MISSED, MISSED]}, [MISSED, HELD, MISSED, HELD, UNTOLD]),
    ],
)
def test_the_statements_together_say_what_was_registered(changed, expected):
    both = {"S1": HELD, "S2": HELD, "S3": MISSED, "S4": HELD, "S6": HELD, "S7": UNTOLD}
    verdicts = {name: [verdict] * 2 for name, verdict in both.items()} | changed
    table = pd.DataFrame(
        [(name, verdict) for name, of_both in verdicts.items() for verdict in of_both],
        columns=["claim_id", "verdict"],
    )
    # The lab decides; the recipe does; geometry as much; recipes move no sign; the mechanism.
    assert [verdict for _, verdict in verdict_on_heritage(table)] == expected
