"""Power as found: how wide the intervals of the shares came out, against what was planned."""

from __future__ import annotations

import pandas as pd

from analysis.questions.study.registered import PLANNED_WIDTH
from analysis.tidy import glossary


def widths(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the widest interval of each response by each method, and whether it is as planned.

    Parameters
    ----------
    shares
        From `fleet.response_shares`.

    Returns
    -------
    One row per response and method: `term` (the response), `method`, `group` (the source
    whose interval is the widest), `estimate` (half its width, a share), `null_value` (half the
    width that was planned), `holds`, `n_obs` (runs that entered).
    """
    half = (shares["conf_high"] - shares["conf_low"]) / 2
    widest = half.groupby([shares["response"], shares["method"]], sort=False).idxmax()
    rows = shares.loc[widest].reset_index(drop=True)
    found = pd.DataFrame(
        {
            "term": rows["response"],
            "method": rows["method"],
            "group": rows["term"],
            "estimate": half.loc[widest].to_numpy(),
            "null_value": PLANNED_WIDTH,
            "holds": half.loc[widest].to_numpy() <= PLANNED_WIDTH,
            "n_obs": rows["n_obs"],
        }
    )
    glossary.checked(found.columns)
    return found
