"""Options of the verbs that make models: trained from a recipe, by a design, or transformed."""

from __future__ import annotations

import argparse
from pathlib import Path

from collect.commands.output import add_output, local

#: The transformations of `gauge`, told without importing what they are made of.
TRANSFORMATIONS = (
    "norm_scale",
    "norm_fold",
    "reader_shift",
    "stream_rotation",
    "stream_order",
    "stream_scale",
    "mean_shift",
    "value_basis",
    "value_bias",
    "query_key_basis",
    "key_bias",
    "neuron_scale",
    "neuron_order",
    "layer_fold",
    "layer_scale",
)


def train(parser: argparse.ArgumentParser) -> None:
    """Add the options of `train`."""
    parser.add_argument("recipes", nargs="+", type=Path, metavar="RECIPE", help="TOML file")
    parser.add_argument(
        "--keep-checkpoints",
        action="store_true",
        help="keep the network at each of the recipe's checkpoints too, for --revision 'step*'",
    )
    add_output(parser)


def study(parser: argparse.ArgumentParser) -> None:
    """Add the options of `study`."""
    parser.add_argument("design", type=Path, metavar="DESIGN", help="TOML file")
    parser.add_argument("--out", type=local, metavar="DIR", help="where to write the rows")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="say what would run, and train nothing")
    what.add_argument(
        "--merge", type=local, metavar="DIR", help="write the rows there, one file per table"
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
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")


def dequantise(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dequantise`."""
    parser.add_argument("model", metavar="FILE.gguf", help="GGUF file, or hub id/FILE.gguf")
    parser.add_argument(
        "--out", type=local, required=True, metavar="DIR", help="the new checkpoint"
    )
    parser.add_argument("--revision", metavar="NAME", help="branch, tag or commit on the hub")


def gauge(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gauge`."""
    parser.add_argument("model", metavar="MODEL", help="checkpoint directory, GGUF file or hub id")
    parser.add_argument(
        "--out", type=local, required=True, metavar="DIR", help="the new checkpoint"
    )
    parser.add_argument(
        "--transformations",
        nargs="+",
        default=[],
        metavar="NAME",
        help="what to apply, by random elements, in this order (default: all that are free): "
        f"{', '.join(TRANSFORMATIONS)}",
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
    parser.add_argument(
        "--too-long",
        choices=("refuse", "skip", "truncate", "extend"),
        default="refuse",
        help="of prompts longer than the context: refuse (default), skip, truncate, or extend, "
        "which reads them whole where positions are computed (rotary, ALiBi)",
    )
    parser.add_argument(
        "--plan", action="store_true", help="say what memory and disk it would take, and end"
    )
    parser.add_argument("--revision", help="branch, tag or commit on the hub")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there already")
