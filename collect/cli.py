"""The command line of collection: run, train, published, database, codebook."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from collect.errors import CollectError, InputError, MissingExtraError, OutputError
from collect.schema import ContractError

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_EXTRA = ("torch", "transformers", "safetensors", "huggingface_hub", "tokenizers", "tqdm")

_EPILOG = """\
examples:
  python -m collect run EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements
  python -m collect run checkpoints/mine --prompts A_grand_unified my_prompts.txt --out out
  python -m collect database data/published data/measurements --out data/measurements.duckdb
  python -m collect codebook --check

exit codes:
  0  success
  1  a check found a difference
  2  something given is wrong
  3  a package of the [collect] extra is not installed
  4  something on the network could not be reached
  5  the output cannot be written
  6  a model does not conform to its adapter
130  interrupted from the keyboard
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no traceback reaches the user."""
    try:
        options = _options(arguments)
        return int(options.act(options))
    except CollectError as error:
        return _complain(error.problem, error.hint, error.exit_code)
    except ContractError as error:
        return _complain(error.problem, error.hint, InputError.exit_code)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        missing = MissingExtraError(
            f"This command needs the package {error.name}, which is not installed.",
            "Install the extra: pip install 'thermoscope[collect]', or in a clone: "
            "pip install -e '.[collect]'.",
        )
        return _complain(missing.problem, missing.hint, missing.exit_code)
    except KeyboardInterrupt:
        print("interrupted; the same command resumes", file=sys.stderr)
        return 130


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return _parser().parse_args(arguments)
    finally:
        _print("", end="")  # sends off the help, which parse_args leaves in the buffer


def _print(text: object, end: str = "\n") -> None:
    """Print to standard output; when its reader has gone, the work goes on in silence."""
    try:
        print(text, end=end, flush=True)
    except OSError as error:
        # What is left in the buffer would fail again when the interpreter closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(
                f"Standard output must be writable; {error.strerror or error}.",
                "Free the space, or send the output elsewhere.",
            ) from error


def _complain(problem: str, hint: str, exit_code: int) -> int:
    print(f"error: {problem}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m collect",
        description="Run decoders and write raw measurements to Parquet.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    _add_run(verbs)
    _add_train(verbs)
    _add_published(verbs)
    _add_database(verbs)
    _add_codebook(verbs)
    return parser


def _add_run(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "run",
        help="measure models, on prompt sets and by their weights",
        usage="%(prog)s MODEL [MODEL ...] [--prompts SET [SET ...]] --out DIR [options]",
        description="Measure models. What the output already holds is skipped, so a run that "
        "was stopped is resumed by the same command.",
    )
    parser.set_defaults(act=_run)
    what = parser.add_argument_group("what to measure")
    what.add_argument("models", nargs="+", metavar="MODEL", help="checkpoint directory or hub id")
    what.add_argument(
        "--prompts",
        nargs="+",
        metavar="SET",
        default=[],
        help="names of prompt sets under data/prompts, or text files; none: weights only",
    )
    what.add_argument("--revision", help="branch, tag or commit on the hub")
    how = parser.add_argument_group("how to measure")
    how.add_argument(
        "--dtype", default="float32", help="float32 (default), bfloat16 or float16 forward pass"
    )
    how.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, ...")
    how.add_argument(
        "--batch-size", type=int, default=8, metavar="N", help="prompts per forward pass (8)"
    )
    labels = parser.add_argument_group("labels, where the checkpoint does not say or is wrong")
    labels.add_argument("--lab", help="who trained the models")
    labels.add_argument("--suite", help="the suite they were trained in")
    labels.add_argument("--year", type=int, help="year of first public release")
    _add_output(parser)


def _add_train(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "train",
        help="train small models from recipes",
        description="Train the model of each recipe and save it as a checkpoint. One that is "
        "there already, from the same recipe and text, is left as it is.",
    )
    parser.set_defaults(act=_train)
    parser.add_argument("recipes", nargs="+", type=Path, metavar="RECIPE", help="TOML file")
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    output.add_argument("--overwrite", action="store_true", help="do again what is there already")
    output.add_argument("--quiet", action="store_true", help="say nothing but errors")
    output.add_argument(
        "--progress", action="store_true", help="show progress even when not at a terminal"
    )


def _add_published(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "published",
        help="import the paper's raw result files",
        description="Import the raw result files of the paper into tables of the contract.",
    )
    parser.set_defaults(act=_published)
    parser.add_argument(
        "source",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="directory of the result files; with --fetch by default raw/ under --out",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--fetch", action="store_true", help="download the result files into DIR first"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="write the tables of published figures there"
    )


def _add_database(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "database",
        help="put measurements into one DuckDB file",
        description="Put the tables of some directories, with comments, views and macros, into "
        "one DuckDB file that older DuckDB programs can read.",
    )
    parser.set_defaults(act=_database)
    parser.add_argument(
        "directories",
        nargs="*",
        type=Path,
        metavar="DIR",
        help="directories of tables; by default those under data that exist",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("data/measurements.duckdb"),
        metavar="FILE",
        help="file to write (data/measurements.duckdb)",
    )


def _add_codebook(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "codebook",
        help="write data/README.md",
        description="Write data/README.md from schema.sql and views.sql.",
    )
    parser.set_defaults(act=_codebook)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the file is out of date"
    )


def _run(options: argparse.Namespace) -> int:
    from collect.run import run

    run(
        options.models,
        options.prompts,
        options.out,
        dtype=options.dtype,
        device=options.device,
        batch_size=options.batch_size,
        revision=options.revision,
        lab=options.lab,
        suite=options.suite,
        year=options.year,
        overwrite=options.overwrite,
        quiet=options.quiet,
        progress=options.progress,
    )
    return 0


def _train(options: argparse.Namespace) -> int:
    from collect.train import train

    for recipe in options.recipes:
        checkpoint = train(
            recipe,
            options.out,
            overwrite=options.overwrite,
            quiet=options.quiet,
            progress=options.progress,
        )
        if not options.quiet:
            _print(checkpoint)
    return 0


def _published(options: argparse.Namespace) -> int:
    from collect.published import fetch, import_results, write_figures

    source = options.source or (options.out / "raw" if options.fetch else None)
    if source is None:
        raise InputError(
            "The directory of the result files must be named; none was.",
            "Give the folder paper3/Results of the paper's repository, or --fetch to download it.",
        )
    if options.fetch:
        fetch(source)
    for table, n_rows in import_results(source, options.out).items():
        _print(f"{table}: {n_rows} rows")
    if options.figures is not None:
        write_figures(source, options.figures)
    return 0


def _database(options: argparse.Namespace) -> int:
    from collect.database import default_directories, write_database

    directories = options.directories or default_directories()
    for table, n_rows in write_database(directories, options.out).items():
        _print(f"{table}: {n_rows} rows")
    _print(options.out)
    return 0


def _codebook(options: argparse.Namespace) -> int:
    from collect import codebook

    path = codebook.PATH
    if not options.check:
        codebook.write_codebook(path)
        _print(path)
        return 0
    if codebook.is_current(path):
        return 0
    print(f"{path} is out of date; write it with: python -m collect codebook", file=sys.stderr)
    return 1
