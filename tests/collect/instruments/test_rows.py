"""Every row of a small batch stands where it belongs and satisfies the contract."""

import pytest
import torch

from collect import schema
from collect.instruments import rows
from collect.instruments.geometry import Geometry
from collect.instruments.hooks import Recorder
from collect.instruments.observation import Norms, TokenGeometry, Updates
from collect.model.forward.passes import whole
from collect.prompts.tokens import Encoded
from collect.record.writer import conforming
from tests.collect.instruments.test_hooks import Numbers
from tests.collect.shown import loaded_family

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
    alone = Geometry(None, None, None, 1.0)
    measured = TokenGeometry(
        geometry={(0, "block_input"): [alone, alone]},
        embedding_correlation={(0, "block_input"): [1.0, float("nan")]},
    )
    written = conforming("token_geometry", rows.token_geometry(BATCH, measured).assign(**LABELS))
    columns = written.to_pydict()
    assert columns["mean_cosine"] == columns["uniformity"] == [None, None]
    assert columns["effective_rank"] == [1.0, 1.0]
    assert columns["embedding_correlation"] == [None, 1.0]


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "opt_post_norm", "falcon_rw", "mixtral"])
def test_every_table_of_a_run_over_prompts_satisfies_the_contract(name):
    placed = loaded_family(name)
    recorder = Recorder([BATCH], ("stream", "attention", "geometry", "predictions", "legacy"))
    assert list(whole(placed, [BATCH], recorder)) == [0]
    result = rows.frames(BATCH, recorder.observation(0)) | rows.across_prompts(recorder, Numbers())
    assert len(result) == 9
    n_layers, n_heads = len(placed.blocks), placed.heads.n_heads
    sites = 2 + n_layers * (1 if placed.adapter.is_parallel else 2)
    sites += placed.final_norm is not None
    n_rows = {
        **{"residual_norm": sites * 3, "residual_update": n_layers * 3 * 3},
        **{"attention": n_layers * n_heads * 2, "attention_mean": n_layers * 2},
        **{"token_prediction": 3, "next_token": 2, "legacy_value": (6 * n_layers + 4) * 2},
    }
    for table, of_table in result.items():
        labelled = of_table.assign(**LABELS)
        given = {column.name for column in schema.tables()[table].columns}
        assert set(labelled.columns) == given
        assert conforming(table, labelled).num_rows == n_rows.get(table, len(of_table))
