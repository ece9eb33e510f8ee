"""What the page says of the rule's own limit."""

import pandas as pd
import pytest

from analysis.delia2026.pages import verdict_rule


@pytest.mark.parametrize(("share", "exceeds"), [(0.052, True), (0.05, False), (0.01, False)])
def test_a_rate_above_the_limit_is_said_to_be_above_it(share, exceeds):
    rates = pd.DataFrame(
        {
            "claim_id": [4, 16, 16],
            "truth": ["nothing", "nothing", "depth"],
            "verdict": "reproduced",
            "probability": [0.0, share, 0.9],
            "n_papers": 1000,
        }
    )
    told = verdict_rule.most_reproduced(rates)
    assert "claim 16" in told
    assert ("above the limit" in told) == exceeds
    assert ("0.3 standard errors" in told) == exceeds  # .002 / sqrt(.052 * .948 / 1000) = .285
