"""The handler of each verb of collection: what it does with its options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from collect.commands.printing import as_json, note, show
from collect.errors import InputError, OutputError
from collect.model.identifier import refuse_nameless
from collect.process import shipped
from collect.process.parser import as_typed
from collect.process.starting import libraries_imported
from collect.schema.counting import counted, require_count
from collect.schema.paths import text_at


def _sets(options: argparse.Namespace) -> list[str]:
    """Return the prompt sets that are named, all there; the word none alone names no set."""
    named: list[str] = [] if options.prompts == ["none"] else options.prompts
    _refuse_unknown_sets(named)
    return named


def _refuse_unknown_sets(named: list[str]) -> None:
    """Refuse a prompt set that is not there, before what takes long is imported."""
    if named:
        from collect.prompts.sets import find

        for name in named:
            find(name)


def _refuse_only_nameless(models: list[str]) -> None:
    """Refuse a model that is none, where no other is to be measured beside it."""
    if len(models) == 1 and not models[0].startswith("@"):
        refuse_nameless(models[0])


def plan(options: argparse.Namespace) -> int:
    """Say what a run would do: rows, bytes, memory, time."""
    _refuse_only_nameless(options.models)
    if options.queue and options.out is None:
        raise InputError("--queue needs --out, where the plan is written.", "Give --out DIR.")
    sets = _sets(options)
    with libraries_imported():
        from collect.job.planning import plan

    units, refusal = plan.drawn(options.models, sets, options.out, **_how(options))
    shown = as_json([asdict(unit) for unit in units]) if options.json else plan.as_text(units)
    show(shown)
    if options.queue:
        plan.enqueue(options.out, units, refusal)
    if refusal is not None:
        raise refusal
    return 0


def run(options: argparse.Namespace) -> int:
    """Measure models, on prompt sets and by their weights."""
    _refuse_only_nameless(options.models)
    sets = _sets(options)
    with libraries_imported():
        if options.engine == "ray":
            from collect.job.fleet import run
        else:
            from collect.job.run import run

    run(options.models, sets, options.out, quiet=options.quiet, **_how(options))
    return 0


def look(options: argparse.Namespace) -> int:
    """Show one screen on a model."""
    refuse_nameless(options.model)
    with libraries_imported():
        from collect.library.look import look

    show(look(options.model, **_taken(options, _OF_ONE)).as_text())
    return 0


def verify(options: argparse.Namespace) -> int:
    """Print what is checked of a model before every number; refuse one that fails."""
    refuse_nameless(options.model)
    with libraries_imported():
        from collect.library.verification import verify

    verification = verify(options.model, **_taken(options, _OF_ONE))
    show(verification.as_text())
    verification.raise_if_failed()
    return 0


def states(options: argparse.Namespace) -> int:
    """Measure states that another engine wrote, or compare them with a model's."""
    from collect.job.states.declared import declared
    from collect.job.states.files import head

    if options.out is None and options.against is None:
        raise InputError(
            "States must be measured or compared; neither --out nor --against was given.",
            "Give --out DIR to measure them, or --against MODEL to compare them.",
        )
    _refuse_unknown_sets([options.prompts] if options.prompts else [])
    how = declared(options.engine, options.site, options.layers)
    heads = [head(path, how) for path in options.files]
    refuse_nameless(options.model)
    with libraries_imported():
        from collect.job.states import comparison, importing

    source = importing.opened(heads, how, options.model, prompts=options.prompts)
    if options.against is not None:
        entries = comparison.compare(source, options.against)
        show(comparison.as_text(entries))
        if not comparison.is_agreement(entries):
            return 1
    if options.out is not None:
        name, n_rows = importing.import_states(source, options.out, overwrite=options.overwrite)
        if not options.quiet:
            done = counted(n_rows, "row") if n_rows else "already complete, skipped"
            print(f"{name}: {done}", file=sys.stderr)
    return 0


def _taken(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names}


#: What a model that is looked at, and a plan and a run, take as it is typed.
_OF_ONE = ("revision", "dtype", "device")
_OF_RUN = (
    *_OF_ONE,
    *("lab", "suite", "year", "batch_size", "register", "special_tokens", "too_long", "stream"),
    *("allow_nonconforming", "fail_fast", "overwrite", "perturb", "seeds"),
)


def _how(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a plan and a run both take, as options of `resolve`."""
    return {
        **_taken(options, _OF_RUN),
        "quantities": options.quantities or [],
        "rendering": "chat" if options.chat_template else "plain",
    }


def prompts(options: argparse.Namespace) -> int:
    """List the prompt sets that come with the project, or the prompts of some."""
    from collect.prompts import listing

    rows = listing.prompts(options.sets) if options.sets else listing.sets()
    show(as_json(rows) if options.json else listing.as_text(rows))
    return 0


def status(options: argparse.Namespace) -> int:
    """List the units of an output."""
    from collect.record import queue, status

    units = status.units(options.directory)
    note(queue.damaged(options.directory))
    show(as_json(status.as_json(units)) if options.json else status.as_text(units))
    return 0


def check(options: argparse.Namespace) -> int:
    """Check the files of an output."""
    from collect.record.integrity import faults

    notes: list[str] = []
    errors = list(faults(options.directory, notes=notes))
    note(notes)
    for fault in errors:
        show(fault)
    if errors:
        show("Measure damaged units again with --overwrite, or restore them from a copy.")
    else:
        show(f"{options.directory}: every file is as its run file says")
    return 1 if errors else 0


def compact(options: argparse.Namespace) -> int:
    """Copy an output into one sorted file per table."""
    from collect.record.compaction import compact

    done = compact(options.directory, options.out)
    note(done.notes)
    show(f"{options.out}: {done.words}")
    return 0


def publish(options: argparse.Namespace) -> int:
    """Describe an output so that others find and use it."""
    from datetime import UTC, datetime

    from collect.record.publication.description import About
    from collect.record.publication.publish import publish

    citation = None
    if options.citation is not None:
        citation = text_at(options.citation, "A citation", "Name a file of BibTeX.")
    about = About(
        name=options.name or options.directory.resolve().name,
        licence=options.license,
        creators=tuple(options.creator),
        published=options.date or datetime.now(UTC).date(),
        url=options.url,
        citation=citation,
    )
    done = publish(options.directory, about, allow_dirty=options.allow_dirty)
    note(done.notes)
    show(f"{options.directory}: {done.words}")
    return 0


def train(options: argparse.Namespace) -> int:
    """Train small models from recipes."""
    with libraries_imported():
        from collect.training.train import train

    for recipe in options.recipes:
        checkpoint = train(
            recipe,
            options.out,
            overwrite=options.overwrite,
            keep=options.keep_checkpoints,
            quiet=options.quiet,
        )
        if not options.quiet:
            show(checkpoint)
    return 0


def study(options: argparse.Namespace) -> int:
    """Carry out a controlled study: train and measure what a design crosses."""
    if options.plan:
        from collect.training.study.design import read_design
        from collect.training.study.plan import as_text

        show(as_text(read_design(options.design)))
        return 0
    if options.out is None:
        raise InputError(
            "A study needs a directory for its rows; --out was not given.",
            "Give --out DIR, or --plan to see what would run.",
        )
    require_count("--processes", options.processes, least=1, hint="Give 1.")
    with libraries_imported():
        from collect.training.study import again, execution, merging

    if options.merge is not None:
        for table, n in merging.merge(options.design, options.out, options.merge).items():
            show(f"{table}: {counted(n, 'row')}")
        return 0
    if options.check is not None:
        repeats = again.check(options.design, options.out, options.check)
        for run in repeats:
            show(str(run))
        return 0 if all(run.is_close for run in repeats) else 1
    if options.resume is not None:
        merging.restore(options.design, options.resume, options.out)
    n_left = execution.carry_out(
        options.design, options.out, n_processes=options.processes, quiet=options.quiet
    )
    if not options.quiet:
        show(f"{counted(n_left, 'run')} left" if n_left else "every run is complete")
    return 0


def gauge(options: argparse.Namespace) -> int:
    """Change a model's weights and not its logits."""
    refuse_nameless(options.model)
    sets = _sets(options)
    with libraries_imported():
        from collect.gauge.command import gauge, plan

    what = {"prompt_sets": sets, **_taken(options, ("too_long", "revision"))}
    if options.plan:
        show(plan(options.model, **what).as_text())
        return 0
    what |= _taken(options, ("transformations", "seed", "overwrite"))
    how = {"extreme_of": options.extreme, "lowers": options.lower}
    checkpoint = gauge(options.model, options.out, **what, **how)
    show(checkpoint)
    return 0


def dequantise(options: argparse.Namespace) -> int:
    """Write the model of a GGUF file as safetensors."""
    refuse_nameless(options.model)
    with libraries_imported():
        from collect.gauge.saving import dequantise as write

    show(write(options.model, options.out, revision=options.revision))
    return 0


def published(options: argparse.Namespace) -> int:
    """Import the paper's raw result files."""
    from collect.published import fetch, import_results, write_excerpt, write_figures

    source = options.source or (options.out / "raw" if options.fetch else None)
    if source is None:
        raise InputError(
            "The directory of the result files must be named; none was.",
            "Give the folder paper3/Results of the paper's repository, or --fetch to download it.",
        )
    if options.fetch:
        fetch(source)
    for table, n_rows in import_results(source, options.out).items():
        show(f"{table}: {counted(n_rows, 'row')}")
    if options.figures is not None:
        write_figures(source, options.figures)
        write_excerpt(source, options.figures)
    return 0


def reported(options: argparse.Namespace) -> int:
    """Import lengths that others measured and published."""
    from collect.published.reported import import_reported

    for table, n_rows in import_reported(options.folders, options.out).items():
        show(f"{table}: {counted(n_rows, 'row')}")
    return 0


#: What a person who opens a database should know of it.
_OF_DATABASE = (
    "the file answers without the notes that thermoscope sql prints under an answer",
    "what its columns mean, which DESCRIBE leaves out: "
    "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'network'",
)


def database(options: argparse.Namespace) -> int:
    """Put measurements into one DuckDB file."""
    from collect.record.publication.database import default_directories, write_database

    directories = options.directories or default_directories()
    notes: list[str] = []
    n_rows_of = write_database(directories, options.out, overwrite=options.overwrite, notes=notes)
    note(notes)
    for table, n_rows in n_rows_of.items():
        show(f"{table}: {counted(n_rows, 'row')}")
    show(options.out)
    note(_OF_DATABASE)
    return 0


def codebook(options: argparse.Namespace) -> int:
    """Write data/README.md."""
    from collect.record.publication import codebook

    path = codebook.PATH
    if not options.check:
        if not shipped.is_clone():
            raise OutputError(
                f"The codebook of an installed product is only read; it is {path}.",
                "Write it in a clone, or print one table with: thermoscope columns TABLE",
            )
        codebook.write_codebook(path)
        show(path)
        return 0
    if codebook.is_current(path):
        return 0
    message = f"{path} is out of date; write it with: thermoscope collect codebook"
    print(as_typed(message, options.program), file=sys.stderr)
    return 1


def models(options: argparse.Namespace) -> int:
    """List the types of models, and what of each is measured."""
    from collect.adapters import answers
    from collect.record.atomic.files import write_text

    replies = answers.answers()
    if options.write:
        write_text(answers.PATH, answers.as_markdown(replies))
        show(answers.PATH)
    else:
        listed = [asdict(entry) for entry in replies]
        show(as_json(listed) if options.json else answers.as_text(replies))
    return int(any(entry.answer == answers.UNKNOWN for entry in replies))
