"""What the command line of collection accepts, verb by verb."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from collect.instruments.quantities import ALL, DEFAULT, TABLES

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

#: What the command is called when it is run as a module.
PROGRAM = "python -m collect"

_EPILOG = """\
examples:
  python -m collect plan EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements
  python -m collect run EleutherAI/pythia-70m --prompts B_pythia_sweep --out data/measurements
  python -m collect run checkpoints/mine --prompts A_grand_unified my_prompts.txt --out out
  python -m collect prompts                      the prompt sets, by name
  python -m collect status out
  python -m collect check out
  python -m collect database data/published data/measurements --out data/measurements.duckdb

exit codes:
  0  success
  1  a check found a difference
  2  something given is wrong
  3  a package of an extra is not installed
  4  something on the network could not be reached
  5  the output cannot be written
  6  a model does not conform to its adapter
 70  a defect of this program: an exception that nobody foresaw (--debug shows its trace)
 71  the machine lends no more memory, processes or open files
130  interrupted from the keyboard
"""


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser; each verb sets ``verb`` to its name.

    Parameters
    ----------
    program
        What the command is called in its help.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description="Run decoders and write raw measurements to Parquet.",
        epilog=_EPILOG.replace(PROGRAM, program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="print the trace of an exception that nobody foresaw (exit code 70)",
    )
    parser.add_argument("--version", action=_Version, help="print the version and end")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB", dest="verb")
    _add_plan(verbs)
    _add_run(verbs)
    _add_prompts(verbs)
    _add_status(verbs)
    _add_check(verbs)
    _add_train(verbs)
    _add_study(verbs)
    _add_gauge(verbs)
    _add_published(verbs)
    _add_database(verbs)
    _add_codebook(verbs)
    _add_models(verbs)
    return parser


class _Version(argparse.Action):
    """Prints the version, which is looked up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **given)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"thermoscope {version('thermoscope')}")
        parser.exit(0)


def _add_run(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "run",
        help="measure models, on prompt sets and by their weights",
        usage="%(prog)s MODEL [MODEL ...] [--prompts SET [SET ...]] --out DIR [options]",
        description="Measure models. What the output already holds is skipped, so a run that "
        "was stopped is resumed by the same command, and several may share one output.",
    )
    _add_what(parser)
    how = _add_how(parser)
    how.add_argument(
        "--allow-nonconforming",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="measure these models even if they fail a check, marked so in the data",
    )
    how.add_argument(
        "--fail-fast",
        action="store_true",
        help="end at the first model that is refused; else the others are measured, and all "
        "refusals named before and after",
    )
    how.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="local (default), or ray to spread the models over a Ray cluster",
    )
    labels = parser.add_argument_group("labels, where the checkpoint does not say or is wrong")
    labels.add_argument("--lab", help="who trained the models")
    labels.add_argument("--suite", help="the suite they were trained in")
    labels.add_argument("--year", type=int, help="year of first public release")
    _add_output(parser)


def _add_plan(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "plan",
        help="say what a run would do: rows, bytes, memory, time",
        usage="%(prog)s MODEL [MODEL ...] [--prompts SET [SET ...]] [--out DIR] [options]",
        description="Say what `run` with the same arguments would write and need, without "
        "reading any weight.",
    )
    _add_what(parser)
    _add_how(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out", type=Path, metavar="DIR", help="where to look for units that are complete"
    )
    output.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_what(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what to measure")
    what.add_argument("models", nargs="+", metavar="MODEL", help="checkpoint directory or hub id")
    what.add_argument(
        "--prompts",
        nargs="+",
        metavar="SET",
        default=[],
        help="names of prompt sets under data/prompts; files: JSONL, JSON, CSV, TSV or Parquet "
        "with a record per prompt, or text with a line per prompt; directories that datasets "
        "saved; none: weights only",
    )
    what.add_argument(
        "--quantities",
        nargs="+",
        metavar="NAME",
        help=f"{', '.join(TABLES)} or {ALL} (default: {' '.join(DEFAULT)}), "
        "logit_lens_entropy, last_states, or one of your own",
    )
    what.add_argument(
        "--register",
        nargs="+",
        default=[],
        metavar="FILE",
        help="Python files or modules that register quantities of your own, which --quantities "
        "then names",
    )
    what.add_argument(
        "--revision",
        nargs="+",
        metavar="NAME",
        help="branches, tags or commits on the hub, or checkpoints in a directory; a pattern such "
        "as 'step*' stands for all that match",
    )


def _add_how(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    how = parser.add_argument_group("how to measure")
    how.add_argument(
        "--dtype", default="float32", help="float32 (default), bfloat16 or float16 forward pass"
    )
    how.add_argument(
        "--device", default="cpu", help="cpu (default), cuda, cuda:1, or auto for all accelerators"
    )
    how.add_argument(
        "--batch-size", type=int, default=8, metavar="N", help="prompts per forward pass (8)"
    )
    how.add_argument(
        "--stream",
        action="store_true",
        help="run block by block even if the model fits into half of the memory",
    )
    how.add_argument(
        "--chat-template",
        action="store_true",
        help="put each prompt into the model's chat template, as a user's turn; prompts that are "
        "turns of a conversation need it",
    )
    how.add_argument(
        "--special-tokens",
        default="default",
        help="default (as the tokenizer does), never, or always (a start token in front)",
    )
    how.add_argument(
        "--too-long",
        default="refuse",
        metavar="POLICY",
        help="of prompts longer than the context: refuse (default), skip, or truncate",
    )
    return how


def _add_prompts(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "prompts",
        help="list the prompt sets that come with the project, or the prompts of some",
        description="List the prompt sets that come with the project: name, prompts, categories, "
        "hash. With names or files, print their prompts.",
    )
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help="a shipped set, or a file of prompts"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_status(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "status",
        help="list the units of an output",
        description="List the units of an output: complete, incomplete, nonconforming.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="the --out of `run`")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_check(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "check",
        help="check the files of an output",
        description="Check every file of an output: schema, keys, checks, rows, hashes. "
        "Prints a sentence for each fault and exits with 1 if there is one.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="the --out of `run`")


def _add_train(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "train",
        help="train small models from recipes",
        description="Train the model of each recipe and save it as a checkpoint. One that is "
        "there already, from the same recipe and text, is left as it is.",
    )
    parser.add_argument("recipes", nargs="+", type=Path, metavar="RECIPE", help="TOML file")
    parser.add_argument(
        "--keep-checkpoints",
        action="store_true",
        help="keep the network at each of the recipe's checkpoints too, for --revision 'step*'",
    )
    _add_output(parser)


def _add_study(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "study",
        help="carry out a controlled study: train and measure what a design crosses",
        description="Train the networks that a design crosses and measure each on the way. "
        "What the output already holds is skipped, so a study that was stopped is resumed by "
        "the same command.",
    )
    parser.add_argument("design", type=Path, metavar="DESIGN", help="TOML file")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write the rows")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="say what would run, and train nothing")
    what.add_argument(
        "--merge", type=Path, metavar="DIR", help="write the rows there, one file per table"
    )
    what.add_argument(
        "--check",
        type=int,
        metavar="N",
        help="train the N cheapest runs again and compare them with the rows of --out",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="take runs whose merged rows lie there as done, such as data/fleet",
    )
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="runs at a time (1)")
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="start no run after so many minutes"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    parser.add_argument(
        "--progress", action="store_true", help="show progress even when not at a terminal"
    )


def _add_gauge(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "gauge",
        help="change a model's weights and not its logits",
        description="Write a checkpoint whose logits are those of another, its weights in other "
        "coordinates, and gauge.json beside them: how far logits and every quantity moved.",
    )
    parser.add_argument("model", metavar="MODEL", help="checkpoint directory or hub id")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the new checkpoint")
    parser.add_argument(
        "--transformations",
        nargs="+",
        default=[],
        metavar="NAME",
        help="what to apply, by random elements, in this order (default: all that are free)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random elements (0)")
    parser.add_argument(
        "--extreme",
        metavar="QUANTITY",
        help="instead, move one quantity as far as float32 allows: gain_last_block, "
        "gain_penultimate_block, gain_body or total_amplification",
    )
    parser.add_argument("--lower", action="store_true", help="move it down, not up")
    parser.add_argument(
        "--prompts",
        nargs="+",
        metavar="SET",
        default=["A_grand_unified"],
        help="prompt sets on which logits and quantities are compared (A_grand_unified)",
    )
    parser.add_argument("--revision", help="branch, tag or commit on the hub")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there already")


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
        "--figures",
        type=Path,
        metavar="DIR",
        help="write the tables of published figures, and the values kept of single prompts, there",
    )


def _add_database(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "database",
        help="put measurements into one DuckDB file",
        description="Put the tables of some directories, with comments, views and macros, into "
        "one DuckDB file that older DuckDB programs can read.",
    )
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
        description="Write data/README.md from schema.sql and the views.",
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the file is out of date"
    )


def _add_models(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "models",
        help="list the types of models, and what of each is measured",
        description="List every type of causal model that the installed transformers knows: "
        "measured, measured in part, or refused. Exits with 1 if one is unknown.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with reasons")
    parser.add_argument(
        "--write", action="store_true", help="write collect/adapters/TYPES.md instead"
    )
