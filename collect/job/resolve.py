"""Names to models: what a command asks for, located and judged before any weight is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.errors import InputError, UnsupportedModelError, unknown_name
from collect.instruments import quantities
from collect.job.outcome import Outcome, Refusal, RefusedError, as_text, noted
from collect.job.settings import Settings
from collect.job.subject import Subject
from collect.job.task import check_chosen, tasks
from collect.model.checkpoint import hub, revisions
from collect.model.checkpoint.gguf import facts
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.memory import as_text as as_size
from collect.model.labels import Labels
from collect.prompts.sets import PromptSet, load_all
from collect.record.commit import check_writable
from collect.record.units import file_stem
from collect.schema.counting import repeated, require_count
from collect.schema.paths import expand_path, text_at

#: What `resolve` and `collect.run` take besides the attributes of settings.
_OF_MODELS = ("engine", "revision", "lab", "suite", "year", "register", "perturb", "seeds")

#: How often weights are perturbed where nothing is asked for.
_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Job:
    """What a command asks for: subjects, and the models that cannot be measured.

    Attributes
    ----------
    subjects
        One for each model and revision that was not refused.
    settings, sets
        As given.
    refusals
        The models, or revisions of models, that cannot be measured.
    out
        The output in whose queue refusals are noted; None where nothing is written.
    """

    settings: Settings
    sets: tuple[PromptSet, ...]
    subjects: tuple[Subject, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    out: Path | None = None

    @property
    def n_models(self) -> int:
        """How many models, and revisions of models, were asked for."""
        return len(self.subjects) + len(self.refusals)

    @property
    def goes_on(self) -> bool:
        """Whether a model that is refused is passed over."""
        return self.n_models > 1 and not self.settings.fail_fast

    def noted(self, model: str, refusals: list[Refusal]) -> AbstractContextManager[None]:
        """Note what is wrong with a model; see `outcome.noted`."""
        return noted(model, refusals, goes_on=self.goes_on, out=self.out)


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
        ``step`` to measure quantised weights again with simulated quantisation noise, and how
        often, 3 times if None; see `steps.error`. None, and no seeds, to measure them as they are
        alone.
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
    if settings.quiet:
        hub.silence()
    named = [revision] if isinstance(revision, str) else list(revision or [])
    job = Job(settings, tuple(load_all(prompt_sets)), out=None if is_planned else out)
    job = _locate(names, named, Labels(lab, suite, year), job)
    job = _perturb(job, perturb, seeds)
    if not is_planned:
        job = _judge(job)
    if job.refusals and not job.subjects:
        raise RefusedError(Outcome(refusals=[*job.refusals]), job.n_models)
    if job.refusals:
        settings.say(as_text(job.refusals))
    return job


def _locate(names: Sequence[str], revision: Sequence[str], labels: Labels, job: Job) -> Job:
    """Return a job with every revision that is asked for, and the models that have none."""
    goes_on = len(names) > 1 and not job.settings.fail_fast
    subjects: list[Subject] = []
    refusals: list[Refusal] = []
    for name in names:
        with noted(name, refusals, goes_on=goes_on, out=job.out):
            subjects += _revisions(name, revision, labels, job)
    twice = repeated([subject.title for subject in subjects])
    if twice:
        raise InputError(
            f"Every model must be named once; {', '.join(twice)} comes up more than once.",
            "Local checkpoints are named local/<directory>; a model_id in thermoscope.json "
            "beside the weights gives another name.",
        )
    return replace(job, subjects=tuple(subjects), refusals=tuple(refusals))


def _revisions(name: str, revision: Sequence[str], labels: Labels, job: Job) -> list[Subject]:
    """Return the revisions of a model that are asked for."""
    is_here = expand_path(name).is_dir()
    subjects = []
    for each in revisions.asked_for(name, revision):
        checkpoint = locate(name, revision=each, labels=labels, needs_weights=is_here)
        for prompt_set in [None, *(prompt_set.name for prompt_set in job.sets)]:
            # refuses what can be no file's name
            file_stem(checkpoint.model_id, prompt_set, checkpoint.revision_name)
        subjects.append(Subject(name, checkpoint, job.settings, job.sets))
    return subjects


def _perturb(job: Job, perturb: str | None, seeds: int | None) -> Job:
    """Return a job with each model as it is, then with simulated noise of quantisation, by seed."""
    if perturb is None and seeds is None:
        return job
    if perturb != facts.STEP:
        raise unknown_name("A perturbation", str(perturb), [facts.STEP], "Use --perturb step.")
    n_seeds = _SEEDS if seeds is None else seeds
    require_count("The number of seeds", n_seeds, least=1, hint=f"Use --seeds {_SEEDS}.")
    subjects: list[Subject] = []
    refusals = [*job.refusals]
    for subject in job.subjects:
        with job.noted(subject.title, refusals):
            subjects += [subject, *(_add_error(subject, n) for n in range(1, n_seeds + 1))]
    return replace(job, subjects=tuple(subjects), refusals=tuple(refusals))


def _add_error(subject: Subject, seed: int) -> Subject:
    gguf = subject.checkpoint.gguf
    if gguf is None:
        raise UnsupportedModelError(
            f"Only weights of a quantised GGUF file are perturbed; {subject.name} is not one.",
            "Leave --perturb out.",
        )
    checkpoint = replace(subject.checkpoint, gguf=facts.perturbed(gguf, seed))
    return Subject(subject.name, checkpoint, subject.settings, subject.sets)


def _judge(job: Job) -> Job:
    """Return a job without the models that cannot be measured, as far as no weight tells it.

    So all are named before anything is fetched or measured. A single local model is judged when
    it runs; revisions that are configured alike are judged once.
    """
    accepted, refusals, seen = [], [*job.refusals], set()
    for subject in job.subjects:
        checkpoint = subject.checkpoint
        alike = (subject.name, json.dumps(checkpoint.config, sort_keys=True))
        with job.noted(subject.title, refusals):
            if alike not in seen and not (job.n_models == 1 and checkpoint.weight_files):
                tasks(subject, None)
                subject.unused_beforehand()
                seen.add(alike)
            accepted.append(subject)
        subject.release()
    announced: set[Path] = set()
    for subject in accepted:
        place, n_bytes = subject.checkpoint.directory, subject.checkpoint.download_bytes
        if n_bytes and place not in announced:
            job.settings.say(f"{subject.title}: {as_size(n_bytes)} to download")
        announced.add(place)
    return replace(job, subjects=tuple(accepted), refusals=tuple(refusals))


#: What a name begins with that stands for a list.
MARK = "@"


def expanded(models: Sequence[str]) -> list[str]:
    """Return names of models, those of a list in the place of its name."""
    names: list[str] = []
    for model in models:
        names += _list(Path(model[1:])) if model.startswith(MARK) else [model]
    return names


def _list(path: Path) -> list[str]:
    hint = f"Give {MARK} and the path of a file with one model a line."
    text = text_at(path, "A list of models", hint)
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    for number, words in enumerate(lines, start=1):
        if len(words) > 1:
            raise InputError(
                f"A list of models must have one model a line; line {number} of {path} has "
                f"{len(words)} words.",
                "Put each on a line of its own, and remarks behind #.",
            )
    names = [words[0] for words in lines if words]
    if not names:
        raise InputError(
            f"A list of models must name at least one; {path} names none.", "Add a line."
        )
    return names
