"""The loop: measure each unit, write it, resume where an earlier run stopped."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from collect import provenance, rows, schema
from collect.checkpoint import Checkpoint, Labels, locate
from collect.conformance import check_attention, check_finite
from collect.errors import InputError
from collect.hooks import observe
from collect.load import (
    ATTENTION_IMPLEMENTATION,
    Decoder,
    load_model,
    load_tokenizer,
    model_row,
)
from collect.prompts import PromptSet
from collect.prompts import load as load_prompts
from collect.settings import Settings
from collect.tokens import Encoded, buckets, check_fits, encode
from collect.units import (
    Mark,
    Unit,
    check_writable,
    is_complete,
    refuse_mixtures,
    remove_leftovers,
    run_file,
    unmark,
)
from collect.writer import write_table

#: Entries of config.json that do not change what the model computes.
_IMMATERIAL = (
    "_name_or_path",
    "architectures",
    "dtype",
    "torch_dtype",
    "transformers_version",
)


@dataclass(frozen=True, slots=True)
class Task:
    """One unit to measure, with its prompts when it has any."""

    unit: Unit
    prompt_set: PromptSet | None = None
    encoded: tuple[Encoded, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a loaded model, its tokenizer and its row of table ``model``."""

    decoder: Decoder
    tokenizer: Any
    row: pd.DataFrame

    def check_fits(self, prompts: Sequence[Encoded]) -> None:
        """Check that the model can read the prompts; see ``tokens.check_fits``."""
        check_fits(prompts, self.row["n_context"].item(), self.row["n_vocabulary"].item())


def run(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    batch_size: int = 8,
    revision: str | None = None,
    lab: str | None = None,
    suite: str | None = None,
    year: int | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: bool = False,
) -> None:
    """Measure every model, and every model on every prompt set, into Parquet files.

    The weights of a model fill tables ``model``, ``weight_norm`` and ``matrix_norm``; a
    model on a prompt set fills ``prompt``, ``residual_norm``, ``attention`` and
    ``next_token``. Each unit ends with its row in ``run``. A unit that the output already
    holds, measured in the same way, is skipped, so a run that was killed is resumed by
    starting it again.

    Parameters
    ----------
    models
        Checkpoint directories or hub identifiers.
    prompt_sets
        Names of shipped sets, or paths of text files.
    out
        Directory for ``<table>/<unit>.parquet``.
    dtype, device, batch_size
        Number format and device of the forward pass; prompts per forward pass at most.
    revision
        Branch, tag or commit; for hub identifiers only.
    lab, suite, year
        Labels of the models; they win over what the checkpoints say.
    overwrite
        Measure again what the output already holds.
    quiet, progress
        Say nothing; show progress bars even when standard error is no terminal.

    Raises
    ------
    CollectError
        If anything given is wrong, unreachable or not writable, or a model does not
        conform. Units finished before remain; nothing half-written does.
    """
    settings = Settings(dtype, device, batch_size, overwrite, quiet, progress)
    check_writable(out)
    sets = [load_prompts(name) for name in prompt_sets]
    labels = Labels(lab, suite, year)
    checkpoints = [locate(model, revision=revision, labels=labels) for model in models]
    _refuse_repeats([checkpoint.model_id for checkpoint in checkpoints], "model")
    _refuse_repeats([prompt_set.name for prompt_set in sets], "prompt set")
    remove_leftovers(out)
    for checkpoint in checkpoints:
        _run_checkpoint(checkpoint, sets, out, settings)


def _refuse_repeats(names: Sequence[str], kind: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"Every {kind} must be named once; {', '.join(repeated)} comes up more than once.",
            "Local checkpoints are named local/<directory>; a model_id in thermoscope.json "
            "beside the weights gives another name."
            if kind == "model"
            else "Leave the repetition out.",
        )


def _run_checkpoint(
    checkpoint: Checkpoint, sets: Sequence[PromptSet], out: Path, settings: Settings
) -> None:
    tokenizer = load_tokenizer(checkpoint) if sets else None
    tasks = _tasks(checkpoint, sets, tokenizer, settings)
    pending = []
    for task in tasks:
        if settings.overwrite or not is_complete(task.unit, out):
            pending.append(task)
        else:
            settings.say(f"{task.unit.title}: already complete, skipped")
    refuse_mixtures([task.unit for task in pending], out)
    if not pending:
        return
    decoder = load_model(checkpoint, dtype=settings.dtype, device=settings.device)
    subject = Subject(decoder, tokenizer, model_row(checkpoint, decoder))
    for task in pending:
        subject.check_fits(task.encoded)
    for task in pending:
        try:
            _measure(task, subject, out, settings)
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"A batch must fit the device's memory; {task.unit.title} did not.",
                "Use a smaller --batch-size, --dtype bfloat16 or another --device.",
            ) from error


def _tasks(
    checkpoint: Checkpoint, sets: Sequence[PromptSet], tokenizer: Any, settings: Settings
) -> list[Task]:
    """Return the units of a checkpoint: its weights, then each prompt set."""
    shared = _determinants(checkpoint, settings)
    labels = asdict(checkpoint.labels)
    alone = {"kind": "weights", "prompt_set": None}
    tasks = [Task(Unit({**shared, **alone}, labels))]
    for prompt_set in sets:
        encoded = encode(prompt_set.prompts, tokenizer)
        of_prompts = {
            "kind": "prompts",
            "prompt_set": prompt_set.name,
            "prompt_set_sha256": prompt_set.sha256,
            "tokens_sha256": _sha256([asdict(prompt) for prompt in encoded]),
        }
        tasks.append(Task(Unit({**shared, **of_prompts}, labels), prompt_set, tuple(encoded)))
    return tasks


def _determinants(checkpoint: Checkpoint, settings: Settings) -> dict[str, Any]:
    """Return what determines the numbers of every unit of a checkpoint."""
    config = {k: v for k, v in checkpoint.config.items() if k not in _IMMATERIAL}
    versions = provenance.versions()
    return {
        "model_id": checkpoint.model_id,
        "revision": checkpoint.revision,
        "weights_sha256": checkpoint.weights_sha256(),
        "config_sha256": _sha256(config),
        "adapter": checkpoint.adapter.model_type,
        "dtype_weights": checkpoint.dtype_weights,
        "dtype_compute": settings.dtype,
        "device": provenance.device_name(settings.device),
        "attention_implementation": ATTENTION_IMPLEMENTATION,
        "schema_version": schema.SCHEMA_VERSION,
        "torch_version": versions["torch_version"],
        "transformers_version": versions["transformers_version"],
    }


def _sha256(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _measure(task: Task, subject: Subject, out: Path, settings: Settings) -> None:
    """Measure one unit and write it, its mark last."""
    started_at, start = datetime.now(UTC).replace(tzinfo=None), time.perf_counter()
    if task.prompt_set is None:
        frames = {"model": subject.row, **_of_weights(task, subject, settings)}
    else:
        frames = {"prompt": task.prompt_set.prompts, **_of_prompts(task, subject, settings)}
    duration_s = time.perf_counter() - start
    run_row = _run_row(task, settings) | {"started_at": started_at, "duration_s": duration_s}
    n_rows = _write(task.unit, frames, pd.DataFrame([run_row]), out)
    settings.say(f"{task.unit.title}: {n_rows} rows in {duration_s:.1f} s")


def _of_weights(task: Task, subject: Subject, settings: Settings) -> dict[str, pd.DataFrame]:
    layers = range(len(subject.decoder.blocks))
    heads, matrices = [], []
    with settings.bar(len(layers), task.unit.title, "layer") as bar:
        for layer in layers:
            heads.append(rows.weight_norms(subject.decoder, layer))
            matrices.append(rows.matrix_norms(subject.decoder, layer))
            bar.update()
    return _checked(task.unit, {"weight_norm": heads, "matrix_norm": matrices})


def _of_prompts(task: Task, subject: Subject, settings: Settings) -> dict[str, pd.DataFrame]:
    norms, maps, tokens = [], [], []
    with settings.bar(len(task.encoded), task.unit.title, "prompt") as bar:
        for batch in buckets(task.encoded, settings.batch_size):
            observation = observe(subject.decoder, batch)
            norms.append(rows.residual_norms(batch, observation))
            attention = rows.attention(batch, observation)
            check_attention(attention, settings.dtype)
            maps.append(attention.drop(columns="row_error"))
            tokens.append(rows.next_tokens(batch, observation, subject.tokenizer))
            bar.update(len(batch))
    return _checked(task.unit, {"residual_norm": norms, "attention": maps, "next_token": tokens})


def _checked(unit: Unit, parts: dict[str, list[pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return the parts of each table joined, labelled with their unit and found finite."""
    frames = {}
    for table, of_table in parts.items():
        frame = pd.concat(of_table, ignore_index=True)
        check_finite(table, frame)
        frames[table] = frame.assign(run_id=unit.run_id, model_id=unit.determinants["model_id"])
    return frames


def _run_row(task: Task, settings: Settings) -> dict[str, Any]:
    columns = {column.name for column in schema.tables()["run"].columns}
    known = {k: v for k, v in task.unit.determinants.items() if k in columns}
    row = {"run_id": task.unit.run_id, **known, **provenance.versions()}
    if task.prompt_set is not None:
        row["adds_special_tokens"] = any(any(prompt.is_special) for prompt in task.encoded)
        row["batch_size"] = settings.batch_size
    return row


def _write(unit: Unit, frames: dict[str, pd.DataFrame], run_row: pd.DataFrame, out: Path) -> int:
    """Write the tables of a unit; its mark is taken off first and set again last."""
    unmark(out, unit)
    n_rows = {}
    for table, frame in frames.items():
        stem = unit.determinants["prompt_set"] if table == "prompt" else unit.stem
        name = f"{table}/{stem}.parquet"
        n_rows[name] = write_table(table, frame, out / name)
    mark = Mark(dict(unit.determinants), dict(unit.labels), n_rows)
    write_table("run", run_row, run_file(out, unit), metadata=mark.metadata)
    return sum(n_rows.values())
