"""A model ready to be run, examined before its first number: a checkpoint, or one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import torch

from collect.errors import ConformanceError
from collect.instruments import quantities
from collect.instruments.weights import spectra
from collect.job.settings import Settings
from collect.model.checkpoint import blueprint, memory, unused_tensors
from collect.model.checkpoint.checkpoint import Checkpoint, list_tensors
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import DTYPES, load_model, load_skeleton, tokenizer_for, untie
from collect.model.checkpoint.location import fetched
from collect.model.checkpoint.shards import Shards
from collect.model.conformance import configured
from collect.model.conformance import refusal as conformance
from collect.model.conformance.header_agreement import contradictions
from collect.model.forward.passes import Batch, Watcher, whole
from collect.model.forward.replay import NotReplayableError
from collect.model.forward.stream import streamed
from collect.prompts.rendering import check_template
from collect.prompts.sets import PromptSet
from collect.schema.counting import counted

#: Runs batches through the body of a model while a watcher looks on; see `passes`.
Pass: TypeAlias = Callable[[Sequence[Batch], Watcher], Iterator[int]]


#: Weights from which on a model is streamed where the stream alone is asked for [bytes].
LARGE_BYTES = 4 * 10**9


class Subject:
    """What is measured: a checkpoint, its model, its tokenizer, the settings.

    The model is loaded when it is first needed, if it must be, and examined once.

    Parameters
    ----------
    name
        The model as named on the command line.
    checkpoint
        What is known of it; weights on the hub are fetched by `fetch`.
    sets
        The prompts that it reads.
    """

    def __init__(
        self, name: str, checkpoint: Checkpoint, settings: Settings, sets: Sequence[PromptSet] = ()
    ) -> None:
        self.name = name
        self.checkpoint = checkpoint
        self.settings = settings
        self.sets = tuple(sets)
        #: False when no prompt is left to be run: the model need never be loaded, for the weights
        #: are measured from the files.
        self.is_run = True

    @property
    def title(self) -> str:
        """Its identifier, with its revision where it has one."""
        revision, gguf = self.checkpoint.revision_name, self.checkpoint.gguf
        at = "" if revision is None else f" at {revision}"
        seed = None if gguf is None else gguf.seed
        how = "" if seed is None else f" perturbed by a step, seed {seed}"
        return f"{self.checkpoint.model_id}{at}{how}"

    def weights_sha256(self) -> str:
        """Return the hash of the weights, which are fetched where the hub lists none."""
        digest = self.checkpoint.listed_weights_sha256()
        if digest is None:
            self.fetch()
            digest = self.checkpoint.weights_sha256()
        return digest

    def fetch(self, *, is_run: bool = True) -> None:
        """Fetch the weights at the very commit where they are not here yet."""
        self.is_run = is_run
        if not self.checkpoint.weight_files:
            self.checkpoint = fetched(self.checkpoint)
            self.checkpoint.weights_sha256()  # refuses content that is not what the hub lists
            if self.checkpoint.gguf is not None:
                self.release()  # factors of rotary positions lie among the tensors

    def release(self) -> None:
        """Forget what was loaded; it is loaded again where it is asked for again."""
        for name in [*vars(self)]:
            if isinstance(getattr(type(self), name, None), cached_property):
                delattr(self, name)

    @cached_property
    def bare(self) -> Decoder:
        """The model with all parameters on the meta device, tied as its configuration says."""
        settings = self.settings
        return load_skeleton(self.checkpoint, dtype=settings.dtype, device=settings.main_device)

    @cached_property
    def tokenizer(self) -> Any:
        """Its tokenizer; None when there are no prompts, or token ids alone."""
        tokenizer = tokenizer_for(self.checkpoint, self.sets)
        if tokenizer is not None and self.settings.rendering == "chat":
            check_template(tokenizer, self.checkpoint.model_id)
        return tokenizer

    @cached_property
    def skeleton(self) -> Decoder:
        """The model without weights, tied only where the files hold no two versions of them."""
        untie(self.bare, self._shards.held_apart())
        return self.bare

    def unused_beforehand(self) -> dict[str, int]:
        """Return how many stored tensors make up no parameter, by name without numbers.

        Of weights that are here the headers are read, of others the index, or the header of one
        file.
        """
        known = list_tensors(self.checkpoint)
        if not (known.weight_files or known.listed_tensors):
            return {}
        return unused_tensors.count_kinds(
            Shards(known, blueprint.model_blueprint(self.bare.model)).unused
        )

    def refuse_own_code(self) -> None:
        """Refuse a model whose repository brings code that would stand for the library's."""
        with self._unless_allowed():
            conformance.refuse_own_code(self.checkpoint.own_code)

    @cached_property
    def is_streamed(self) -> bool:
        """Whether the model runs block by block: on request, large, or only examined."""
        return not self.is_run or runs_streamed(self.skeleton, self.settings)

    @property
    def execution(self) -> str:
        """How the model runs, as column ``run.execution`` has it."""
        return "streamed" if self.is_streamed else "loaded"

    @cached_property
    def decoder(self) -> Decoder:
        """The model that runs; its parameters stay in the files when it is streamed."""
        settings = self.settings
        available = memory.available(settings.device)
        placed = self.skeleton
        if not self.is_streamed:
            placed = load_model(self.checkpoint, dtype=settings.dtype, device=settings.device)
        name = self.checkpoint.revision_name
        at = "" if name is None else f" at {name}"
        settings.say(
            f"{self.checkpoint.model_id}{at}: {self._how}; "
            f"{memory.as_text(n_bytes(self.skeleton, settings.dtype))} of weights in "
            f"{settings.dtype}, {memory.as_text(available)} available"
        )
        if settings.dtype == "bfloat16" and self.is_run:
            settings.say(
                f"{self.checkpoint.model_id}: logits are rounded to bfloat16, which moves the "
                "entropy of a next token by about .02 nat; with --dtype float32 it is not"
            )
        return placed

    @property
    def _how(self) -> str:
        if not self.is_run:
            return "examined block by block"
        return "streamed, block by block" if self.is_streamed else "loaded"

    @property
    def run_pass(self) -> Pass:
        """The function that runs batches through the model's body."""
        if not self.is_streamed:
            return partial(whole, self.decoder)
        device = self.settings.main_device
        return partial(streamed, self.decoder, shards=self._shards, device=device)

    @property
    def unused(self) -> dict[str, int] | None:
        """The stored tensors that no parameter is made of: how many, by name without numbers."""
        return unused_tensors.count_kinds(self._shards.unused)

    @cached_property
    def uniform(self) -> dict[str, float]:
        """The stored matrices that hold one number throughout, and that number."""
        return unused_tensors.uniform(self.checkpoint)

    def weight_rows(self, on_layer: Callable[[], object]) -> dict[str, list[NamedTuple]]:
        """Return the norms of the weights; see `spectra.rows`."""
        placed = replace(self.checkpoint, adapter=self.bare.adapter)
        return spectra.rows(placed, on_layer=on_layer)

    @cached_property
    def _shards(self) -> Shards:
        return Shards(self.checkpoint, blueprint.model_blueprint(self.bare.model))

    @cached_property
    def findings(self) -> list[conformance.Finding]:
        """What the examination of the model found."""
        if self.unused:
            self.settings.say(
                f"{self.checkpoint.model_id}: {_unused_text(self.unused)} nowhere, "
                f"for example {min(self.unused)}; tables conformance and "
                "not_measured name them"
            )
        if self.uniform:
            name, number = min(self.uniform.items())
            self.settings.say(
                f"{self.checkpoint.model_id}: {_uniform_text(self.uniform)} "
                f"throughout, for example {name} ({number:g}); table not_measured names them"
            )
        conformance.refuse_misread(contradictions(self.bare.model, self.checkpoint.gguf))
        examined = self._examined()
        findings = [
            *examined,
            conformance.tensors_used(self.unused),
            conformance.library_code(self.own_code),
        ]
        with self._unless_allowed():
            conformance.refuse(findings, self.settings.dtype)
        return findings

    def _examined(self) -> list[conformance.Finding]:
        """Examine the model; one that cannot be streamed and need not be is loaded instead."""
        try:
            return conformance.examine(self.decoder, self.run_pass)
        except NotReplayableError:
            if self.settings.stream or not self.is_run or is_too_large(self.bare, self.settings):
                raise
        self.release()
        self.is_streamed = False
        return conformance.examine(self.decoder, self.run_pass)

    @contextmanager
    def _unless_allowed(self) -> Iterator[None]:
        """Let the model fail a check only if it was allowed by name, and say so."""
        model_id = self.checkpoint.model_id
        try:
            yield
        except ConformanceError as error:
            if not {self.name, model_id} & {*self.settings.allow_nonconforming}:
                raise ConformanceError(
                    f"{model_id}: {error.problem}",
                    f"{error.hint} To measure it all the same, marked as nonconforming for ever, "
                    f"add --allow-nonconforming {self.name}.".strip(),
                ) from error
            self.settings.say(
                f"{model_id}: measured although it does not conform, and marked so in the data; "
                f"{error.problem}"
            )

    @property
    def contradictions(self) -> dict[str, str]:
        """None: the model is made by its configuration."""
        return {}

    @property
    def own_code(self) -> dict[str, str]:
        """The code of the repository that stands for classes of transformers, and is not run."""
        return self.checkpoint.own_code

    @property
    def is_conforming(self) -> bool:
        """Whether the model met every property that could be checked."""
        return all(finding.is_met is not False for finding in self.findings)


class Present(Subject):
    """What is measured: a model that is in memory, its tokenizer, the settings.

    Nothing is loaded, and nothing is left in the model that would disturb its training.

    Parameters
    ----------
    checkpoint
        What is known of the model; it has no files.
    decoder
        The model, lent by `in_memory.lent`.
    tokenizer
        None when there are no prompts, or token ids alone.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        decoder: Decoder,
        tokenizer: Any,
        settings: Settings,
        sets: Sequence[PromptSet],
    ) -> None:
        super().__init__(checkpoint.model_id, checkpoint, settings, sets)
        self.bare, self.tokenizer = decoder, tokenizer

    @property
    def skeleton(self) -> Decoder:
        """The model as it was lent: what it ties is tied in memory."""
        return self.bare

    @property
    def is_streamed(self) -> bool:
        """Never: the model is there."""
        return False

    @property
    def decoder(self) -> Decoder:
        """The model as it was lent."""
        return self.bare

    @property
    def run_pass(self) -> Pass:
        """The function that runs batches through the model's body."""
        return partial(whole, self.decoder, without_gradients=torch.no_grad)

    @property
    def unused(self) -> None:
        """There are no files that could hold a tensor too many."""
        return None

    @property
    def own_code(self) -> dict[str, str]:
        """None: the model is what runs, whatever its configuration names."""
        return {}

    @cached_property
    def contradictions(self) -> dict[str, str]:
        """Where the modules compute by something else than the configuration says."""
        return configured.contradictions(self.decoder.model)

    @property
    def uniform(self) -> dict[str, float]:
        """The matrices that hold one number throughout, and that number."""
        return unused_tensors.uniform_of(self.decoder.model.named_parameters())

    def weight_rows(self, on_layer: Callable[[], object]) -> dict[str, list[NamedTuple]]:
        """Return the norms of the weights; see `spectra.rows_of_model`."""
        return spectra.rows_of_model(self.decoder, on_layer=on_layer)


def _unused_text(unused: Mapping[str, int]) -> str:
    n = sum(unused.values())
    return f"{counted(n, 'tensor')} of the files {'is' if n == 1 else 'are'} used"


def _uniform_text(uniform: Mapping[str, float]) -> str:
    n = len(uniform)
    return f"{counted(n, 'matrix', 'matrices')} {'holds' if n == 1 else 'hold'} one number"


def n_bytes(skeleton: Decoder, dtype: str) -> int:
    """Return the size of all parameters in a number format [bytes]."""
    n_parameters = sum(int(parameter.numel()) for parameter in skeleton.model.parameters())
    return n_parameters * DTYPES[dtype].itemsize


def runs_streamed(
    skeleton: Decoder, settings: Settings, available_bytes: int | None = None
) -> bool:
    """Return whether a model runs block by block: too large, or streamed all the same."""
    is_preferred = prefers_streaming(skeleton, settings)
    return is_preferred or is_too_large(skeleton, settings, available_bytes)


def prefers_streaming(skeleton: Decoder, settings: Settings) -> bool:
    """Return whether a model is streamed though it would fit: on request, or for its size.

    One of `LARGE_BYTES` is where the stream alone is asked for on a processor: the numbers are the
    same bits, in a fraction of the memory.
    """
    asked = quantities.of_prompts(settings.quantities)
    is_cheaper = settings.device == "cpu" and asked == ("stream",)
    return settings.stream or (is_cheaper and n_bytes(skeleton, settings.dtype) >= LARGE_BYTES)


def is_too_large(skeleton: Decoder, settings: Settings, available_bytes: int | None = None) -> bool:
    """Return whether the weights exceed half of the memory that the device has to give.

    Devices that are chosen automatically share a model out among themselves. Of another machine
    than this one its memory is given; its accelerators are not known.
    """
    if settings.device == "auto":
        return False
    if available_bytes is None or settings.device != "cpu":
        available_bytes = memory.available(settings.device)
    return n_bytes(skeleton, settings.dtype) > available_bytes / 2
