"""Names to models: what a command asks for, located and judged before any weight is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.errors import InputError, UnsupportedModelError, unknown_name
from collect.instruments import quantities
from collect.job.model_list import expanded
from collect.job.outcome import Outcome, Refusal, RefusedError, as_text, noted
from collect.job.settings import Settings
from collect.job.task import Task, check_chosen, tasks
from collect.model.checkpoint import blueprint, hub, leftovers, revisions
from collect.model.checkpoint.checkpoint import Checkpoint, with_listed_tensors
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.gguf import facts
from collect.model.checkpoint.load import load_skeleton, tokenizer_for
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.memory import as_text as as_size
from collect.model.checkpoint.shards import Shards
from collect.model.labels import Labels
from collect.prompts.sets import PromptSet, load_all
from collect.record.commit import check_writable
from collect.record.inventory import Inventory
from collect.record.stem import file_stem
from collect.schema.counting import as_count, repeated
from collect.schema.paths import as_path

#: What `resolve` and `collect.run` take besides the attributes of settings.
_OF_MODELS = ("engine", "revision", "lab", "suite", "year", "register", "perturb", "seeds")

#: How often weights are perturbed where nothing is asked for.
_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Model:
    """A model, or a revision of one: its name as given, and its checkpoint.

    The weights are not fetched yet where they are on the hub.
    """

    name: str
    checkpoint: Checkpoint

    @property
    def title(self) -> str:
        """Its identifier, with its revision where it has one."""
        revision, gguf = self.checkpoint.revision_name, self.checkpoint.gguf
        at = "" if revision is None else f" at {revision}"
        seed = None if gguf is None else gguf.seed
        how = "" if seed is None else f" perturbed by a step, seed {seed}"
        return f"{self.checkpoint.model_id}{at}{how}"

    def with_weights(self) -> Model:
        """Return it with its weights, fetched at its very commit if need be."""
        known = self.checkpoint
        if known.weight_files:
            return self
        fetched = locate(self.name, revision=known.revision)
        here = {
            name: getattr(fetched, name)
            for name in ("directory", "weight_files", "dtype_weights", "gguf")
        }
        if known.gguf is not None and known.gguf.seed is not None:
            here["gguf"] = replace(here["gguf"], seed=known.gguf.seed)
        return replace(self, checkpoint=replace(known, **here))


@dataclass(frozen=True, slots=True)
class Job:
    """What a command asks for: models, prompt sets, settings, the output.

    Attributes
    ----------
    models
        One for each model and revision that was not refused.
    sets, settings
        As given.
    inventory
        What the output holds; None where there is none.
    refusals
        The models, or revisions of models, that cannot be measured.
    """

    models: tuple[Model, ...]
    sets: tuple[PromptSet, ...]
    settings: Settings
    inventory: Inventory | None = None
    refusals: tuple[Refusal, ...] = ()

    @property
    def n_models(self) -> int:
        """How many models, and revisions of models, were asked for."""
        return len(self.models) + len(self.refusals)

    @property
    def goes_on(self) -> bool:
        """Whether a model that is refused is passed over."""
        return self.n_models > 1 and not self.settings.fail_fast


def resolve(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path | None,
    *,
    revision: str | Sequence[str] | None = None,
    lab: str | None = None,
    suite: str | None = None,
    year: int | None = None,
    is_planned: bool = False,
    register: str | Path | Sequence[str | Path] = (),
    perturb: str | None = None,
    seeds: int | None = None,
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
        Directory that must be writable, unless the job is only planned; None where nothing is
        written.
    revision
        Branches, tags or commits, or names of checkpoints in a local directory; patterns such as
        ``step*`` stand for all that match. All are resolved before anything runs.
    lab, suite, year
        Labels of the models; they win over what the checkpoints say.
    is_planned
        True where nothing is to be written: models of the hub are not judged but for their
        listings.
    register
        Files or modules of Python that register quantities of one's own; see `quantities.load`.
    perturb, seeds
        ``step`` to measure quantised weights again with one more rounding error, and how often,
        3 times if None; see `steps.error`. None, and no seeds, to measure them as they are alone.
    **how
        Attributes of `Settings`; quantities named as `quantities.chosen` has it.
    """
    quantities.load(register)
    names = expanded(models)
    if not names:
        raise InputError("At least one model must be given; there is none.", "Name one.")
    settings = Settings.given(how, _OF_MODELS)
    check_chosen(settings, len(prompt_sets))
    if out is not None and not is_planned:
        check_writable(out)
    sets = load_all(prompt_sets)
    hub.silence(quiet=settings.quiet)
    named = [revision] if isinstance(revision, str) else list(revision or [])
    job = Job((), sets, settings, None if out is None else Inventory(out))
    job = _located(names, named, Labels(lab, suite, year), job)
    job = _perturbed(job, perturb, seeds)
    if not is_planned:
        job = _judged(job)
    if job.refusals and not job.models:
        raise RefusedError(Outcome(refusals=[*job.refusals]), job.n_models)
    if job.refusals:
        settings.say(as_text(job.refusals))
    return job


def _located(names: Sequence[str], revision: Sequence[str], labels: Labels, job: Job) -> Job:
    """Return a job with every revision that is asked for, and the models that have none."""
    goes_on = len(names) > 1 and not job.settings.fail_fast
    models: list[Model] = []
    refusals: list[Refusal] = []
    for name in names:
        with noted(name, refusals, goes_on=goes_on):
            models += _revisions(name, revision, labels, job)
    _refuse_repeats([model.title for model in models])
    models = [_under_its_name(model, job) for model in models]
    return replace(job, models=tuple(models), refusals=tuple(refusals))


def _perturbed(job: Job, perturb: str | None, seeds: int | None) -> Job:
    """Return a job with every model as it is, then with one more rounding error by each seed."""
    hint = f"Use --perturb {facts.STEP}."
    if perturb is None and seeds is not None:
        raise InputError(
            f"Seeds must be those of a perturbation; {seeds} and no perturbation are given.", hint
        )
    if perturb is None:
        return job
    if perturb != facts.STEP:
        raise unknown_name("A perturbation", perturb, [facts.STEP], hint)
    n_seeds = _SEEDS if seeds is None else seeds
    as_count("The number of seeds", n_seeds, least=1, hint=f"Use --seeds {_SEEDS}.")
    models: list[Model] = []
    refusals = [*job.refusals]
    for model in job.models:
        with noted(model.title, refusals, goes_on=job.goes_on):
            models += [model, *(_with_error(model, seed) for seed in range(1, n_seeds + 1))]
    return replace(job, models=tuple(models), refusals=tuple(refusals))


def _with_error(model: Model, seed: int) -> Model:
    checkpoint = model.checkpoint
    if checkpoint.gguf is None:
        raise UnsupportedModelError(
            f"Weights must come from a quantised GGUF file to be perturbed by a step; {model.name} "
            "is none.",
            "Leave --perturb out.",
        )
    return replace(
        model, checkpoint=replace(checkpoint, gguf=facts.perturbed(checkpoint.gguf, seed))
    )


def _revisions(name: str, revision: Sequence[str], labels: Labels, job: Job) -> list[Model]:
    """Return the revisions of a model that are asked for."""
    is_here = as_path(name).is_dir()
    models = [
        Model(name, locate(name, revision=each, labels=labels, needs_weights=is_here))
        for each in revisions.asked_for(name, revision)
    ]
    for prompt_set in [None, *(prompt_set.name for prompt_set in job.sets)]:
        for model in models:
            # refuses what can be no file's name
            file_stem(model.checkpoint.model_id, prompt_set, model.checkpoint.revision_name)
    return models


def _refuse_repeats(titles: Sequence[str]) -> None:
    """Refuse a model that is named twice, since its files would be the same."""
    twice = repeated(titles)
    if twice:
        raise InputError(
            f"Every model must be named once; {', '.join(twice)} comes up more than once.",
            "Local checkpoints are named local/<directory>; a model_id in thermoscope.json "
            "beside the weights gives another name.",
        )


def _under_its_name(model: Model, job: Job) -> Model:
    """Return a model under the name that the output knows its repository by.

    A repository that the hub has renamed since its first units were measured keeps its name
    there, so that one output has one model. Where the hub is not asked, what was measured of the
    same commit says the name.
    """
    name, checkpoint = model.name, model.checkpoint
    if job.inventory is None or checkpoint.revision is None or Path(name).is_dir():
        return model
    measured = [entry.mark.determinants for entry in job.inventory.entries()]
    if not checkpoint.listed_sha256:
        names = {of["model_id"] for of in measured if of["revision"] == checkpoint.revision}
        if len(names) != 1 or name in names:
            return model
        (known,) = names
        job.settings.say(f"{name}: the output has this commit as {known}; measured as {known}")
    elif checkpoint.model_id == name:
        return model
    else:
        new, names = checkpoint.model_id, {of["model_id"] for of in measured}
        known = name if name in names and new not in names else new
        job.settings.say(f"{name}: the hub calls it {new} now; measured as {known}")
    return replace(model, checkpoint=replace(checkpoint, model_id=known))


def _judged(job: Job) -> Job:
    """Return a job without the models that cannot be measured, as far as no weight tells it.

    So all are named before anything is fetched or measured. A single local model is judged when
    it runs; revisions that are configured alike are judged once.
    """
    accepted, refusals, seen = [], [*job.refusals], set()
    for model in job.models:
        alike = (model.name, json.dumps(model.checkpoint.config, sort_keys=True))
        n_before = len(refusals)
        with noted(model.title, refusals, goes_on=job.goes_on):
            if alike not in seen and not (job.n_models == 1 and model.checkpoint.weight_files):
                unused_tensors(model.checkpoint, judge(model, job).skeleton)
                seen.add(alike)
        if len(refusals) == n_before:
            accepted.append(model)
    first: dict[Path, Model] = {}
    for model in accepted:
        first.setdefault(model.checkpoint.directory, model)
    for model in first.values():
        if model.checkpoint.download_bytes:
            size = as_size(model.checkpoint.download_bytes)
            job.settings.say(f"{model.title}: {size} to download")
    return replace(job, models=tuple(accepted), refusals=tuple(refusals))


@dataclass(frozen=True, slots=True)
class Judged:
    """A model that can be measured, as far as no weight tells it.

    Attributes
    ----------
    skeleton, tokenizer
        The model without its weights, and its tokenizer; see `load.tokenizer_for`.
    tasks
        All that is asked of it.
    """

    skeleton: Decoder
    tokenizer: Any
    tasks: list[Task]


def judge(model: Model, job: Job, *, weights_sha256: str | None = None) -> Judged:
    """Return a model without its weights and what is asked of it, if it can be measured."""
    checkpoint, settings = model.checkpoint, job.settings
    skeleton = load_skeleton(checkpoint, dtype=settings.dtype, device=settings.main_device)
    tokenizer = tokenizer_for(checkpoint, job.sets)
    hashed: dict[str, Any] = {"weights_sha256": weights_sha256}
    asked = tasks(checkpoint, skeleton, job.sets, tokenizer, settings, **hashed)
    return Judged(skeleton, tokenizer, asked)


def unused_tensors(checkpoint: Checkpoint, skeleton: Decoder) -> dict[str, int]:
    """Return how many stored tensors make up no parameter, by name without numbers.

    Of weights that are here the headers are read, of others the index, or the header of one file.
    """
    known = with_listed_tensors(checkpoint)
    if not (known.weight_files or known.listed_tensors):
        return {}
    return leftovers.by_kind(Shards(known, blueprint.of_model(skeleton.model)).unused)
