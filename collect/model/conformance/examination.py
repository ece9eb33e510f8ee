"""A watcher that compares a decoder with what its adapter promises, block by block.

The first batch shows whether maps, heads and sums are right. The batches after it repeat prompts
of the first, alone or with another last token, and are compared with the prompt's run before.
Each block then gets the stream that the first batch had there, so that what is compared is one
block's doing: differences that only come from rounding would grow from block to block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from collect.adapters.capability import GAIN, HEAD, HEADS, MAPS, PARTS
from collect.model.checkpoint.decoder import Decoder, Sites
from collect.model.conformance.deviations import (
    above_diagonal,
    normalised,
    place_deviation,
    rebuilt_attention,
    rounded_size,
    row_deviation,
    sum_deviation,
    sums,
    whole_deviation,
)
from collect.model.forward.hooked import Hooked, after, around, before
from collect.model.forward.tail import own_logits

#: What a block must show to be compared, by what its layout may lack.
_COMPARED = {
    PARTS: {"attention_input", "attention_update", "ffn_input", "ffn_update"},
    MAPS: {"maps"},
    HEADS: {"projected"},
}

#: What a norm adds to the variance when it keeps no such number, as OLMo's does.
_EPS = 1e-5


@dataclass(frozen=True, slots=True)
class Repeat:
    """A later batch: one prompt of the first batch, whose first tokens must give the same.

    Attributes
    ----------
    property
        What it tests.
    prompt
        Its place in the first batch.
    n_tokens
        Tokens that must give the same.
    length
        Tokens it has.
    """

    property: str
    prompt: int
    n_tokens: int
    length: int


class Examiner(Hooked):
    """What a pass shows of a decoder; see ``collect.model.forward.passes.Watcher``.

    It keeps four vectors per token and block: what must come again.

    Parameters
    ----------
    decoder
        The model.
    lengths
        Tokens of each prompt of the first batch.
    repeats
        The batches after it, in order.

    Attributes
    ----------
    deviations
        By property, then by block: the largest deviation; None stands for what follows the
        last block.
    n_not_finite
        By block: numbers in it that are not finite, over all batches; None stands for what
        leaves the body. Those without any are left out.
    """

    def __init__(self, decoder: Decoder, lengths: Sequence[int], repeats: Sequence[Repeat]) -> None:
        self.deviations: dict[str, dict[int | None, float]] = {}
        self.n_not_finite: dict[int | None, int] = {}
        self._decoder = decoder
        self._lengths = list(lengths)
        self._repeats = list(repeats)
        self._seen: dict[str, Tensor] = {}
        self._recorded: dict[tuple[int, str], list[Tensor]] = {}
        self._left: dict[int, Tensor] = {}
        self._last: Tensor | None = None

    @property
    def _repeat(self) -> Repeat | None:
        return self._repeats[self._index - 1] if self._index else None

    def finish(self, index: int, states: Tensor) -> None:
        """Count what is not finite in what leaves the body, and compare what becomes of it."""
        leaving = self._unpad(states)
        n_not_finite = self._count(None, [leaving])
        if n_not_finite or self._repeat is not None or self._last is None:
            return
        # After the last block or the norm OPT may project to another width.
        if self._last.shape == leaving.shape:
            self._note("logits", None, place_deviation(self._last, leaving))
        if not self._decoder.adapter.has(HEAD):
            return
        ends = states[range(len(states)), [n - 1 for n in self._lengths]]
        expected = own_logits(self._decoder, ends.unsqueeze(1)).squeeze(1).float()
        if not self._count(None, [expected]):
            logits = self._decoder.next_token_logits(ends)
            self._note("logits", None, place_deviation(logits, expected.to(logits.device)))

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        for layer in range(len(decoder.blocks)):
            yield from self._hooks_of_block(layer)
        last = decoder.blocks[-1] if decoder.final_norm is None else decoder.final_norm
        yield after(last, self._keep_last)

    def _hooks_of_block(self, layer: int) -> Iterator[Any]:
        adapter, block = self._decoder.adapter, self._decoder.blocks[layer]
        yield block.register_forward_pre_hook(self._enterer(layer), with_kwargs=True)
        if adapter.has(MAPS):
            yield around(self._decoder.attentions[layer], partial(self._keep_maps, layer))
        if adapter.has(HEADS):
            projection = self._decoder.at(adapter.output, block)
            yield after(projection, self._keeper("projected"))
        if adapter.has(PARTS):
            yield from self._hooks_of_parts(self._decoder.sites(layer))
        yield after(block, partial(self._leave, layer))

    def _hooks_of_parts(self, sites: Sites) -> Iterator[Any]:
        yield before(sites.attention, self._keeper("attention_input"))
        yield after(sites.attention_update.module, self._keeper("attention_update"))
        yield before(sites.ffn_input, self._keeper("ffn_input"))
        yield after(sites.ffn_update.module, self._keeper("ffn_update"))
        if sites.mid is not None:
            yield before(sites.mid, self._keeper("mid"))
        if sites.mid is not None and _has_norm_between(sites):
            yield after(sites.mid, self._keeper("mid_normed"))
        if sites.norms_after is not None:
            yield before(sites.norms_after[0], self._keeper("attention_sum"))
            yield before(sites.norms_after[1], self._keeper("ffn_sum"))

    def _unpad(self, vectors: Tensor) -> Tensor:
        """Return the vectors of all tokens, padding left out: (n, d) in float32."""
        lengths = self._lengths if self._repeat is None else [self._repeat.length]
        of_prompts = vectors.reshape(len(lengths), -1, vectors.shape[-1])
        return torch.cat([rows[:n] for rows, n in zip(of_prompts, lengths, strict=True)]).float()

    def _enterer(self, layer: int) -> Callable[..., Any]:
        def enter(_module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
            device = self._decoder.device_of_block(layer)
            stream = _first_argument(args, kwargs).to(device)
            entry = self._unpad(stream)
            if self._repeat is not None and (layer, "stream") in self._recorded:
                n = self._repeat.n_tokens
                stream = stream.clone()
                stream[0, :n] = self._recorded[layer, "stream"][self._repeat.prompt][:n]
            self._seen = {"entry": entry, "stream": self._unpad(stream)}
            if args:
                return (stream, *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": stream}

        return enter

    def _keeper(self, name: str) -> Callable[[Tensor], None]:
        def keep(vectors: Tensor) -> None:
            self._seen[name] = self._unpad(vectors)

        return keep

    def _keep_last(self, vectors: Tensor) -> None:
        if self._repeat is None:
            self._last = self._unpad(vectors)

    def _keep_maps(self, layer: int, args: Any, kwargs: Any, output: Any) -> None:
        if self._repeat is None:
            self._seen["maps"] = self._decoder.attention_maps(layer, args, kwargs, output)
            self._seen["states"] = _first_argument(args, kwargs)

    def _leave(self, layer: int, stream: Tensor) -> None:
        """Compare what the block showed, and drop it."""
        seen = {**self._seen, "output": self._unpad(stream)}
        self._seen = {}
        if self._count(layer, seen.values()) or not self._is_shown(seen):
            return
        if "attention_update" in seen:
            scale = self._decoder.sites(layer).attention_update.scale
            seen["after_attention"] = seen["stream"] + seen["attention_update"] * scale
        if self._repeat is not None:
            self._compare(layer, seen, self._repeat)
            return
        for name, size in self._deviations(layer, seen):
            self._note(name, layer, size)
        for name in ("stream", *self._repeated(layer)):
            self._recorded[layer, name] = list(seen[name].split(self._lengths))
        self._left[layer] = seen["output"]

    def _is_shown(self, seen: dict[str, Tensor]) -> bool:
        """Return whether a block called all that its adapter names."""
        has = self._decoder.adapter.has
        if self._repeat is not None:
            return "attention_update" in seen or not has(PARTS)
        return all(seen.keys() >= names for part, names in _COMPARED.items() if has(part))

    def _repeated(self, layer: int) -> tuple[str, ...]:
        """Return what must come again in a block.

        In a short number format rounding sends tokens to other experts, which says nothing of
        the batch: there the stream counts before they are chosen.
        """
        config = self._decoder.config
        is_routed = self._decoder.adapter.experts_per_token(config) is not None
        is_short = self._decoder.model.dtype != torch.float32
        before = ("after_attention",) if self._decoder.adapter.has(PARTS) else ()
        names = before if is_routed and is_short and before else (*before, "output")
        return ("entry", *names) if layer == 0 else names

    def _compare(self, layer: int, seen: dict[str, Tensor], repeat: Repeat) -> None:
        """Compare a repeat with the prompt's run before, and let it take that one's place."""
        n = repeat.n_tokens
        for name in self._repeated(layer):
            if (layer, name) in self._recorded:
                of_prompts = self._recorded[layer, name]
                size = sum_deviation([seen[name][:n]], of_prompts[repeat.prompt][:n])
                self._note(repeat.property, layer, size)
                of_prompts[repeat.prompt] = seen[name]

    def _count(self, layer: int | None, tensors: Iterable[Tensor]) -> int:
        """Add up the numbers that are not finite, and return how many there are."""
        n_not_finite = sum(int((~vectors.isfinite()).sum()) for vectors in tensors)
        if n_not_finite:
            self.n_not_finite[layer] = self.n_not_finite.get(layer, 0) + n_not_finite
        return n_not_finite

    def _note(self, name: str, layer: int | None, size: float) -> None:
        of_blocks = self.deviations.setdefault(name, {})
        of_blocks[layer] = max(size, of_blocks.get(layer, size))

    def _deviations(self, layer: int, seen: dict[str, Tensor]) -> Iterator[tuple[str, float]]:
        has, lengths = self._decoder.adapter.has, self._lengths
        yield "block_adds_up", self._stream_deviation(layer, seen["stream"])
        if has(MAPS):
            maps, has_sinks = seen["maps"].float(), self._decoder.adapter.has_sinks
            yield "attention_rows", row_deviation(maps, lengths, has_sinks=has_sinks)
            yield "attention_causal", above_diagonal(maps, lengths)
        if has(HEADS, MAPS):
            yield "heads_rebuild_attention", self._unrebuilt(layer, seen)
        if has(PARTS):
            sites = self._decoder.sites(layer)
            yield "block_adds_up", max(sum_deviation(*pair) for pair in sums(sites, seen))
            if has(GAIN):
                yield from self._gains(layer, sites, seen)

    def _stream_deviation(self, layer: int, stream: Tensor) -> float:
        """Return how far what enters a block is from what left the one before."""
        before = self._left.get(layer - 1)
        return 0.0 if before is None else place_deviation(stream, before.to(stream.device))

    def _unrebuilt(self, layer: int, seen: dict[str, Tensor]) -> float:
        weights, heads = self._decoder.head_weights(layer), self._decoder.heads
        clip = self._decoder.adapter.clip(self._decoder.config)
        maps = seen["maps"].float()
        rebuilt = self._unpad(rebuilt_attention(weights, heads, seen["states"], maps, clip))
        return whole_deviation(rebuilt, seen["projected"])

    def _gains(
        self, layer: int, sites: Sites, seen: dict[str, Tensor]
    ) -> Iterator[tuple[str, float]]:
        expected, scale = self._expect(sites, seen["stream"], self._decoder.gain(layer))
        yield "norm_gain", place_deviation(seen["attention_input"], expected, scale)
        if _has_norm_between(sites):
            yield "norm_gain", place_deviation(seen["ffn_input"], seen["mid_normed"])

    def _expect(
        self, sites: Sites, stream: Tensor, gain: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return what attention must read: the stream, through its norm if it has one.

        The second value is the size of what a LayerNorm rounds on the way.
        """
        adapter = self._decoder.adapter
        if adapter.attention_norm is None or gain is None:
            return stream, None
        norm: Any = self._decoder.at(adapter.attention_norm, sites.block)
        if isinstance(norm, nn.Identity):
            return stream, None
        eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", _EPS))
        is_centred = adapter.norm_kind == "LayerNorm"
        bias, how = getattr(norm, "bias", None), {"eps": float(eps)}
        expected = normalised(stream, gain, bias, **how, is_centred=is_centred)
        return expected, rounded_size(stream, gain, **how) if is_centred else None


def _has_norm_between(sites: Sites) -> bool:
    """Return whether the module that ``mid`` names is a norm in front of feed-forward."""
    return sites.mid is not None and sites.mid is not sites.ffn_input


def _first_argument(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    first: Tensor = args[0] if args else kwargs["hidden_states"]
    return first
