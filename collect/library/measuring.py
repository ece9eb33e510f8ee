"""Models measured from a program: an object, a step of a training, or what a command does."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
from torch import Tensor

from collect.errors import InputError
from collect.instruments.quantities import Named
from collect.job import run as job
from collect.job.measurement import measure as measured
from collect.job.outcome import Done, Outcome
from collect.job.settings import check_engine
from collect.job.subject import Present
from collect.job.task import Task, pending
from collect.library.preparation import State, prepare
from collect.process.interruption import interruptible
from collect.prompts.sets import PromptSet, given
from collect.record.commit import check_writable, remove_leftovers
from collect.record.inventory import Inventory
from collect.record.writer import conforming
from collect.schema.counting import require_count
from collect.schema.paths import local_path, several

#: Name of a model that was never saved.
IN_MEMORY = "in-memory"

#: Prompts as a program has them: the name or the path of a set, a set, a frame, or records; see
#: `collect.prompts.entry`.
Prompts: TypeAlias = "str | Path | PromptSet | pd.DataFrame | Mapping[str, Any] | Iterable[Any]"

_OF_MODELS = "Give checkpoint directories or hub identifiers; measure takes a model object."
_OF_PROMPTS = "Give names of shipped sets or files of prompts, or [] to measure the weights alone."
_OF_TRAINING = "Give a count, such as that of the optimiser's steps."
_OTHER_STEP = (
    "If this is another training, or its weights are the same and something else is not, give "
    "another model_id, revision or out; a step that was measured before hooks left the identity "
    "has another hash: overwrite=True measures it again."
)


@interruptible()
def measure(
    model: Any,
    tokenizer: Any,
    prompts: Prompts = (),
    *,
    quantities: Named = (),
    model_id: str = IN_MEMORY,
    revision: str | None = None,
    prompt_set: str = "prompts",
    chat_template: bool = False,
    special_tokens: str = "default",
    too_long: str = "refuse",
    batch_size: int = 8,
    allow_nonconforming: bool = False,
) -> dict[str, pd.DataFrame]:
    """Measure a model object as it is: with adapters applied, half trained, edited.

    The numbers are those of ``thermoscope collect run`` on the checkpoint that the model would be
    saved as, bit for bit on one machine; where a module computes by something else than the
    configuration says, ``not_measured`` names it. The model is examined first, as any other, and
    given back as it was: mode, attention code and weights; no random number is drawn. Meanwhile no
    other thread may run or train it.

    A model is identified by the hash of its parameters and saved buffers, and by ``revision``.
    Hooks, replaced forward passes and modules of one's own are not part of the identity, which a
    warning says.

    Parameters
    ----------
    model
        Causal model of transformers of a type that has an adapter, on its device, in float32,
        bfloat16 or float16; a wrapper of torch or peft around it is looked through.
    tokenizer
        Its tokenizer, or a processor that holds it; None when there are no prompts, or token ids
        alone: tokens are then not decoded, and none is marked as special, as ``not_measured``
        says.
    prompts
        The name of a shipped set, the path of a file or data set, or prompts as
        `collect.prompts.entry` takes them, also as a frame. None at all: the weights are measured
        alone.
    quantities
        What to measure: names, or quantities of your own themselves, one or several; without
        any, as on the command line.
    model_id, prompt_set
        Names that the rows bear; ``prompt_set`` counts where prompts have no name of their own.
    revision
        Name that tells apart models of the same weights, for example by what hooks add.
    chat_template, special_tokens, too_long, batch_size
        As on the command line.
    allow_nonconforming
        True to measure a model that fails a check, for example one whose blocks were edited by
        hooks; ``run.is_conforming`` is then false.

    Returns
    -------
    Frames by table of ``collect/schema.sql``, with exactly its columns and in the order of its
    key, tables without rows left out. Only ``own_vector`` has, in the place of the file, column
    ``vector`` with the vectors themselves, as arrays in float32.

    Raises
    ------
    CollectError
        If anything given is wrong, or the model does not conform.

    Examples
    --------
    >>> frames = collect.measure(model, tokenizer, ["The sky is"])  # doctest: +SKIP
    >>> frames["residual_norm"].groupby("layer")["norm"].mean()  # doctest: +SKIP
    """
    how = {
        "quantities": quantities,
        "rendering": "chat" if chat_template else "plain",
        "special_tokens": special_tokens,
        "too_long": too_long,
        "batch_size": batch_size,
        "allow_nonconforming": (model_id,) if allow_nonconforming else (),
    }
    parts: dict[str, list[pd.DataFrame]] = {}
    state = State(model_id, revision)
    with prepare(model, tokenizer, _sets(prompts, prompt_set), state, how) as (subject, units):
        for task in units:
            for table, frame in _rows_of(task, subject).items():
                parts.setdefault(table, []).append(frame)
    return {table: _join(table, frames) for table, frames in parts.items() if any(map(len, frames))}


@interruptible()
def measure_step(
    model: Any,
    tokenizer: Any,
    prompts: Prompts,
    out: str | Path,
    *,
    step: int,
    model_id: str,
    revision: str | None = None,
    tokens: int | None = None,
    quantities: Named = ("stream",),
    prompt_set: str = "prompts",
    allow_nonconforming: bool = False,
    **how: Any,
) -> list[Done]:
    """Measure a model in the middle of its training into a store, as its revision ``step<n>``.

    For any loop; transformers' own has `collect.MeasurementCallback`. What the store holds
    already is skipped, so a training that was resumed goes on in the same store. View
    ``gain_trajectory`` has a row per step.

    Parameters
    ----------
    model, tokenizer, prompts, quantities, prompt_set, allow_nonconforming
        As for `measure`.
    out
        The store: directory for ``<table>/<unit>.parquet``.
    step
        Optimiser steps taken so far, a whole number of 0 or more [1].
    model_id
        Name of the model, the same at every step.
    revision
        Name that tells apart models of the same weights, as for `measure`; the revision in the
        store is then ``step<n>-<revision>``.
    tokens
        Tokens trained on so far, where known.
    **how
        Other attributes of `collect.job.settings.Settings`; number format and device are those of
        the model.

    Returns
    -------
    The units that are there now. A step whose weights are those of an earlier one is not among
    them, which a warning says: the store keeps one unit for the same weights.

    Raises
    ------
    CollectError
        As `measure`; and if the store cannot be written, or holds this step of other weights.

    Examples
    --------
    >>> import thermoscope as ts
    >>> for step, batch in enumerate(batches):  # doctest: +SKIP
    ...     train(model, batch)
    ...     if step % 100 == 0:
    ...         ts.measure_step(model, tokenizer, prompts, "runs", step=step, model_id="local/mine")
    """
    out = as_output(out)
    step = require_count("The step of a training", step, least=0, hint=_OF_TRAINING)
    if tokens is not None:
        tokens = require_count("The tokens trained on", tokens, least=0, hint=_OF_TRAINING)
    check_writable(out)
    state = State(model_id, revision, step, tokens)
    named = (model_id,) if allow_nonconforming else ()
    asked = {"quiet": True, **how, "quantities": quantities, "allow_nonconforming": named}
    sets = _sets(prompts, prompt_set)
    with prepare(model, tokenizer, sets, state, asked) as (subject, units):
        remove_leftovers(out)
        inventory = Inventory(out, if_other_weights=_OTHER_STEP)
        todo, done = pending(units, subject, inventory)
        runs = inventory.out / "run"
        if any(not (runs / f"{unit.unit}.parquet").exists() for unit in done):
            warnings.warn(
                f"{state.model_id} at {state.revision_name} has the weights of another step: it is "
                "not measured again, and the store has no row of this step",
                stacklevel=3,
            )
        job.carry_out(todo, subject, inventory, done)
    return done


@interruptible()
def run(
    models: str | Path | Sequence[str | Path],
    prompts: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    engine: Literal["local", "ray"] = "local",
    quiet: bool = True,
    **options: Any,
) -> Outcome:
    """Do what ``thermoscope collect run`` does, and return what was done.

    Parameters
    ----------
    models
        Checkpoint directories or hub identifiers, one or several.
    prompts
        Names of shipped sets, or paths of files and data sets; one, several or none.
    out
        Directory for ``<table>/<unit>.parquet``.
    engine
        ``local``, or ``ray`` to spread the models over a Ray cluster.
    quiet
        False to say on standard error what goes on.
    **options
        ``revision``, ``lab``, ``suite``, ``year``, and attributes of
        `collect.job.settings.Settings`: ``quantities``, ``dtype``, ``device``, ``fail_fast`` ...

    Returns
    -------
    The units that are there now; ``units`` has one entry for each.

    Raises
    ------
    CollectError
        As the command refuses; `RefusedError`, whose ``outcome`` says what was done all the
        same, if some of several models were refused.

    Examples
    --------
    >>> run("/no/such/model", "A_grand_unified", "out")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    collect.errors.InputError: ...
    """
    check_engine(engine)
    named = several(models, "Models", _OF_MODELS)
    sets = several(prompts, "Prompts", _OF_PROMPTS)
    measure_all = job.run
    if engine == "ray":
        from collect.job import fleet

        measure_all = fleet.run
    return measure_all(
        [str(model) for model in named],
        sets,
        as_output(out),
        quiet=quiet,
        **options,
    )


def as_output(out: Any) -> Path:
    """Return the directory that rows go to.

    Raises
    ------
    InputError
        If what was given is no path, or an address.
    """
    if not isinstance(out, (str, Path)):
        raise InputError(
            f"The output must be the path of a directory; found {type(out).__name__}.",
            'Give out, such as "runs/mine".',
        )
    return local_path(out)


def _sets(prompts: Prompts, name: str) -> list[PromptSet]:
    one = given(prompts, name)
    return [one] if len(one.prompts) else []


def _rows_of(task: Task, subject: Present) -> dict[str, pd.DataFrame]:
    """Return what is measured of a task, by table, as if it took no time; vectors themselves."""
    frames, tensors = measured(task, subject)
    rows = {**frames, "run": frames["run"].assign(duration_s=0.0)}  # so that two calls are alike
    vectors = _add_vectors(frames, tensors)
    return rows if vectors is None else {**rows, "own_vector": vectors}


def _add_vectors(
    frames: Mapping[str, pd.DataFrame], tensors: Mapping[str, Tensor]
) -> pd.DataFrame | None:
    """Return table ``own_vector`` with the vectors in it; None without vectors."""
    if "own_vector" not in frames:
        return None
    arrays = {name: tensor.float().numpy() for name, tensor in tensors.items()}
    rows = frames["own_vector"]
    places = zip(rows["tensor"], rows["tensor_row"], strict=True)
    vectors = [arrays[tensor][row] for tensor, row in places]
    return rows.drop(columns=["tensor", "tensor_row"]).assign(vector=vectors)


def _join(table: str, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of a table, each once, typed and sorted as the contract says."""
    filled = [frame for frame in frames if len(frame)]
    if table == "own_vector":
        return filled[0]  # its vectors have no type in the contract, and one task alone has any
    if table == "model":
        filled = filled[:1]
    rows = conforming(table, pd.concat(filled, ignore_index=True))
    joined: pd.DataFrame = rows.to_pandas()
    return joined
