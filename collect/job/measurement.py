"""One unit measured, as rows of every table it fills, and written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pandas as pd
from torch import Tensor

from collect import schema
from collect.adapters.configuration import rotation_limits
from collect.instruments import quantities, rows
from collect.instruments.hooks import Recorder
from collect.instruments.own.recording import OwnRecorder, Together
from collect.job import not_measured
from collect.job.subject import Subject
from collect.job.task import Task
from collect.measures.register import BUILT_IN
from collect.model.checkpoint import memory
from collect.model.conformance.refusal import check_attention, check_finite
from collect.model.description import model_row
from collect.model.description import rows as rows_of_gaps
from collect.model.forward.passes import buckets
from collect.record import provenance

#: Rows by table, and what table ``own_vector`` points into, by name of the tensor.
Measured: TypeAlias = tuple[dict[str, pd.DataFrame], dict[str, Tensor]]


def measure(task: Task, subject: Subject, *, is_first: bool = True) -> Measured:
    """Return the rows of every table that a unit fills.

    Parameters
    ----------
    task
        The unit, with its prompts when it has any.
    subject
        The checkpoint; it is examined before anything is measured.
    is_first
        False when an earlier unit of the same run keeps the examination of the model, and what
        is said of the model itself.
    """
    started_at, start = datetime.now(UTC).replace(tzinfo=None), time.perf_counter()
    try:
        findings = pd.DataFrame([asdict(finding) for finding in subject.findings])
        run_row = _run_row(task, subject)
        is_run = task.prompt_set is not None
        if is_run:
            measured, tensors = _measure_prompts(task, subject)
        else:
            title = f"{subject.checkpoint.model_id}, weights"
            with subject.settings.bar(len(subject.skeleton.blocks), title, "layer") as bar:
                rows_of = subject.weight_rows(bar.update)
            measured, tensors = {name: pd.DataFrame(of) for name, of in rows_of.items()}, {}
    except (RuntimeError, MemoryError) as error:
        memory.refuse_exhausted(error, task.unit.title)
        raise
    for table, frame in measured.items():
        check_finite(table, frame)
    if "attention" in measured and subject.is_conforming:
        has_sinks = subject.skeleton.adapter.has_sinks
        check_attention(measured["attention"], subject.settings.dtype, has_sinks=has_sinks)
    gaps = not_measured.lacking(
        task,
        subject.skeleton,
        subject.settings.quantities,
        measured,
        unused=subject.unused,
        uniform=subject.uniform,
        contradictions=subject.contradictions,
        is_first=is_first,
    )
    frames = {**measured, "not_measured": rows_of_gaps(gaps)}
    if is_first:
        frames["conformance"] = findings
    model = model_row(subject.checkpoint, subject.skeleton)
    times = {"started_at": started_at, "duration_s": time.perf_counter() - start}
    return unit_rows(task, model, frames, run_row | times), tensors


def unit_rows(
    task: Task, model: pd.DataFrame, frames: Mapping[str, pd.DataFrame], run: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    """Return the rows of every table of a unit.

    Parameters
    ----------
    task
        The unit, with its prompts when it has any.
    model
        The row of table ``model``.
    frames
        What was measured, without ``run_id`` and ``model_id``.
    run
        What the row of table ``run`` holds besides what determines the numbers.
    """
    unit, prompt_set = task.unit, task.prompt_set
    known = {"run_id": unit.run_id, "model_id": unit.determinants["model_id"]}
    columns = {column.name for column in schema.tables()["run"].columns}
    determinants = {k: v for k, v in unit.determinants.items() if k in columns}
    row = {"run_id": unit.run_id, **determinants, **provenance.versions(), **run}
    if prompt_set is not None:
        row["adds_special_tokens"] = any(any(prompt.is_special) for prompt in task.encoded)
    return {
        "model": model,
        **({} if prompt_set is None else {"prompt": prompt_set.prompts}),
        **{table: frame.assign(**known) for table, frame in frames.items()},
        "run": pd.DataFrame([row]),
    }


def _measure_prompts(task: Task, subject: Subject) -> Measured:
    settings = subject.settings
    limits = rotation_limits(subject.skeleton.config, max(map(len, task.encoded), default=0))
    batches = tuple(buckets(task.encoded, settings.batch_size, limits))
    asked = task.unit.quantities
    own_quantities = quantities.own_among(asked)
    recorder = Recorder(batches, [name for name in asked if name in BUILT_IN])
    own_recorder = OwnRecorder(batches, own_quantities)
    parts: list[dict[str, pd.DataFrame]] = []
    with settings.bar(len(task.encoded), task.unit.title, "prompt") as bar:
        for index in subject.run_pass(batches, Together([recorder, own_recorder])):
            seen, own_rows = recorder.observation(index), own_recorder.rows(index)
            parts.append(rows.frames(batches[index], seen) | {"own_value": own_rows})
            bar.update(len(batches[index]))
    of_all = rows.across_prompts(recorder, subject.tokenizer)
    vectors, tensors = own_recorder.vectors()
    of_table = {
        **rows.joined(parts),
        **of_all,
        "own_quantity": pd.DataFrame([quantity.row for quantity in own_quantities]),
        "own_vector": vectors,
    }
    return {table: frame for table, frame in of_table.items() if len(frame)}, tensors


def _run_row(task: Task, subject: Subject) -> dict[str, Any]:
    """Return what table ``run`` says of how a unit was measured, without the times."""
    row = {**subject.checkpoint.of_run, "is_conforming": subject.is_conforming}
    if task.prompt_set is None:
        return row | {"execution": "shards"}
    return row | {"execution": subject.execution, "batch_size": subject.settings.batch_size}
