"""Options of the verbs that measure: what, how, and where to."""

from __future__ import annotations

import argparse
from pathlib import Path

from collect.commands.output import add_output, local


def run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    parser.usage = "%(prog)s MODEL [MODEL ...] [--prompts SET [SET ...]] --out DIR [options]"
    _add_what(parser)
    how = _add_how(parser)
    how.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="local (default), or ray to spread the models over a Ray cluster",
    )
    _add_refusals(parser)
    _add_labels(parser)
    add_output(parser)


def plan(parser: argparse.ArgumentParser) -> None:
    """Add the options of `plan`."""
    parser.usage = "%(prog)s MODEL [MODEL ...] [--prompts SET [SET ...]] [--out DIR] [options]"
    _add_what(parser)
    _add_how(parser)
    _add_refusals(parser)
    _add_labels(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out", type=local, metavar="DIR", help="where to look for units that are complete"
    )
    output.add_argument(
        "--overwrite", action="store_true", help="plan to do again what is there already"
    )
    output.add_argument(
        "--queue",
        action="store_true",
        help="write the plan into --out, so that `status` tells what is still to do",
    )
    output.add_argument("--json", action="store_true", help="print JSON instead of a table")


def look(parser: argparse.ArgumentParser) -> None:
    """Add the options of `look`."""
    _add_one(parser)


def verify(parser: argparse.ArgumentParser) -> None:
    """Add the options of `verify`."""
    _add_one(parser)


def _add_one(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="checkpoint directory, GGUF file or hub id")
    parser.add_argument("--revision", metavar="NAME", help="branch, tag, commit or checkpoint")
    parser.add_argument("--dtype", default="float32", help="float32 (default), bfloat16 or float16")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:1")


def _add_what(parser: argparse.ArgumentParser) -> None:
    from collect.instruments.quantities import ALL, DEFAULT, TABLES

    what = parser.add_argument_group("what to measure")
    what.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="checkpoint directory, GGUF file, hub id, or hub id/FILE.gguf; @FILE for those that "
        "a file lists, one a line",
    )
    what.add_argument(
        "--prompts",
        nargs="+",
        metavar="SET",
        default=[],
        help="names of prompt sets under data/prompts; files: text with a line per prompt, or "
        "JSONL, JSON, CSV, TSV or Parquet with a record per prompt, under text, messages or "
        "token_ids; directories that datasets saved; the word none, or no --prompts: weights only",
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
        "--dtype",
        default="float32",
        help="float32 (default), bfloat16 or float16 forward pass; bfloat16 moves entropies of the "
        "next token by about .02 nat",
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
        help="of prompts longer than the context: refuse (default), skip, truncate, or extend, "
        "which reads them whole where positions are computed (rotary, ALiBi)",
    )
    how.add_argument(
        "--perturb",
        metavar="HOW",
        help="step: measure quantised weights of a GGUF file as they are, then again with one more "
        "rounding error of the file's own size, uniform within half a step of each block; views "
        "leave these rows out",
    )
    how.add_argument(
        "--seeds", type=int, metavar="N", help="of --perturb: how often, with seeds 1 to N (3)"
    )
    return how


def _add_refusals(parser: argparse.ArgumentParser) -> None:
    refusals = parser.add_argument_group("models that fail a check")
    refusals.add_argument(
        "--allow-nonconforming",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="measure these models even if they fail a check, marked so in the data",
    )
    refusals.add_argument(
        "--fail-fast",
        action="store_true",
        help="end at the first model that is refused; else the others are measured, and all "
        "refusals named before and after",
    )


def _add_labels(parser: argparse.ArgumentParser) -> None:
    labels = parser.add_argument_group("labels, where the checkpoint does not say or is wrong")
    labels.add_argument("--lab", help="who trained the models")
    labels.add_argument("--suite", help="the suite they were trained in")
    labels.add_argument("--year", type=int, help="year of first public release")


def states(parser: argparse.ArgumentParser) -> None:
    """Add the options of `states`."""
    from collect.instruments.own.definition import SITES
    from collect.job.states.declared import KNOWN

    parser.usage = "%(prog)s FILE [FILE ...] --model CONFIG --engine NAME [--out DIR] [options]"
    what = parser.add_argument_group("what the files are")
    what.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="safetensors or npz, one prompt each: hidden_states (layers, tokens, d), of vllm "
        "(tokens, layers, d), with token_ids beside them",
    )
    what.add_argument(
        "--model",
        required=True,
        metavar="CONFIG",
        help="the model that was run: config.json, a directory with it, a GGUF file or a hub id; "
        "no weight is read",
    )
    what.add_argument(
        "--engine",
        required=True,
        metavar="NAME",
        help=f"what wrote them, recorded in the rows; {', '.join(KNOWN)}: order of axes and site "
        "are known",
    )
    what.add_argument("--site", metavar="SITE", help=f"place in the stream: {', '.join(SITES)}")
    what.add_argument(
        "--layers",
        nargs="+",
        type=int,
        metavar="N",
        help="number of each entry in the order of the file (default: all, from 0); at site "
        "block_input the number of blocks is what leaves the last",
    )
    what.add_argument(
        "--prompts", metavar="SET", help="the prompts, one for each file; default: their token ids"
    )
    what.add_argument(
        "--against",
        metavar="MODEL",
        help="run this model on the first prompt and compare layer by layer; exits with 1, and "
        "writes nothing, where the states are not the model's",
    )
    add_output(parser, is_required=False)
