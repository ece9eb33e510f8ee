"""What stands under a table."""

import base64
import io
import re

import pandas as pd

from analysis.audit.pages.behind import behind


def test_the_rows_under_a_table_come_back_as_they_were():
    rows = pd.DataFrame({"suite": ["a", "b"], "log_gain": [0.1, -0.25]})
    text = behind(rows, name="gains", formula="log_gain ~ 1", r="lm(log_gain ~ 1, d)")
    coded = re.search(r"base64,([^\"]+)", text)
    assert coded
    back = pd.read_csv(io.BytesIO(base64.b64decode(coded[1])))
    pd.testing.assert_frame_equal(back, rows)
    assert 'download="gains.csv"' in text
    assert "n = 2 rows" in text
