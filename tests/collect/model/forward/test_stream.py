"""Streaming: the numbers of a loaded model bit for bit, one block in memory, or a refusal."""

from contextlib import contextmanager
from types import MethodType

import pytest
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from collect.errors import InputError
from collect.instruments.weights import spectra
from collect.model.checkpoint.blueprint import model_blueprint
from collect.model.checkpoint.load import load_model, load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.placement import place
from collect.model.checkpoint.shards import ALIGNMENT, Shards
from collect.model.forward.passes import whole
from collect.model.forward.replay import NotReplayableError
from collect.model.forward.stream import streamed
from collect.prompts.tokens import Encoded
from tests.collect.conftest import edit_weights
from tests.collect.families import FAMILIES, save_family
from tests.collect.partial_families import tiny_partial


def batches():
    """Three batches: padded, one prompt alone, one prompt of a single token among others."""
    generator = torch.Generator().manual_seed(3)

    def prompt(n_tokens):
        ids = torch.randint(3, 97, (n_tokens,), generator=generator).tolist()
        return Encoded(f"P:{n_tokens}", tuple(ids), (False,) * n_tokens)

    return [(prompt(12), prompt(7)), (prompt(5),), (prompt(9), prompt(9), prompt(1))]


class Everything:
    """A watcher that keeps what every watched module returns, and the logits."""

    def __init__(self):
        self.kept = {}
        self.most_parameters = 0

    @contextmanager
    def attached(self, decoder):
        self.decoder = decoder
        watched = {"embedding": decoder.embedding}
        watched |= {f"block {n}": block for n, block in enumerate(decoder.blocks)}
        watched |= {f"attention {n}": module for n, module in enumerate(decoder.attentions)}
        if decoder.final_norm is not None:
            watched["final norm"] = decoder.final_norm
        hooks = [
            module.register_forward_hook(self._keeper(name)) for name, module in watched.items()
        ]
        yield
        for hook in hooks:
            hook.remove()

    def watch(self, index):
        self.index = index
        parameters = self.decoder.model.parameters()
        n_real = sum(parameter.numel() for parameter in parameters if not parameter.is_meta)
        self.most_parameters = max(self.most_parameters, n_real)

    def finish(self, index, states):
        self.kept[index, "states"] = states.clone()
        self.kept[index, "logits"] = self.decoder.next_token_logits(states[:, -1])

    def _keeper(self, name):
        def keep(_module, _args, output):
            # One of nanochat's norms is the last and the first: what it gives last is meant.
            assert name == "final norm" or (self.index, name) not in self.kept
            first = output[0] if isinstance(output, tuple | list) else output
            self.kept[self.index, name] = first.clone()

        return keep


def watched_whole(checkpoint, dtype="float32"):
    watcher = Everything()
    assert list(whole(load_model(checkpoint, dtype=dtype), batches(), watcher)) == [0, 1, 2]
    return watcher.kept


def stream_of(skeleton, checkpoint, watcher):
    shards = Shards(checkpoint, model_blueprint(skeleton.model))
    return list(streamed(skeleton, batches(), watcher, shards=shards))


def watched_stream(checkpoint, dtype="float32"):
    watcher = Everything()
    assert stream_of(load_skeleton(checkpoint, dtype=dtype), checkpoint, watcher) == [0, 1, 2]
    return watcher.kept


def assert_same(one, other):
    assert one.keys() == other.keys()
    different = [key for key in one if not torch.equal(one[key], other[key])]
    assert not different


@pytest.mark.parametrize("name", FAMILIES)
def test_a_streamed_model_gives_the_numbers_of_a_loaded_one_bit_for_bit(name, tmp_path):
    checkpoint = locate(str(save_family(name, tmp_path)))
    assert_same(watched_whole(checkpoint), watched_stream(checkpoint))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["gpt2", "gpt_neo", "mixtral", "gpt_oss", "opt_post_norm"])
def test_narrow_formats_are_converted_as_loading_converts_them(name, dtype, tmp_path):
    checkpoint = locate(str(save_family(name, tmp_path)))
    assert_same(watched_whole(checkpoint, dtype), watched_stream(checkpoint, dtype))


def test_a_checkpoint_stored_in_bfloat16_is_streamed_in_either_format(tmp_path):
    save_family("llama_shared", tmp_path)
    edit_weights(tmp_path, lambda tensors: {k: v.bfloat16() for k, v in tensors.items()})
    checkpoint = locate(str(tmp_path))
    for dtype in ("bfloat16", "float32"):
        assert_same(watched_whole(checkpoint, dtype), watched_stream(checkpoint, dtype))


def test_one_block_at_a_time_is_in_memory(tmp_path):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    skeleton, watcher = load_skeleton(checkpoint), Everything()
    stream_of(skeleton, checkpoint, watcher)
    n_tokens = len({0, *(t for batch in batches() for p in batch for t in p.token_ids)})
    of_block = sum(parameter.numel() for parameter in skeleton.blocks[0].parameters())
    final_norm = 64
    assert n_tokens < 97
    assert watcher.most_parameters == of_block + n_tokens * 64 + final_norm


def test_of_the_embedding_only_the_rows_of_the_prompts_are_read(tmp_path, monkeypatch):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    asked = []
    rows = Shards.rows
    monkeypatch.setattr(
        Shards, "rows", lambda self, name, at: asked.append((name, at)) or rows(self, name, at)
    )
    stream_of(load_skeleton(checkpoint), checkpoint, Everything())
    tokens = {0, *(t for batch in batches() for p in batch for t in p.token_ids)}
    assert asked[0] == ("model.embed_tokens.weight", sorted(tokens))
    assert {name for name, _ in asked[1:]} == {"lm_head.weight"}


@pytest.mark.parametrize("name", ["gpt2", "opt"])
def test_the_skeleton_is_without_weights_again_afterwards(name, tmp_path):
    checkpoint = locate(str(save_family(name, tmp_path)))
    skeleton = load_skeleton(checkpoint)
    before = dict(skeleton.model.named_parameters())
    padding = skeleton.embedding.padding_idx
    for _ in range(2):
        stream_of(skeleton, checkpoint, Everything())
        after = dict(skeleton.model.named_parameters())
        assert all(after[name] is before[name] for name in before)
        assert all(parameter.is_meta for parameter in after.values())
        assert skeleton.head.weight is skeleton.embedding.weight
        assert skeleton.embedding.padding_idx == padding
        assert not skeleton.embedding._forward_pre_hooks


def test_a_pass_that_breaks_off_leaves_the_skeleton_without_weights(tmp_path):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    skeleton = load_skeleton(checkpoint)
    blocks = skeleton.blocks

    class Broken(Everything):
        def finish(self, index, states):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        stream_of(skeleton, checkpoint, Broken())
    assert all(parameter.is_meta for parameter in skeleton.model.parameters())
    assert skeleton.blocks == blocks


def test_a_weight_that_is_not_a_number_stops_the_pass_at_its_block(tmp_path):
    def spoil(tensors):
        tensors["model.layers.1.mlp.up_proj.weight"][2, 3:5] = float("nan")

    edit_weights(save_family("llama", tmp_path), spoil)
    checkpoint = locate(str(tmp_path))
    skeleton, watcher = load_skeleton(checkpoint), Everything()
    with pytest.raises(InputError, match=r"layers\.1\.mlp\.up_proj\.weight holds 2 that are NaN"):
        stream_of(skeleton, checkpoint, watcher)
    assert {name for _, name in watcher.kept} == {"block 0", "attention 0"}
    assert all(parameter.is_meta for parameter in skeleton.model.parameters())


def body_that(act):
    """Return a Llama body that does one thing that stand-ins cannot be true to."""

    def forward(self, input_ids, attention_mask, position_ids, **_):
        states = self.embed_tokens(input_ids)
        angles = self.rotary_emb(states, position_ids)
        for layer, block in enumerate(self.layers):
            if act == "leaves a block out" and layer == 1:
                continue
            if act == "changes the stream between blocks" and layer == 2:
                states = states * 2
            if act == "lets an argument depend on the stream":
                angles = (angles[0] + states.mean(), angles[1])
            states = block(states, position_embeddings=angles)
            if act == "calls a block twice" and layer == 1:
                states = block(states, position_embeddings=angles)
        outcome = type("Outcome", (), {})()
        outcome.last_hidden_state = self.norm(states)
        return outcome

    return forward


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        ("leaves a block out", "block 2 is called out of turn"),
        ("calls a block twice", "block 1 is called out of turn"),
        ("changes the stream between blocks", "what enters block 2 is not what block 1 returns"),
        ("lets an argument depend on the stream", "the arguments of block 1 depend on what"),
    ],
)
def test_a_body_that_cannot_be_replayed_is_refused_before_a_block_runs(act, sentence, tmp_path):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    skeleton, watcher = load_skeleton(checkpoint), Everything()
    skeleton.body.forward = MethodType(body_that(act), skeleton.body)
    with pytest.raises(NotReplayableError, match=sentence):
        stream_of(skeleton, checkpoint, watcher)
    assert not watcher.kept


def test_a_block_that_returns_something_else_than_the_body_expects_is_refused(tmp_path):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    skeleton = load_skeleton(checkpoint)
    block = skeleton.blocks[1]
    forward = block.forward
    block.forward = lambda *args, **kwargs: (forward(*args, **kwargs), None)
    with pytest.raises(NotReplayableError, match="block 1 returns tuple"):
        stream_of(skeleton, checkpoint, Everything())


def test_a_model_of_one_block_is_streamed(tmp_path):
    for config in (
        transformers.LlamaConfig(num_hidden_layers=1, hidden_size=64, num_attention_heads=4),
        transformers.BloomConfig(n_layer=1, hidden_size=64, n_head=4),
        transformers.GPTJConfig(n_layer=1, n_embd=64, n_head=4, rotary_dim=4),
    ):
        config.vocab_size = 97
        directory = tmp_path / config.model_type
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(directory)
        checkpoint = locate(str(directory))
        assert_same(watched_whole(checkpoint), watched_stream(checkpoint))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_where_a_file_puts_its_tensors_changes_no_number(dtype, tmp_path):
    path = save_family("opt", tmp_path) / "model.safetensors"
    tensors = {k: v.to(getattr(torch, dtype)) for k, v in load_file(path).items()}
    result = []
    for shift in range(0, 64, 8):
        save_file(tensors, path, {"format": "pt", "padding": "x" * shift})
        checkpoint = locate(str(tmp_path))
        passes = watched_whole(checkpoint, dtype), watched_stream(checkpoint, dtype)
        result.append((*passes, spectra.rows(checkpoint)))
    loaded, streaming, norms = result[0]
    assert_same(loaded, streaming)
    for other_loaded, other_streaming, other_norms in result[1:]:
        assert_same(loaded, other_loaded)
        assert_same(loaded, other_streaming)
        assert norms == other_norms


def test_weights_begin_where_torch_puts_memory_of_its_own(tmp_path):
    checkpoint = locate(str(save_family("opt", tmp_path)))
    with safe_open(checkpoint.weight_files[0], framework="pt") as stored:
        places = {stored.get_tensor(key).data_ptr() % ALIGNMENT for key in stored.keys()}  # noqa: SIM118
    assert places != {0}, "the file must put its tensors elsewhere, or this test shows nothing"
    model, skeleton = load_model(checkpoint).model, load_skeleton(checkpoint)
    shards = Shards(checkpoint, model_blueprint(skeleton.model))
    place(shards, shards.parameters, device="cpu")
    read = shards.read(shards.parameters)
    rows = shards.rows("model.decoder.embed_tokens.weight", slice(3, 9))
    weights = [*model.parameters(), *skeleton.model.parameters(), *read.values(), rows]
    assert {tensor.data_ptr() % ALIGNMENT for tensor in weights} == {0}


def test_the_row_of_the_padding_token_is_the_stored_one(tmp_path):
    tiny_partial("youtu").save_pretrained(tmp_path)
    loaded = load_model(locate(str(tmp_path))).model.model.embed_tokens.weight
    stored = load_file(tmp_path / "model.safetensors")["model.embed_tokens.weight"]
    assert stored[0].abs().max() > 0
    assert torch.equal(loaded, stored)


def test_a_body_of_ones_own_that_can_be_replayed_is(tmp_path):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    skeleton, loaded = load_skeleton(checkpoint), load_model(checkpoint)
    for decoder in (skeleton, loaded):
        decoder.body.forward = MethodType(body_that("calls each block once"), decoder.body)
    streaming, loading = Everything(), Everything()
    stream_of(skeleton, checkpoint, streaming)
    list(whole(loaded, batches(), loading))
    assert_same(loading.kept, streaming.kept)
