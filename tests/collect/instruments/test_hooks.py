"""What the hooks measure is what the model computes, batched or not, block by block or not."""

from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest
import torch

from collect import schema
from collect.errors import ConformanceError
from collect.instruments import rows
from collect.instruments.attention_maps import attention_statistics
from collect.instruments.hooks import Recorder
from collect.instruments.quantities import TABLES, of_prompts
from collect.measures.geometry import geometry
from collect.measures.predictions import predictions
from collect.model.forward.passes import inputs, whole
from collect.prompts.tokens import Encoded
from tests.collect.families import OF_EACH_ADAPTER
from tests.collect.shown import loaded_family

EVERYTHING = of_prompts(TABLES)
KEYS = {table: [*schema.tables()[table].key[1:]] for name in EVERYTHING for table in TABLES[name]}
#: Rounding of float32 in a batched product against an unbatched one.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


class Numbers:
    """Writes a token as its number."""

    def decode(self, token_ids):
        return str(token_ids[0])


def drawn(*lengths, n_vocabulary=97):
    """Draw prompts of some lengths."""
    generator = torch.Generator().manual_seed(sum(lengths))
    return tuple(
        Encoded(
            f"drawn:{place:02d}",
            tuple(torch.randint(3, n_vocabulary, (length,), generator=generator).tolist()),
            (True, *(False,) * (length - 1)),
        )
        for place, length in enumerate(lengths)
    )


def measured(run_pass, batches, quantities=EVERYTHING):
    """Return the rows of every table, in the order of its key."""
    recorder = Recorder(batches, quantities)
    parts = {}
    for index in run_pass(batches, recorder):
        for table, of_batch in rows.frames(batches[index], recorder.observation(index)).items():
            parts.setdefault(table, []).append(of_batch)
    tables = {table: pd.concat(frames) for table, frames in parts.items()}
    tables |= rows.across_prompts(recorder, Numbers())
    return {
        table: of_table.sort_values(KEYS[table], ignore_index=True)
        for table, of_table in tables.items()
    }


def loaded(placed):
    """Return the pass through a loaded model."""
    return lambda batches, watcher: whole(placed, batches, watcher)


@pytest.mark.parametrize("name", OF_EACH_ADAPTER)
@torch.inference_mode()
def test_sites_agree_with_the_models_own_hidden_states_but_for_the_last_block(name):
    placed, (prompt,) = loaded_family(name), drawn(11)
    own = placed.body(
        **inputs(placed, (prompt,)), output_hidden_states=True, use_cache=False
    ).hidden_states
    result = measured(loaded(placed), [(prompt,)], ["stream"])["residual_norm"]
    norms = {
        place: of_site["norm"].to_numpy() for place, of_site in result.groupby(["layer", "site"])
    }
    n_layers = len(placed.blocks)
    assert len(own) == n_layers + 1
    expected = {(layer, "block_output"): own[layer + 1] for layer in range(n_layers - 1)}
    expected[0, "block_input"] = own[0]
    if placed.final_norm is not None:
        expected[n_layers - 1, "final_norm"] = own[-1]
    for place, states in expected.items():
        assert norms[place] == pytest.approx(np.linalg.norm(states[0].numpy(), axis=-1), rel=1e-5)
    last = np.linalg.norm(own[-1][0].numpy(), axis=-1)
    is_own = np.allclose(norms[n_layers - 1, "block_output"], last, rtol=0.01)
    assert is_own == (name == "openai_gpt")  # which alone has nothing after its last block


@pytest.mark.parametrize("name", OF_EACH_ADAPTER)
def test_norms_ratios_and_cosines_are_those_of_the_vectors_when_they_appear(name):
    placed, (prompt,) = loaded_family(name), drawn(11)
    seen = {}
    with ExitStack() as hooks, torch.inference_mode():
        for layer in range(len(placed.blocks)):
            for handle in independent_hooks(placed, layer, seen):
                hooks.callback(handle.remove)
        placed.body(**inputs(placed, (prompt,)), use_cache=False)
    tables = measured(loaded(placed), [(prompt,)], ["stream"])
    sites = tables["residual_norm"].query("site in ('block_mid', 'block_output')")
    for (layer, site), of_site in sites.groupby(["layer", "site"]):
        vectors = seen[layer, site]
        centred = vectors - vectors.mean(-1, keepdims=True)
        squares = vectors**2
        assert of_site["norm"].to_numpy() == pytest.approx(np.linalg.norm(vectors, axis=-1))
        assert of_site["norm_centred"].to_numpy() == pytest.approx(np.linalg.norm(centred, axis=-1))
        assert of_site["top_feature"].tolist() == np.abs(vectors).argmax(-1).tolist()
        assert of_site["top_share"].to_numpy() == pytest.approx(squares.max(-1) / squares.sum(-1))
    for (layer, part), of_part in tables["residual_update"].groupby(["layer", "part"]):
        middle = seen.get((layer, "block_mid"), seen[layer, "block_input"])
        if part == "block":
            vectors, stream = seen[layer, "block_output"] - seen[layer, "block_input"], None
            assert of_part["input_norm"].isna().all()
        else:
            vectors, stream = seen[layer, part], middle if part == "ffn" else None
            reads = np.linalg.norm(seen[layer, f"{part} reads"], axis=-1)
            assert of_part["input_norm"].to_numpy() == pytest.approx(reads)
        stream = seen[layer, "block_input"] if stream is None else stream
        if placed.sites(layer).adds_to_norm and part != "block":
            stream = seen[layer, f"{part} reads"]
        length, of_stream = (np.linalg.norm(of, axis=-1) for of in (vectors, stream))
        cosine = (vectors * stream).sum(-1) / length / of_stream
        assert of_part["norm"].to_numpy() == pytest.approx(length)
        assert of_part["ratio"].to_numpy() == pytest.approx(length / of_stream)
        assert of_part["cosine"].to_numpy() == pytest.approx(cosine, abs=1e-9)


def independent_hooks(placed, layer, seen):
    """Copy every vector of a block into ``seen`` in float64 at the moment it appears."""
    sites = placed.sites(layer)

    def keep(name, states):
        seen[layer, name] = states.double().reshape(-1, states.shape[-1]).numpy().copy()

    def entering(name):
        return lambda _module, args, kwargs: keep(
            name, args[0] if args else kwargs["hidden_states"]
        )

    def leaving(name, scale=1.0):
        return lambda _module, _args, output: keep(
            name, scale * (output[0] if isinstance(output, tuple | list) else output)
        )

    for name, module in (
        ("block_input", sites.block),
        ("attention reads", sites.attention),
        ("ffn reads", sites.ffn_input),
        ("block_mid", sites.mid),
    ):
        if module is not None:
            yield module.register_forward_pre_hook(entering(name), with_kwargs=True)
    yield sites.block.register_forward_hook(leaving("block_output"))
    for name, update in (("attention", sites.attention_update), ("ffn", sites.ffn_update)):
        yield update.module.register_forward_hook(leaving(name, update.scale))


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt_neox", "bloom", "opt_post_norm", "gpt_oss", "gemma2"]
)
def test_a_batch_equals_one_prompt_at_a_time(name):
    placed, prompts = loaded_family(name), drawn(17, 3, 9)
    together = measured(loaded(placed), [prompts])
    alone = measured(loaded(placed), [(prompt,) for prompt in prompts])
    assert together.keys() == alone.keys() == KEYS.keys()
    for table, of_table in together.items():
        pd.testing.assert_frame_equal(of_table, alone[table], check_like=True, **CLOSE)


@torch.inference_mode()
def test_predictions_are_those_of_the_models_own_logits():
    placed, prompts = loaded_family("cohere"), drawn(6, 4)
    tables = measured(loaded(placed), [prompts])
    for prompt in prompts:
        ids = torch.tensor([prompt.token_ids])
        coming = torch.tensor([*prompt.token_ids[1:], -1])
        own = predictions(placed.model(ids).logits[0], lambda logits: logits, coming)
        result = tables["token_prediction"].query("prompt_id == @prompt.prompt_id")
        last = tables["next_token"].query("prompt_id == @prompt.prompt_id")
        for name in ("entropy", "top_probability", "surprisal"):
            expected = getattr(own, name).numpy()
            assert result[name].to_numpy() == pytest.approx(expected, abs=1e-5, nan_ok=True)
        assert result["top_token_id"].tolist() == own.top_token_id.tolist()
        assert last["entropy"].item() == pytest.approx(own.entropy[-1].item(), abs=1e-5)
        assert last["top_token"].item() == str(own.top_token_id[-1].item())


@torch.inference_mode()
def test_attention_statistics_are_those_of_the_models_own_maps():
    placed, (prompt,) = loaded_family("llama"), drawn(13)
    own = placed.model(torch.tensor([prompt.token_ids]), output_attentions=True).attentions
    result = measured(loaded(placed), [(prompt,)], ["attention"])["attention"]
    for layer, maps in enumerate(own):
        expected, _ = attention_statistics(maps, [13])
        of_layer = result[result["layer"] == layer]
        for name in ("diagonal", "first_column", "distance", "entropy", "sum_squares"):
            numbers = getattr(expected, name)[0].numpy()
            assert of_layer[name].to_numpy() == pytest.approx(numbers, abs=1e-5)


@torch.inference_mode()
def test_geometry_is_that_of_the_hidden_states():
    placed, prompts = loaded_family("gpt2"), drawn(7, 5, 6)
    tables = measured(loaded(placed), [prompts[:2], prompts[2:]], ["geometry"])
    states = [
        placed.body(**inputs(placed, (prompt,)), output_hidden_states=True).hidden_states
        for prompt in prompts
    ]
    of_prompt = tables["token_geometry"].query("prompt_id == 'drawn:01' and layer == 0")
    after = of_prompt.query("site == 'block_output'").iloc[0]
    expected = geometry(states[1][1][0])
    for name in ("mean_cosine", "mean_cosine_body", "uniformity", "effective_rank"):
        assert after[name] == pytest.approx(getattr(expected, name), rel=1e-4)
    correlations = [
        np.corrcoef(before, vector)[0, 1]
        for before, vector in zip(states[1][0][0].numpy(), states[1][1][0].numpy(), strict=True)
    ]
    assert after["embedding_correlation"] == pytest.approx(np.mean(correlations), rel=1e-4)
    before = of_prompt.query("site == 'block_input'").iloc[0]
    assert before["embedding_correlation"] == pytest.approx(1)
    last = geometry(torch.stack([of_prompt[1][0, -1] for of_prompt in states]))
    result = tables["prompt_geometry"].query("layer == 0 and site == 'block_output'").iloc[0]
    assert result["n_prompts"] == 3
    for name in ("mean_cosine", "uniformity", "effective_rank"):
        assert result[name] == pytest.approx(getattr(last, name), rel=1e-4)


def test_no_hook_is_left_on_the_model():
    placed = loaded_family("llama")
    list(whole(placed, [drawn(4)], Recorder([drawn(4)], EVERYTHING)))
    strange = Encoded("strange", (9999,), (False,))
    with pytest.raises(IndexError):
        list(whole(placed, [(strange,)], Recorder([(strange,)], EVERYTHING)))
    for module in placed.model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


@pytest.mark.parametrize("quantity", ["stream", "attention"])
def test_a_block_that_goes_round_its_parts_is_refused(quantity):
    placed = loaded_family("llama")
    placed.blocks[1].forward = lambda states, **_others: states
    with pytest.raises(ConformanceError, match="in block 1 there was no attention"):
        list(whole(placed, [drawn(4)], Recorder([drawn(4)], [quantity])))
