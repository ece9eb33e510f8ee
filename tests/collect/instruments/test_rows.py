"""Every row of a small batch stands where it belongs and satisfies the contract."""

import torch

from collect.instruments import rows
from collect.instruments.gram_accumulator import Norms, Updates
from collect.measures.register import FILLED
from collect.prompts.tokens import Encoded
from collect.record.writer import conforming

LABELS = {"run_id": "r", "model_id": "m"}
BATCH = (Encoded("P:1", (5, 6), (True, False)), Encoded("P:0", (7,), (False,)))


def test_each_token_gets_its_row():
    norm = torch.tensor([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]], dtype=torch.float64)
    places = ((0, "block_input"), (1, "block_output"))
    result = rows.residual_norms(BATCH, Norms(places, norm, norm / 2, norm / 100, norm.long()))
    assert result.to_dict("list") == {
        "prompt_id": ["P:1", "P:1", "P:0"] * 2,
        "layer": [0, 0, 0, 1, 1, 1],
        "site": ["block_input"] * 3 + ["block_output"] * 3,
        "position": [0, 1, 0] * 2,
        "norm": [1, 2, 3, 5, 6, 7],
        "norm_centred": [0.5, 1, 1.5, 2.5, 3, 3.5],
        "top_share": [0.01, 0.02, 0.03, 0.05, 0.06, 0.07],
        "top_feature": [1, 2, 3, 5, 6, 7],
        "is_special": [True, False, False] * 2,
    }
    conforming("residual_norm", result.assign(**LABELS))


def test_what_is_not_defined_becomes_null():
    numbers = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    undefined = torch.full((1, 3), torch.nan, dtype=torch.float64)
    block = Updates(((2, "block"),), numbers, numbers, undefined, undefined, undefined)
    result = rows.residual_updates(BATCH, block)
    assert result["norm"].tolist() == [1, 2, 3]
    written = conforming("residual_update", result.assign(**LABELS)).to_pydict()
    for name in ("ratio", "cosine", "input_norm"):
        assert written[name] == [None] * 3


def test_geometry_without_pairs_is_null_not_zero():
    nan = float("nan")
    rows_of_prompts = [[nan, nan, nan, 1.0, 1.0], [nan, nan, nan, 1.0, nan]]
    measured = {(0, "block_input"): torch.tensor(rows_of_prompts, dtype=torch.float64)}
    made = rows.site_rows(FILLED["token_geometry"], BATCH, measured)
    written = conforming("token_geometry", made.assign(**LABELS))
    columns = written.to_pydict()
    assert columns["mean_cosine"] == columns["uniformity"] == [None, None]
    assert columns["effective_rank"] == [1.0, 1.0]
    assert columns["embedding_correlation"] == [None, 1.0]
