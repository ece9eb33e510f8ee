"""The loop: judge every model, then measure each, and resume where an earlier run stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.instruments import quantities
from collect.job.completion import Left, complete, left
from collect.job.outcome import (
    Done,
    Outcome,
    Refusal,
    RefusedError,
    as_text,
    noted,
    raise_if_refused,
)
from collect.job.roster import spread
from collect.job.settings import Settings
from collect.job.subject import Subject, unless_allowed
from collect.job.task import Task, check_chosen, tasks
from collect.model.checkpoint import blueprint, hub, leftovers, revisions
from collect.model.checkpoint.checkpoint import Checkpoint, locate, with_listed_tensors
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_skeleton, tokenizer_for
from collect.model.checkpoint.memory import as_text as as_size
from collect.model.checkpoint.shards import Shards
from collect.model.conformance.refusal import refuse_own_code
from collect.model.labels import Labels
from collect.prompts.sets import PromptSet, load_all
from collect.record.commit import check_writable, remove_leftovers
from collect.record.inventory import Inventory
from collect.record.stem import file_stem
from collect.schema.counting import repeated

#: What `prepare` and `collect.run` take besides the attributes of settings.
_OF_MODELS = ("engine", "revision", "lab", "suite", "year", "register")


@dataclass(frozen=True, slots=True)
class Job:
    """What a command asks for, found and checked: revisions of models, prompt sets, settings.

    Attributes
    ----------
    checkpoints
        One entry per model and revision that was not refused: the model as named, and its
        checkpoint, whose weights are not fetched yet where they are on the hub.
    sets, settings, labels
        As given.
    refusals
        The models, or revisions of models, that cannot be measured.
    """

    checkpoints: tuple[tuple[str, Checkpoint], ...]
    sets: tuple[PromptSet, ...]
    settings: Settings
    labels: Labels
    refusals: tuple[Refusal, ...] = ()

    @property
    def n_models(self) -> int:
        """How many models, and revisions of models, were asked for."""
        return len(self.checkpoints) + len(self.refusals)

    @property
    def goes_on(self) -> bool:
        """Whether a model that is refused is passed over."""
        return self.n_models > 1 and not self.settings.fail_fast


def run(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path, **options: Any
) -> Outcome:
    """Measure every model, and every model on every prompt set, into Parquet files.

    A unit is the weights of a model, or a model on a prompt set; the quantities chosen say
    which tables it fills (`quantities.TABLES`). Each unit ends with its row in ``run``. What
    the output already holds, measured in the same way, is skipped, quantity by quantity, so a
    run that was killed is resumed by starting it again. A unit that another process is measuring
    is left for later, and waited for at the end. Weights on the hub are fetched when a unit needs
    them, and only then. A model that is refused stops no other, unless ``fail_fast`` is set.

    Parameters
    ----------
    models, prompt_sets, **options
        As for `prepare`.
    out
        Directory for ``<table>/<unit>.parquet``.

    Returns
    -------
    The units that are there now.

    Raises
    ------
    CollectError
        If anything given is wrong, unreachable or not writable, or a model does not
        conform; `RefusedError`, when all is done, if that concerned some of several models. Units
        finished before remain; nothing half-written does.
    """
    job = prepare(models, prompt_sets, out, **options)
    remove_leftovers(out)
    inventory = Inventory(out)
    outcome = Outcome(refusals=[*job.refusals])
    for name, checkpoint in job.checkpoints:
        with noted(name_of(checkpoint), outcome.refusals, goes_on=job.goes_on):
            _run_checkpoint(name, checkpoint, job, inventory, outcome.units)
    raise_if_refused(outcome, job.n_models)
    return outcome


def prepare(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path | None,
    *,
    revision: str | Sequence[str] | None = None,
    lab: str | None = None,
    suite: str | None = None,
    year: int | None = None,
    needs_weights: bool = True,
    register: str | Path | Sequence[str | Path] = (),
    **how: Any,
) -> Job:
    """Return what a command asks for, after checking all that can be checked without weights.

    Parameters
    ----------
    models
        Checkpoint directories or hub identifiers; ``@FILE`` for those that a file lists.
    prompt_sets
        Names of shipped sets, or paths of files and data sets; see `sets.load`.
    out
        Directory that must be writable; None when nothing is written.
    revision
        Branches, tags or commits, or names of checkpoints in a local directory; patterns such as
        ``step*`` stand for all that match. All are resolved before anything runs.
    lab, suite, year
        Labels of the models; they win over what the checkpoints say.
    needs_weights
        False to leave models of the hub unjudged but for their listings.
    register
        Files or modules of Python that register quantities of one's own; see `quantities.load`.
    **how
        Attributes of `Settings`; quantities named as `quantities.chosen` has it.

    Raises
    ------
    CollectError
        If anything given is wrong, unreachable or not writable.
    """
    quantities.load(register)
    models = spread(models)
    if not models:
        raise InputError("At least one model must be given; there is none.", "Name one.")
    settings = Settings.given(how, _OF_MODELS)
    check_chosen(settings, len(prompt_sets))
    if out is not None:
        check_writable(out)
    sets = load_all(prompt_sets)
    labels = Labels(lab, suite, year)
    hub.silence(quiet=settings.quiet)
    named = [revision] if isinstance(revision, str) else list(revision or [])
    job = _listed(models, named, Job((), sets, settings, labels))
    if needs_weights:
        job = _all_judged(job)
    if job.refusals and not job.checkpoints:
        raise RefusedError(Outcome(refusals=[*job.refusals]), job.n_models)
    if job.refusals:
        settings.say(as_text(job.refusals))
    return job


def _listed(models: Sequence[str], named: Sequence[str], job: Job) -> Job:
    """Return a job with every revision that is asked for, and the models that have none."""
    goes_on = len(models) > 1 and not job.settings.fail_fast
    found: list[tuple[str, Checkpoint]] = []
    refusals: list[Refusal] = []
    for model in models:
        with noted(model, refusals, goes_on=goes_on):
            found += _found(model, named, job.labels, job.sets)
    _refuse_repeats([name_of(checkpoint) for _, checkpoint in found])
    return replace(job, checkpoints=tuple(found), refusals=tuple(refusals))


def _found(
    model: str, named: Sequence[str], labels: Labels, sets: Sequence[PromptSet]
) -> list[tuple[str, Checkpoint]]:
    """Return the revisions of a model that are asked for, by its name."""
    found = [
        (model, locate(model, revision=name, labels=labels, needs_weights=False))
        for name in revisions.asked_for(model, named)
    ]
    for prompt_set in [None, *(prompt_set.name for prompt_set in sets)]:
        for _, checkpoint in found:
            # refuses what can be no file's name
            file_stem(checkpoint.model_id, prompt_set, checkpoint.revision_name)
    return found


def name_of(checkpoint: Checkpoint) -> str:
    """Return the name of a model, with its revision where it has one."""
    at = "" if checkpoint.revision_name is None else f" at {checkpoint.revision_name}"
    return f"{checkpoint.model_id}{at}"


def _all_judged(job: Job) -> Job:
    """Return a job without the models that cannot be measured, as far as no weight tells it.

    So all are named before anything is fetched or measured. A single local model is judged when
    it runs; revisions that are configured alike are judged once.
    """
    kept, refusals, seen = [], [*job.refusals], set()
    for name, checkpoint in job.checkpoints:
        alike = (name, json.dumps(checkpoint.config, sort_keys=True))
        is_left = (job.n_models == 1 and checkpoint.weight_files) or alike in seen
        n_before = len(refusals)
        with noted(name_of(checkpoint), refusals, goes_on=job.goes_on):
            if not is_left:
                judged(checkpoint, job)
                seen.add(alike)
        if len(refusals) == n_before:
            kept.append((name, checkpoint))
    for _, checkpoint in kept:
        if checkpoint.download_bytes:
            size = as_size(checkpoint.download_bytes)
            job.settings.say(f"{name_of(checkpoint)}: {size} to download")
    return replace(job, checkpoints=tuple(kept), refusals=tuple(refusals))


@dataclass(frozen=True, slots=True)
class Judged:
    """A model that can be measured, as far as no weight tells it.

    Attributes
    ----------
    skeleton
        The model without its weights.
    tasks
        What there is to do of it.
    unused
        How many stored tensors make up none of its parameters, by name without numbers.
    """

    skeleton: Decoder
    tasks: list[Task]
    unused: dict[str, int]


def judged(checkpoint: Checkpoint, job: Job, *, weights_sha256: str | None = None) -> Judged:
    """Return a model without its weights and what there is to do of it, if it can be measured.

    Of weights that are here the headers are read, of others the index, or the header of one file.

    Parameters
    ----------
    checkpoint, job
        The model, and what is asked for.
    weights_sha256
        Hash of its weights, where it is known.

    Raises
    ------
    CollectError
        If it lacks adapter, tokenizer or weights, or cannot read the prompts.
    """
    skeleton = load_skeleton(checkpoint, dtype=job.settings.dtype)
    known = with_listed_tensors(checkpoint)
    unused: list[str] = []
    if known.weight_files or known.listed_tensors:
        unused = Shards(known, blueprint.of_model(skeleton.model)).unused
    tokenizer = tokenizer_for(checkpoint, job.sets)
    how: dict[str, Any] = {"weights_sha256": weights_sha256}
    found = tasks(checkpoint, skeleton, job.sets, tokenizer, job.settings, **how)
    return Judged(skeleton, found, leftovers.by_kind(unused))


def _refuse_repeats(names: Sequence[str]) -> None:
    """Refuse a model that is named twice, since its files would be the same."""
    twice = repeated(names)
    if twice:
        raise InputError(
            f"Every model must be named once; {', '.join(twice)} comes up more than once.",
            "Local checkpoints are named local/<directory>; a model_id in thermoscope.json "
            "beside the weights gives another name.",
        )


def _run_checkpoint(
    name: str, checkpoint: Checkpoint, job: Job, inventory: Inventory, done: list[Done]
) -> None:
    sets, settings = job.sets, job.settings
    checkpoint = under_its_name(name, checkpoint, inventory, settings)
    skeleton = load_skeleton(checkpoint, dtype=settings.dtype, device=settings.main_device)
    with unless_allowed(name, checkpoint, settings):
        refuse_own_code(checkpoint.own_code)
    tokenizer = tokenizer_for(checkpoint, sets)
    digest = checkpoint.listed_weights_sha256()
    if digest is None:
        checkpoint = _with_weights(name, checkpoint, job)
        digest = checkpoint.weights_sha256()
    found = left(
        tasks(checkpoint, skeleton, sets, tokenizer, settings, weights_sha256=digest),
        inventory,
        settings,
        training_step=checkpoint.training_step,
        training_tokens=checkpoint.training_tokens,
    )
    if not found.pending:
        done += found.done
        return
    if not checkpoint.weight_files:
        checkpoint = _with_weights(name, checkpoint, job)
        checkpoint.weights_sha256()  # refuses content that is not what the hub lists
        stored = [placed.stored_as(checkpoint.dtype_weights) for placed in found.pending]
        found = Left(stored, found.done)
    subject = Subject(
        name,
        checkpoint,
        skeleton,
        tokenizer,
        settings,
        is_only_examined=all(placed.task.prompt_set is None for placed in found.pending),
    )
    complete(found, subject, inventory, done)


def under_its_name(
    name: str, checkpoint: Checkpoint, inventory: Inventory, settings: Settings
) -> Checkpoint:
    """Return a checkpoint under the name that the output knows its repository by.

    A repository that the hub has renamed since its first units were measured keeps its name
    there, so that one output has one model. Where the hub is not asked, what was measured of the
    same commit says the name.

    Parameters
    ----------
    name
        As the model was named.
    checkpoint, inventory, settings
        The model, what its output holds, and how the name that is kept is said.
    """
    if checkpoint.revision is None or Path(name).is_dir():
        return checkpoint
    if not checkpoint.listed_sha256:
        return _as_measured_before(name, checkpoint, inventory, settings)
    if checkpoint.model_id == name:
        return checkpoint
    known = {entry.mark.determinants["model_id"] for entry in inventory.entries()}
    kept = name if name in known and checkpoint.model_id not in known else checkpoint.model_id
    settings.say(f"{name}: the hub calls it {checkpoint.model_id} now; measured as {kept}")
    return replace(checkpoint, model_id=kept)


def _as_measured_before(
    name: str, checkpoint: Checkpoint, inventory: Inventory, settings: Settings
) -> Checkpoint:
    """Return a checkpoint out of the cache under the one name that its commit has in the output."""
    measured = [entry.mark.determinants for entry in inventory.entries()]
    names = {of["model_id"] for of in measured if of["revision"] == checkpoint.revision}
    if len(names) != 1 or name in names:
        return checkpoint
    (kept,) = names
    settings.say(f"{name}: the output has this commit as {kept}; measured as {kept}")
    return replace(checkpoint, model_id=kept)


def _with_weights(name: str, checkpoint: Checkpoint, job: Job) -> Checkpoint:
    """Return a checkpoint with its weights, fetched at its very commit if need be."""
    if checkpoint.weight_files:
        return checkpoint
    fetched = locate(name, revision=checkpoint.revision, labels=job.labels)
    return replace(
        checkpoint, weight_files=fetched.weight_files, dtype_weights=fetched.dtype_weights
    )
