"""Signs that training further turned, counted by hand."""

from __future__ import annotations

import pandas as pd

from analysis.heritage.study import inheritance


def test_a_sign_has_turned_where_it_has_in_every_seed() -> None:
    # What the network was born with, and what its two seeds have after training further.
    cells = {
        ("a", "as_a"): (1.0, (-0.5, -1.0)),
        ("a", "as_b"): (1.0, (-0.5, 1.0)),
        ("b", "as_a"): (-2.0, (0.5, 1.0)),
        ("b", "as_b"): (-2.0, (-0.5, -1.0)),
        ("c", "as_a"): (-2.0, (-0.5, 1.0)),
    }
    children = pd.DataFrame(
        {"birth": birth, "upbringing": upbringing, "excess_born": born, "excess": excess}
        for (birth, upbringing), (born, seeds) in cells.items()
        for excess in seeds
    )
    found = inheritance.turned(children, ["excess"]).set_index("is_own")
    assert found.loc[True, ["n_turned", "n_cells"]].tolist() == [1, 2]
    assert found.loc[False, ["n_turned", "n_cells"]].tolist() == [1, 3]
