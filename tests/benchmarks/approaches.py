"""Ways to measure a model on some prompts: ours, a bare forward pass, and transformers' own.

The flags of transformers are asked for less than we measure, in float32: norms of the stream after
blocks, and four statistics of each attention map. TransformerLens and nnsight, and the sums that
measuring takes by themselves, stand in `tests/benchmarks` of commit f09af0a5.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
)

from collect.adapters import adapter_for
from collect.instruments import rows
from collect.instruments.hooks import Recorder
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.forward.hooked import Hooked, after, before
from collect.model.forward.passes import Batch, buckets, whole
from collect.prompts.tokens import Encoded, right_padded

BATCH_SIZE = 8
N_PROMPTS, N_TOKENS, SHORTEST, LONGEST = 25, 1351, 16, 96
N_VOCABULARY = 49_000

Action = Callable[[], object]
Batches = tuple[Batch, ...]
Approach = Callable[[Any, Batches], Action]


def models() -> dict[str, Any]:
    """Return the configurations of the models to time, by name."""
    return {
        "GPT-2 124M": GPT2Config(),
        "Pythia 410M": GPTNeoXConfig(
            vocab_size=50_304,
            hidden_size=1024,
            num_hidden_layers=24,
            num_attention_heads=16,
            intermediate_size=4096,
        ),
        "SmolLM2 135M": LlamaConfig(
            vocab_size=49_152,
            hidden_size=576,
            num_hidden_layers=30,
            num_attention_heads=9,
            num_key_value_heads=3,
            intermediate_size=1536,
            tie_word_embeddings=True,
        ),
    }


def random_model(config: Any) -> Any:
    """Return a model with random weights and eager attention."""
    torch.manual_seed(0)
    own = copy.deepcopy(config)
    return AutoModelForCausalLM.from_config(own, attn_implementation="eager").eval()


def sharing_weights(model: Any) -> Any:
    """Return a copy of a model that shares its parameters, so that hooks stay apart."""
    shared = {id(parameter): parameter for parameter in model.parameters()}
    return copy.deepcopy(model, shared)


def drawn_prompts() -> tuple[Encoded, ...]:
    """Draw 25 prompts of 16 to 96 tokens, 1351 together."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(SHORTEST, LONGEST + 1, (N_PROMPTS,), generator=generator)
    while (surplus := int(lengths.sum()) - N_TOKENS) != 0:
        place = int(torch.randint(N_PROMPTS, (1,), generator=generator))
        lengths[place] = (lengths[place] - surplus).clamp(SHORTEST, LONGEST)
    return tuple(
        Encoded(f"drawn:{number:02d}", tuple(ids), (False,) * len(ids))
        for number, length in enumerate(lengths.tolist())
        for ids in [torch.randint(N_VOCABULARY, (length,), generator=generator).tolist()]
    )


def placed(model: Any) -> Decoder:
    """Return the model as the collection sees it."""
    return decoder(model, adapter_for(model.config.model_type))


class Nothing:
    """Watches a pass and measures nothing."""

    @contextmanager
    def attached(self, _decoder: Decoder) -> Iterator[None]:
        """Put no hooks on."""
        yield

    def watch(self, _index: int) -> None:
        """Look away."""

    def finish(self, _index: int, _states: Tensor) -> None:
        """Forget the states."""


def bare_body(model: Any, batches: Batches) -> Action:
    """Run the body and measure nothing."""
    subject = placed(model)
    return lambda: list(whole(subject, batches, Nothing()))


class Reading(Hooked):
    """Reads every number that the stream and the attention maps are measured by once, in float32.

    What it costs is the least that any measurement of them can cost.
    """

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        for layer, block in enumerate(decoder.blocks):
            sites = decoder.sites(layer)
            yield before(sites.attention, _read)
            yield before(sites.ffn_input, _read)
            yield after(sites.attention_update.module, _read)
            yield after(sites.ffn_update.module, _read)
            if sites.mid is not None:
                yield before(sites.mid, _read)
            yield after(block, _read)
            yield decoder.attentions[layer].register_forward_hook(
                lambda _module, _args, output: _read(output[1])
            )

    def finish(self, index: int, states: Tensor) -> None:
        """Keep the states of the last tokens, and predict from them when all are there."""
        places = [len(prompt) - 1 for prompt in self.batches[index]]
        self.last.append(states[torch.arange(len(places)), torch.tensor(places)])
        if index == len(self.batches) - 1:
            self._decoder.next_token_logits(torch.cat(self.last))

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.last: list[Tensor] = []


def _read(states: Tensor) -> None:
    states.sum()


def reading(model: Any, batches: Batches) -> Action:
    """Run the body, read each number once and multiply the last states with the head."""
    subject = placed(model)
    return lambda: list(whole(subject, batches, Reading(batches)))


def collecting(*quantities: str) -> Approach:
    """Measure some quantities as ``python -m collect run`` does, down to the rows."""

    def approach(model: Any, batches: Batches) -> Action:
        subject = placed(model)

        def collect() -> None:
            recorder = Recorder(batches, quantities)
            for index in whole(subject, batches, recorder):
                rows.frames(batches[index], recorder.observation(index))
            rows.across_prompts(recorder, _Numbers())

        return collect

    return approach


class _Numbers:
    """Writes a token as its number."""

    def decode(self, token_ids: list[int]) -> str:
        """Return the number."""
        return str(token_ids[0])


def bare_model(model: Any, batches: Batches) -> Action:
    """Run the whole model, as it is called: logits after every token, and measure nothing."""
    return lambda: [_run(model, batch) for batch in batches]


def flags(model: Any, batches: Batches) -> Action:
    """Ask the body for all hidden states and attention maps; norms after blocks alone."""

    def measure() -> None:
        for batch in batches:
            asked = {"output_hidden_states": True, "output_attentions": True}
            output = _run(model.base_model, batch, **asked)
            _ = [_norms(states) for states in output.hidden_states]
            _ = [_statistics(maps) for maps in output.attentions]

    return measure


def in_buckets(prompts: tuple[Encoded, ...]) -> Batches:
    """Return our batches: at most eight prompts of about one length."""
    return tuple(buckets(prompts, BATCH_SIZE))


def in_one(prompts: tuple[Encoded, ...]) -> Batches:
    """Return one batch of all prompts, padded to the longest."""
    return (prompts,)


#: The approach that does the least, which the others are compared with.
BARE = "bare body"

#: The approach whose share of the others' time the table prints.
OURS = "ours: stream, attention"

_BUCKETED: dict[str, Approach] = {
    **{BARE: bare_body, "each number read once": reading},
    OURS: collecting("stream", "attention"),
    "ours: and geometry": collecting("stream", "attention", "geometry"),
    "output flags": flags,
    "bare model, all logits": bare_model,
}

_PADDED: dict[str, Approach] = {
    "bare body, one batch": bare_body,
    "ours, one batch": collecting("stream", "attention"),
    "output flags, one batch": flags,
}

#: Every approach by the name the table prints, with what makes its batches.
APPROACHES: dict[str, tuple[Approach, Callable[[tuple[Encoded, ...]], Batches]]] = {
    **{name: (approach, in_buckets) for name, approach in _BUCKETED.items()},
    **{name: (approach, in_one) for name, approach in _PADDED.items()},
}


@torch.inference_mode()
def _run(model: Any, batch: Batch, **flags: bool) -> Any:
    return model(**_padded(batch), use_cache=False, **flags)


def _padded(batch: Batch) -> dict[str, Tensor]:
    padded = right_padded(batch, torch.device("cpu"))
    return {name: padded[name] for name in ("input_ids", "attention_mask")}


def _norms(states: Tensor) -> Tensor:
    return states.float().square().sum(-1).sqrt()


def _statistics(maps: Tensor) -> Tensor:
    wide = maps.float()
    return torch.stack(
        [
            wide.sum((-1, -2)),
            wide.diagonal(dim1=-2, dim2=-1).sum(-1),
            wide[..., 0].sum(-1),
            torch.special.entr(wide).sum((-1, -2)),
        ]
    )
