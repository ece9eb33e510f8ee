"""States of another engine as a unit of measurement: the same measures, rows and marks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from collect.errors import InputError
from collect.instruments import rows
from collect.instruments.imported import OF_STATES, ImportedStates, entry_place
from collect.instruments.quantities import DEFAULT, TABLES
from collect.job import not_measured
from collect.job.measurement import unit_rows
from collect.job.settings import Settings
from collect.job.states.declared import Declared, places
from collect.job.states.files import Head, states
from collect.job.subject import Present
from collect.job.task import Task, tasks
from collect.model.checkpoint.checkpoint import Checkpoint, hash_of
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_skeleton, tokenizer_for
from collect.model.checkpoint.location import locate
from collect.model.conformance.refusal import PROPERTIES, TOLERANCES, Finding
from collect.model.description import Missing, model_row
from collect.model.description import rows as rows_of_gaps
from collect.process.interruption import interruptible
from collect.prompts.entry import Entry
from collect.prompts.fitting import TooLongError
from collect.prompts.sets import PromptSet, load, prompt_set
from collect.record.atomic import locks
from collect.record.commit import check_writable, commit, remove_leftovers
from collect.record.inventory import Inventory
from collect.record.units import UNSEEN, Unit, run_file
from collect.schema.marks import file_sha256

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Source:
    """Files of states and the model that they are of.

    Attributes
    ----------
    how, heads
        What is declared of the files, and what they say, in the order of the prompts.
    checkpoint, skeleton, tokenizer
        The model, without weights; its tokenizer, None where there is none.
    prompts
        What was read, a prompt for each file.
    """

    how: Declared
    heads: tuple[Head, ...]
    checkpoint: Checkpoint
    skeleton: Decoder
    tokenizer: Any
    prompts: PromptSet

    def placed(self, head: Head) -> dict[tuple[int, str], Tensor]:
        """Return the states of one file, (n_tokens, d), by place in the model."""
        n_layers = len(self.skeleton.blocks)
        named = places(self.how, head.n_entries, n_layers, str(head.path))
        return dict(zip(named, states(head), strict=True))

    @cached_property
    def task(self) -> Task:
        """What is to be measured, as a task of the job."""
        named = replace(
            self.checkpoint,
            model_id=f"{self.checkpoint.model_id}/{self.how.engine}",
            revision=None,
            revision_name=None,
            dtype_weights=UNSEEN,
        )
        settings = Settings(quantities=OF_STATES, quiet=True)
        subject = Present(named, self.skeleton, self.tokenizer, settings, [self.prompts])
        try:
            (task,) = tasks(subject, UNSEEN)
        except TooLongError as error:
            hint = "States are of whole prompts: give --prompts that fit, and their states."
            raise InputError(error.problem, hint) from error
        for head, prompt in zip(self.heads, task.encoded, strict=True):
            if head.token_ids not in (None, prompt.token_ids) or head.n_tokens != len(prompt):
                raise InputError(
                    f"The states must be of the prompt's tokens; {head.path} has {head.n_tokens} "
                    f"tokens, and {prompt.prompt_id} is read as {len(prompt)}, or as others.",
                    "Name the files in the order of the prompts, tokenised as the model does.",
                )
        hashes = ((head.path.name, file_sha256(head.path)) for head in self.heads)
        unseen = {
            "dtype_compute": "+".join(sorted({head.number_format for head in self.heads})),
            "device": UNSEEN,
            "attention_implementation": UNSEEN,
            "states_engine": self.how.engine,
            "states_sha256": hash_of(hashes),
        }
        unit = replace(task.unit, determinants={**task.unit.determinants, **unseen})
        return replace(task, unit=unit)


@interruptible()
def opened(heads: Sequence[Head], how: Declared, model: str, *, prompts: str | None) -> Source:
    """Return files of states with their model and prompts.

    Parameters
    ----------
    heads, how
        What the files say, and what is declared of them.
    model
        Directory with config.json, the file itself, a GGUF file or a hub identifier; no weight
        is read.
    prompts
        Prompt set whose prompts the files are of, in its order; None to take the token ids that
        the files hold.
    """
    checkpoint = locate(model, needs_weights=False)
    skeleton = load_skeleton(checkpoint)
    width = int(skeleton.config.hidden_size)
    for head in heads:
        if head.d_model != width:
            raise InputError(
                f"States must be as wide as the model, {width}; {head.path} has {head.d_model}.",
                "Name the model that wrote them with --model.",
            )
        places(how, head.n_entries, len(skeleton.blocks), str(head.path))
        n_context = skeleton.adapter.n_context(skeleton.model.config)
        if n_context is not None and head.n_tokens > n_context:
            raise InputError(
                f"A prompt must fit the model's context of {n_context} tokens; {head.path} has "
                f"states of {head.n_tokens}.",
                "Name the model that wrote them, or write states of a shorter prompt.",
            )
    read = _token_prompts(heads) if prompts is None else load(prompts)
    if len(read.prompts) != len(heads):
        raise InputError(
            f"There must be a file for each of {len(read.prompts)} prompts of {read.name}; "
            f"{len(heads)} are given.",
            "Name the files in the order of the prompts.",
        )
    tokenizer = tokenizer_for(checkpoint, [read])
    return Source(how, tuple(heads), checkpoint, skeleton, tokenizer, read)


def _token_prompts(heads: Sequence[Head]) -> PromptSet:
    without = [head.path for head in heads if not head.has_token_ids]
    if without:
        raise InputError(
            f"It must be known which tokens were read; {without[0]} holds no token ids.",
            "Put them beside the states as token_ids, or name the prompts with --prompts.",
        )
    entries = [
        Entry(str([*(head.token_ids or ())]), format="tokens", name=head.path.stem)
        for head in heads
    ]
    return prompt_set("states", entries)


def measured(task: Task, source: Source) -> dict[str, pd.DataFrame]:
    """Return the rows of every table that states fill."""
    started_at, start = datetime.now(UTC).replace(tzinfo=None), time.perf_counter()
    reader = ImportedStates()
    parts: list[dict[str, pd.DataFrame]] = []
    seen: set[tuple[int, str]] = set()
    for head, prompt in zip(source.heads, task.encoded, strict=True):
        placed = source.placed(head)
        seen |= {*placed}
        parts.append(rows.frames((prompt,), reader.observe((prompt,), placed)))
    frames = rows.joined(parts) | rows.across_prompts(reader, source.tokenizer)
    known = not_measured.lacking(task, source.skeleton, OF_STATES, frames)
    reason = f"The states that {source.how.engine} wrote hold nothing of it."
    absent = [table for name in DEFAULT for table in TABLES[name] if table not in frames]
    gaps = [Missing(table, "every row", reason) for table in absent]
    layers = [*range(len(source.skeleton.blocks))]
    if "residual_update" in frames:
        gaps += [
            Missing("residual_update", f"part {part}", reason)
            for part in (source.skeleton.adapter.mixing, "ffn")
        ]
        blocks = [
            layer
            for layer in layers
            if not {(layer, "block_output"), entry_place((layer, "block_output"))} <= seen
        ]
        gaps += _layer_gap("residual_update", "part block", blocks, reason)
    first, last = layers[:1], layers[-1:]
    for site, expected in {
        "embedding": first,
        "block_input": first,
        "block_mid": layers,
        "block_output": layers,
        "final_norm": last,
    }.items():
        lacking = [layer for layer in expected if (layer, site) not in seen]
        gaps += _layer_gap("residual_norm", f"site {site}", lacking, reason, len(expected))
    unique = {(gap.table, gap.quantity): gap for gap in [*gaps, *known]}
    frames |= {
        "not_measured": rows_of_gaps([*unique.values()]),
        "conformance": _conformance(source),
    }
    model = model_row(source.checkpoint, source.skeleton)
    model = model.assign(model_id=task.unit.determinants["model_id"])
    run = {"execution": "imported", "is_conforming": True, "started_at": started_at}
    return unit_rows(task, model, frames, {**run, "duration_s": time.perf_counter() - start})


def _conformance(source: Source) -> pd.DataFrame:
    """Return that nothing could be checked but that every number is finite."""
    reason = f"{source.how.engine} ran the model; its states alone are here."
    return pd.DataFrame(
        [
            asdict(Finding(name, None, 0.0, 0.0, True, None))
            if name == "finite"
            else asdict(
                Finding(
                    name, None, None, TOLERANCES.get(name, {}).get("float32", 0.0), None, reason
                )
            )
            for name in PROPERTIES
        ]
    )


def _layer_gap(
    table: str, what: str, layers: Sequence[int], reason: str, n: int | None = None
) -> list[Missing]:
    """Return one gap for all layers, or for those that lack something."""
    if not layers:
        return []
    of_layers = "" if len(layers) == n else f" of layers {', '.join(map(str, layers))}"
    return [Missing(table, what + of_layers, reason)]


@interruptible()
def import_states(source: Source, out: Path, *, overwrite: bool = False) -> tuple[str, int]:
    """Measure states and write the unit; return its name, and its rows, 0 if it was there."""
    check_writable(out)
    remove_leftovers(out)
    inventory, task = Inventory(out), source.task
    with locks.held(out, task.unit.variant, wait=True):
        (unit,), refusal = inventory.compared([task.unit], overwrites=overwrite)
        if refusal is not None:
            raise refusal
        if not isinstance(unit, Unit):
            return task.unit.stem, 0
        gone = {run_file(out, unit), *unit.replaces}
        frames = measured(replace(task, unit=unit), source)
        return unit.stem, commit(unit, frames, inventory, gone=gone)
