"""What is checked of a model before every number of it, printed for itself.

Attention and feed-forward must sum to the next state of the stream, a padded prompt must give
what it gives alone, and a model that is streamed must give what it gives loaded. Beside the
deviations stand two answers that depend on a model's code: whether the last of
``hidden_states`` comes after the final norm, and whether a hook on attention sees what is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from collect.adapters.capability import PARTS
from collect.job.settings import Settings
from collect.job.subject import is_too_large
from collect.model.checkpoint import blueprint, unused_tensors
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model, load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.shards import Shards
from collect.model.conformance import refusal
from collect.model.conformance.deviations import place_deviation, whole_deviation
from collect.model.conformance.header_agreement import contradictions
from collect.model.conformance.refusal import Finding
from collect.model.forward.hooked import Hooked, after
from collect.model.forward.passes import Batch, inputs, last_states, whole
from collect.model.forward.replay import NotReplayableError
from collect.model.forward.stream import streamed
from collect.process.interruption import interruptible

#: The property that no row of ``conformance`` has: it takes a second pass.
STREAMED = "streamed_equals_loaded"

#: The two answers on a model's code.
STATES, HOOKED = "hidden_states[-1]", "a hook on attention sees"

#: What each property says, in the order of the table.
SAYS = {
    "block_adds_up": "stream + attention + feed-forward = next state of the stream",
    "batch_equals_single": "a padded prompt = the same prompt alone",
    STREAMED: "streamed block by block = loaded",
    "future_unseen": "no token sees a later one",
    "attention_causal": "no attention to a later token",
    "attention_rows": "attention of a token sums to 1",
    "heads_rebuild_attention": "maps and value and output matrices of heads = attention",
    "norm_gain": "the norm before attention has the gain that is read off",
    "logits": "head on the last state = logits",
    "finite": "every number is finite",
    refusal.OF_FILES: "every stored tensor is used",
    refusal.OF_CODE: "the class is one of transformers",
    refusal.OF_HEADER: "the model computes by the header of its file",
}

#: What is left of the sums where the parts of a block cannot be told apart.
_HANDED_ON = "what enters a block = what left the one before"

_HEADER = ("", "largest deviation", "allowed", "block")


@dataclass(frozen=True, slots=True)
class Verification:
    """What the checks of one model gave.

    Attributes
    ----------
    model_id, dtype
        The model, and the number format of the pass.
    findings
        One per property, in the order of `SAYS`.
    has_parts
        Whether attention and feed-forward can be told apart; where they cannot, the sums show
        that what enters a block is what left the one before, and no more.
    facts
        What a hook must know of the model's code: what `STATES`, and a hook on attention
        (`HOOKED`), give.
    """

    model_id: str
    dtype: str
    findings: tuple[Finding, ...]
    has_parts: bool
    facts: Mapping[str, str]

    def as_text(self) -> str:
        """Return the table of deviations, the reasons, and the facts."""
        cells = [_HEADER, *(_cells(it, self._says(it)) for it in self.findings)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(_HEADER))]
        table = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        reasons = [
            f"{self._says(it)}: {it.reason}" for it in self.findings if it.reason is not None
        ]
        facts = [f"{what}: {fact}" for what, fact in self.facts.items()]
        return "\n".join([f"{self.model_id} in {self.dtype}", *table, "", *reasons, *facts])

    def _says(self, finding: Finding) -> str:
        is_handed_on = finding.property == "block_adds_up" and not self.has_parts
        return _HANDED_ON if is_handed_on else SAYS[finding.property]

    def raise_if_failed(self) -> None:
        """Raise ConformanceError where a property does not hold."""
        refusal.refuse(self.findings, self.dtype)


@interruptible()
def verify(
    model: str, *, revision: str | None = None, dtype: str = "float32", device: str = "cpu"
) -> Verification:
    """Check what every number of a model rests on.

    Parameters
    ----------
    model, revision
        Checkpoint directory, GGUF file or hub identifier, and its revision.
    dtype, device
        As for `collect.run`.

    Raises
    ------
    CollectError
        If there is no such model, it cannot be measured, or it returns no attention maps. A
        property that does not hold raises nothing here; see `Verification.raise_if_failed`.
    """
    settings = Settings(dtype=dtype, device=device, quiet=True)
    checkpoint = locate(model, revision=revision)
    skeleton = load_skeleton(checkpoint, dtype=dtype, device=settings.main_device)
    shards = Shards(checkpoint, blueprint.model_blueprint(skeleton.model))
    by_block = partial(streamed, shards=shards, device=settings.main_device)
    if is_too_large(skeleton, settings):
        checks = refusal.examine(skeleton, partial(by_block, skeleton))
        apart = Finding(STREAMED, None, None, 0.0, None, "not compared: too large to be loaded")
        facts = dict.fromkeys((STATES, HOOKED), "not tried: too large to be loaded")
    else:
        loaded = load_model(checkpoint, dtype=dtype, device=device)
        checks = refusal.examine(loaded, partial(whole, loaded))
        batches, _ = refusal.trials(loaded)
        seen = _Outputs()
        for _ in whole(loaded, batches[:1], seen):
            pass
        apart = _apart(skeleton, by_block, batches[:1], seen)
        facts = {
            STATES: _state_facts(loaded, batches[0], seen),
            HOOKED: _attention_facts(loaded, batches[0]),
        }
    findings = {it.property: it for it in (*checks, apart, *_file_facts(checkpoint, shards))}
    if checkpoint.gguf is not None:
        read = refusal.header_read(contradictions(skeleton.model, checkpoint.gguf))
        findings[read.property] = read
    ordered = tuple(findings[name] for name in SAYS if name in findings)
    has_parts = skeleton.adapter.has(PARTS)
    return Verification(checkpoint.model_id, dtype, ordered, has_parts, facts)


class _Outputs(Hooked):
    """A watcher that keeps what leaves every block of one batch."""

    def __init__(self) -> None:
        self.blocks: list[Tensor] = []

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        for block in decoder.blocks:
            yield after(block, lambda states: self.blocks.append(states.detach().clone()))

    def finish(self, index: int, states: Tensor) -> None:
        """Nothing is kept of what leaves the body."""


def _apart(skeleton: Decoder, by_block: Any, batches: list[Batch], loaded: _Outputs) -> Finding:
    """Return how far the outputs of streamed blocks are from those of the loaded model."""
    seen = _Outputs()
    try:
        for _ in by_block(skeleton, batches, seen):
            pass
    except NotReplayableError as error:
        return Finding(STREAMED, error.layer, None, 0.0, None, f"not defined: {error.problem}")
    sizes = [
        whole_deviation(first.flatten(0, -2), other.flatten(0, -2))
        for first, other in zip(seen.blocks, loaded.blocks, strict=True)
    ]
    largest = max(sizes)
    reason = None if largest == 0 else "the same tokens give other numbers when it is streamed"
    layer = sizes.index(largest) if largest else None
    return Finding(STREAMED, layer, largest, 0.0, largest == 0, reason)


def _file_facts(checkpoint: Checkpoint, shards: Shards) -> tuple[Finding, Finding]:
    unused = unused_tensors.count_kinds(shards.unused)
    return refusal.tensors_used(unused), refusal.library_code(checkpoint.own_code)


def _state_facts(loaded: Decoder, batch: Batch, seen: _Outputs) -> str:
    """Return where the last of ``hidden_states`` lies."""
    with torch.inference_mode():
        output = loaded.body(**inputs(loaded, batch), use_cache=False, output_hidden_states=True)
    states = getattr(output, "hidden_states", None)
    if not states:
        return "none is returned"
    last = states[-1].flatten(0, -2)
    is_final = place_deviation(last, last_states(output).flatten(0, -2)) == 0
    is_block = place_deviation(last, seen.blocks[-1].flatten(0, -2)) == 0
    if is_block:
        return f"the last block's output, {'no' if is_final else 'before the'} final norm"
    return "after the final norm" if is_final else "neither before nor after the final norm"


def _attention_facts(loaded: Decoder, batch: Batch) -> str:
    """Return whether a hook on the attention module sees what is added."""
    if not loaded.adapter.has(PARTS):
        return "not defined: the parts of a block cannot be told apart"
    sites = loaded.sites(0)
    outputs: dict[str, Tensor] = {}

    def keep(name: str, states: Tensor) -> None:
        outputs[name] = states.detach().clone()

    update = sites.attention_update
    with ExitStack() as hooks, torch.inference_mode():
        for name, module in (("attention", sites.attention), ("update", update.module)):
            hooks.callback(after(module, partial(keep, name)).remove)
        loaded.body(**inputs(loaded, batch), use_cache=False)
    same = outputs["attention"].numel() == outputs["update"].numel() and torch.equal(
        outputs["attention"].flatten(), outputs["update"].flatten()
    )
    what = "what is added" if same else "attention before a norm or a projection that follows it"
    return what if update.scale == 1.0 else f"{what}, before the multiplier {update.scale:g}"


def _cells(finding: Finding, says: str) -> tuple[str, str, str, str]:
    mark = {True: "yes", False: "NO", None: "?"}[finding.is_met]
    deviation = "" if finding.deviation is None else f"{finding.deviation:.1e}"
    layer = "" if finding.layer is None or not finding.deviation else str(finding.layer)
    return f"{mark:4} {says}", deviation, f"{finding.tolerance:.1e}", layer
