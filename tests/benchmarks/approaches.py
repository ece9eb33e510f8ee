"""Ways to measure a model on some prompts: ours, a bare forward pass, and those of peers.

Each turns a causal model of transformers into an action that measures all prompts once. Peers
are asked for the norm of the stream before, within and after each block and of what attention
and feed-forward add, and for mass, trace, first column and entropy of each attention map: less
than we measure, in float32, from one padded batch, which is how they are used.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPTNeoXConfig,
    PreTrainedTokenizerFast,
)

from collect.adapters import adapter_for
from collect.instruments import rows
from collect.instruments.hooks import Recorder
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.forward.passes import whole
from collect.prompts.tokens import Encoded, buckets, right_padded

BATCH_SIZE = 8
N_PROMPTS, N_TOKENS, SHORTEST, LONGEST = 25, 1351, 16, 96
N_VOCABULARY = 50_000

Action = Callable[[], object]


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


def bare_body(model: Any, prompts: tuple[Encoded, ...]) -> Action:
    """Run the body on our batches and measure nothing."""
    subject, batches = placed(model), tuple(buckets(prompts, BATCH_SIZE))
    return lambda: list(whole(subject, batches, Nothing()))


def collecting(*quantities: str) -> Callable[[Any, tuple[Encoded, ...]], Action]:
    """Measure some quantities as ``python -m collect run`` does, down to the rows."""

    def approach(model: Any, prompts: tuple[Encoded, ...]) -> Action:
        subject, batches = placed(model), tuple(buckets(prompts, BATCH_SIZE))

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


def bare_in_buckets(model: Any, prompts: tuple[Encoded, ...]) -> Action:
    """Run the whole model, as it is called, on our batches and measure nothing."""
    batches = tuple(buckets(prompts, BATCH_SIZE))
    return lambda: [_run(model, batch) for batch in batches]


def bare_padded(model: Any, prompts: tuple[Encoded, ...]) -> Action:
    """Run the whole model on one padded batch and measure nothing."""
    return lambda: _run(model, prompts)


def flags(model: Any, prompts: tuple[Encoded, ...]) -> Action:
    """Ask transformers for all hidden states and attention maps; norms after blocks alone."""

    def measure() -> None:
        output = _run(model, prompts, output_hidden_states=True, output_attentions=True)
        _ = [_norms(states) for states in output.hidden_states]
        _ = [_statistics(maps) for maps in output.attentions]

    return measure


def transformer_lens(model: Any, prompts: tuple[Encoded, ...]) -> Action:
    """Run TransformerLens with its cache of all activations."""
    from transformer_lens.model_bridge import TransformerBridge

    names = {"gpt2": "gpt2", "gpt_neox": "EleutherAI/pythia-410m"}
    bridge = TransformerBridge.boot_transformers(
        names[model.config.model_type], hf_model=model, tokenizer=_tokenizer(), device="cpu"
    )
    sites = ("hook_resid_pre", "hook_attn_out", "hook_mlp_out", "hook_resid_post")

    @torch.inference_mode()
    def measure() -> None:
        inputs = _padded(prompts)
        _, cache = bridge.run_with_cache(
            inputs["input_ids"], attention_mask=inputs["attention_mask"]
        )
        for layer in range(model.config.num_hidden_layers):
            _ = [_norms(cache[f"blocks.{layer}.{site}"]) for site in sites]
            _ = _statistics(cache[f"blocks.{layer}.attn.hook_pattern"])

    return measure


def nnsight(model: Any, prompts: tuple[Encoded, ...]) -> Action:
    """Trace the model with nnsight, reducing within the trace."""
    import nnsight as package

    traced = package.LanguageModel(model, tokenizer=_tokenizer())
    paths = {"gpt2": ("transformer", "h", "attn"), "gpt_neox": ("gpt_neox", "layers", "attention")}
    body, blocks, attention = paths[model.config.model_type]

    @torch.inference_mode()
    def measure() -> None:
        inputs = _padded(prompts)
        with traced.trace(inputs):
            found = package.save([])
            for block in getattr(getattr(traced, body), blocks):
                found.append(_norms(block.input))
                read = getattr(block, attention).output
                found.append(_norms(read[0]))
                found.append(_statistics(read[1]))
                found.append(_norms(block.mlp.output))
                output = block.output
                found.append(_norms(output[0] if isinstance(output, tuple) else output))

    return measure


#: The approach whose share of the others' time the table prints.
OURS = "ours: stream, attention"

#: Every approach by the name the table prints; the first is what the others are compared with.
APPROACHES: dict[str, Callable[[Any, tuple[Encoded, ...]], Action]] = {
    "bare forward, buckets": bare_in_buckets,
    "bare body without head, buckets": bare_body,
    OURS: collecting("stream", "attention"),
    "ours: and geometry": collecting("stream", "attention", "geometry"),
    "bare forward, padded": bare_padded,
    "output flags, padded": flags,
    "TransformerLens cache, padded": transformer_lens,
    "nnsight trace, padded": nnsight,
}


@torch.inference_mode()
def _run(model: Any, prompts: tuple[Encoded, ...], **flags: bool) -> Any:
    return model(**_padded(prompts), use_cache=False, **flags)


def _padded(prompts: tuple[Encoded, ...]) -> dict[str, Tensor]:
    padded = right_padded(prompts, torch.device("cpu"))
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


def _tokenizer() -> Any:
    """Return a tokenizer that is never used but must be there, read from a directory."""
    words = Tokenizer(WordLevel({"<s>": 0}, unk_token="<s>"))
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="<s>", pad_token="<s>"
    )
    made.save_pretrained(_DIRECTORY.name)
    return AutoTokenizer.from_pretrained(_DIRECTORY.name)


#: Where the tokenizer lies as long as the process runs: TransformerLens reads it again.
_DIRECTORY = tempfile.TemporaryDirectory()
