"""Every transformation on every family and on trained models, and how far quantities go there.

    thermoscope collect train data/sample/recipes/*-l4-adamw.toml --out runs/models
    python -m tests.proofs.gauge runs/models/*

asserts that 20 random elements of every transformation leave the logits to 1e-10 in float64, on
the tiny random model of every family and on the trained models named, prints what each layout
refuses, and writes ``data/sample/gauge_range.csv``: how far the trained models' quantities moved.
``--skip-families`` leaves the tiny models out; ``--families`` names those to be taken.
"""

from __future__ import annotations

import argparse
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from collect.adapters import ADAPTERS
from collect.gauge import group
from collect.gauge.logits import difference, logits
from collect.gauge.measured import measured
from collect.gauge.precision import widened
from collect.gauge.quantity import change, values
from collect.gauge.transformations.wiring import UNWIRED
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.checkpoint.load import load_model, load_tokenizer
from collect.model.checkpoint.location import locate
from collect.prompts.sets import load
from collect.prompts.tokens import Encoded, encode
from tests.collect.families import FAMILIES, tiny_family
from tests.collect.shown import LONG, SHORT

OUT = Path(__file__).parents[2] / "data" / "sample" / "gauge_range.csv"
N_ELEMENTS, N_MEASURED, TOLERANCE, ROUNDING = 20, 3, 1e-10, 1e-9


def elements(of: Decoder, prompts: list[Encoded], n_kept: int) -> dict[str, list[Decoder]]:
    """Return a few of 20 elements of every transformation, all of which leave the logits."""
    true, kept = logits(of, prompts), {}
    for member in group.chosen(of, ()):
        for seed in range(N_ELEMENTS):
            found = replace(of, model=deepcopy(of.model))
            group.transform(found, [member], np.random.default_rng(seed))
            off = difference(true, logits(found, prompts)).relative
            assert off < TOLERANCE, (of.model.config.model_type, member, seed, off)
            if seed < n_kept:
                kept.setdefault(member, []).append(found)
    return kept


def refused(of: Decoder) -> str:
    """Return what a network refuses, with reasons."""
    reasons = group.refusals(of).items()
    return "\n".join(f"  {member}: {reason}" for member, reason in reasons if reason is not None)


def ranges(name: str, of: Decoder, prompts: list[Encoded]) -> list[dict[str, object]]:
    """Return the rows of one trained model: what moved, and how far."""
    true, rows = logits(of, prompts), []
    for member, networks in elements(of, prompts, N_MEASURED).items():
        named = {f"{place}": network for place, network in enumerate(networks)}
        found = values(measured({"before": of, **named}, prompts))
        off = max(difference(true, logits(network, prompts)).relative for network in networks)
        for quantity, before in found.pop("before").items():
            after = [of_one[quantity] for of_one in found.values()]
            largest = max(change(before, one) for one in after)
            if largest > ROUNDING:
                means = [float(one.mean()) for one in after]
                rows.append(
                    {
                        "model_id": name,
                        "quantity": quantity,
                        "transformation": member,
                        "n_elements": len(networks),
                        "original": float(before.mean()),
                        "lowest": min(means),
                        "highest": max(means),
                        "largest_change": largest,
                        "largest_logit_change": off,
                    }
                )
    return rows


def main() -> None:
    """Check the families, then the trained models, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", nargs="*")
    parser.add_argument("--skip-families", action="store_true")
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    options = parser.parse_args()
    for name in () if options.skip_families else options.families:
        model = tiny_family(name)
        if model.config.model_type in UNWIRED:
            continue
        of = widened(decoder(model, ADAPTERS[model.config.model_type]))
        n_free = len(elements(of, [LONG, SHORT], 0) or group.chosen(of, ()))
        print(f"{name}: {n_free} free, {N_ELEMENTS} elements each; refused:", flush=True)
        print(refused(of), flush=True)
    rows: list[dict[str, object]] = []
    for directory in options.checkpoints:
        checkpoint = locate(directory)
        prompts = encode(load("A_grand_unified").prompts, load_tokenizer(checkpoint))[::10]
        rows += ranges(checkpoint.model_id, widened(load_model(checkpoint)), prompts)
        pd.DataFrame(rows).to_csv(OUT, index=False, lineterminator="\n")
        print(f"{checkpoint.model_id}: {len(rows)} rows so far in {OUT}", flush=True)


if __name__ == "__main__":
    main()
