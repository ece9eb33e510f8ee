"""Which length of training is enough."""

import pandas as pd
import pytest

from analysis.heritage.study import ladder


def test_the_ladder_asks_for_learning_and_for_forgetting():
    rows = []
    for length, moved, reached in (("steps_400", 1.0, False), ("steps_1200", 0.05, True)):
        for seed, value in ((0, 0.0), (1, 0.1)):
            plain = {"sigma": "as said", "excess": value, "seed": seed, "reached": reached}
            rows.append({"length": length, "of_recipe": "opt", **plain})
        half = {"sigma": "half", "excess": 0.05 + moved, "seed": 0, "reached": reached}
        rows.append({"length": length, "of_recipe": "opt", **half})
    result = ladder.lengths(pd.DataFrame(rows).iloc[::-1])
    assert result["term"].tolist() == ["steps_400", "steps_1200"]
    assert result["holds"].tolist() == [False, True]
    assert result["sd"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert result["estimate"].tolist() == pytest.approx([1.0, 0.05])
    unmoved = ladder.lengths(pd.DataFrame(rows).query("sigma == 'as said'"))
    assert unmoved["estimate"].isna().all()
    assert not unmoved["holds"].any()
