"""The command ``gauge``: a checkpoint in, another with the same logits and a certificate out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collect.errors import ConformanceError, InputError
from collect.gauge import extreme, group
from collect.gauge.logits import TOLERANCES, Difference, Reference
from collect.gauge.measured import measured
from collect.gauge.precision import widen
from collect.gauge.quantity import change, values
from collect.gauge.saving import save
from collect.gauge.transformations import layer_scale
from collect.job.planning import estimate
from collect.measures.register import BUILT_IN
from collect.model.checkpoint import memory
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model, load_skeleton, tokenizer_for
from collect.model.checkpoint.location import locate
from collect.model.conformance.header_agreement import contradictions
from collect.model.conformance.refusal import refuse_misread, refuse_own_code
from collect.model.forward.positions import readable
from collect.model.labels import SIDECAR
from collect.process.interruption import interruptible
from collect.process.requests import temporary_folder
from collect.prompts.sets import load_all
from collect.prompts.tokens import Encoded
from collect.record.atomic.directory import complete_or_absent
from collect.record.provenance import versions
from collect.schema.counting import require_count

#: Memory that a row of what is measured takes until its quantities are read off [bytes]: as
#: measured on networks of 134 and 135 million parameters with 60 and 251 thousand rows.
_ROW_BYTES = 3_500

#: Name of the certificate beside the weights.
_CERTIFICATE = "gauge.json"

#: Files of a checkpoint that hold weights or speak of them, which a changed one writes anew.
_REPLACED = ("config.json", "recipe.toml", SIDECAR, _CERTIFICATE)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a change takes.

    Attributes
    ----------
    checkpoint, prompts
        What is changed, and the prompts on which it is compared.
    peak_bytes, logit_bytes, n_bytes
        Memory at the peak, disk for logits among temporary files, and disk for the new checkpoint
        [bytes]; estimates.
    """

    checkpoint: Checkpoint
    prompts: tuple[Encoded, ...]
    peak_bytes: int
    logit_bytes: int
    n_bytes: int

    def as_text(self) -> str:
        """Return the plan for people."""
        name, place = self.checkpoint.model_id, gettempdir()
        return "\n".join(
            (
                f"{name}: {memory.as_text(self.peak_bytes)} of memory at the peak",
                f"{memory.as_text(self.n_bytes)} on disk for the new checkpoint",
                f"{memory.as_text(self.logit_bytes)} in {place} for logits, until it ends",
            )
        )


@interruptible()
def plan(
    model: str,
    *,
    prompt_sets: Sequence[str] = ("A_grand_unified",),
    too_long: str = "refuse",
    revision: str | None = None,
) -> Plan:
    """Return what `gauge` with the same arguments would take; no weight is read."""
    sets = load_all(prompt_sets)
    checkpoint = locate(model, revision=revision)
    refuse_own_code(checkpoint.own_code)
    skeleton = load_skeleton(checkpoint)
    refuse_misread(contradictions(skeleton.model, checkpoint.gguf))
    for chosen in sets:
        if "turns" in set(chosen.prompts["format"]):
            raise InputError(
                f"Prompts of gauge must be text or token ids; {chosen.name} has turns.",
                "Give other --prompts: it puts none into a chat template.",
            )
    tokenizer = tokenizer_for(checkpoint, sets)
    every = pd.concat([chosen.prompts for chosen in sets], ignore_index=True)
    prompts = readable(skeleton, every, tokenizer, too_long).prompts
    shape, lengths = estimate.shape_of(skeleton), [len(prompt) for prompt in prompts]
    of_run = estimate.peak_bytes(shape, lengths, dtype="float32", batch_size=8, streamed=False)
    n_rows = sum(estimate.n_rows(shape, lengths, tuple(BUILT_IN)).values())
    table = shape.n_vocabulary * shape.d_model * bool(skeleton.model.config.tie_word_embeddings)
    return Plan(
        checkpoint,
        prompts,
        # A run's, with numbers of twice the width.
        peak_bytes=2 * of_run - estimate.INTERPRETER_BYTES + 8 * table + _ROW_BYTES * n_rows,
        logit_bytes=(4 + 8) * sum(lengths) * shape.n_vocabulary,
        n_bytes=4 * (shape.n_parameters + table),
    )


@interruptible()
def gauge(
    model: str,
    out: Path,
    *,
    transformations: Sequence[str] = (),
    seed: int = 0,
    extreme_of: str | None = None,
    lowers: bool = False,
    prompt_sets: Sequence[str] = ("A_grand_unified",),
    too_long: str = "refuse",
    revision: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a checkpoint that computes what another does, in other coordinates.

    The change is made in float64 and saved in float32. ``gauge.json`` beside the weights is the
    certificate: the largest difference of a logit, of the change itself in float64 and of the two
    checkpoints run in float32, and every quantity before and after, in float64.

    Parameters
    ----------
    model
        Checkpoint directory, GGUF file or hub identifier.
    out
        Directory of the new checkpoint.
    transformations
        Names of `group.TRANSFORMATIONS`; none for all that are free.
    seed
        Of the random element.
    extreme_of, lowers
        A quantity to move as far as float32 allows instead, and whether down; see `extreme`.
    prompt_sets, too_long
        On which prompts logits and quantities are compared, and what becomes of those beyond the
        model's context; see `sets.load` and `fitting.fitted`.
    revision
        Branch, tag or commit of a hub repository.
    overwrite
        Replace a checkpoint that this command wrote.

    Returns
    -------
    Directory of the checkpoint.

    Raises
    ------
    CollectError
        If something given is wrong, the network is not free under a transformation, or the output
        cannot be written; `ConformanceError` if the logits moved. Nothing half-written remains.
    """
    seed = require_count("The seed", seed, least=0, hint="Use --seed 0.")
    _refuse_contradiction(transformations, extreme_of, lowers=lowers)
    _refuse_occupied(out, overwrite=overwrite)
    planned = plan(model, prompt_sets=prompt_sets, too_long=too_long, revision=revision)
    _refuse_too_large(planned)
    checkpoint, prompts = planned.checkpoint, planned.prompts
    network = load_model(checkpoint)
    names = _requested(network, transformations, extreme_of)
    with temporary_folder("thermoscope-") as place:
        short = Reference(network, prompts, place / "float32")
        widen(network)
        wide = Reference(network, prompts, place / "float64")
        before = _values_of(network, prompts)
        if extreme_of is None:
            done = _transform(network, names, seed)
        else:
            del network  # one at a time is held
            load, direction = partial(load_model, checkpoint), -1 if lowers else 1
            shift = extreme.furthest(load, extreme_of, short, direction=direction)
            network = extreme.moved(load, extreme_of, shift)
            done = {"extreme": extreme_of, "direction": "lower" if lowers else "raise"}
        in_wide = wide.difference(network)
        _refuse_moved(in_wide, "float64", names)
        is_rounded = extreme_of is None and layer_scale.round_epsilon(network)
        of_file = wide.difference(network) if is_rounded else in_wide
        after = _values_of(network, prompts)
        network.model.float()
        in_short = short.difference(network)
        _refuse_moved(in_short, "float32", names)
    if extreme_of is not None:
        reached = {"shift": shift, "value": float(after[extreme_of].mean())}
        done["reached"] = reached | {"float64": asdict(in_wide), "float32": asdict(in_short)}
    content = {
        "model_id": checkpoint.model_id,
        "weights_sha256": checkpoint.weights_sha256(),
        **done,
        "n_prompts": len(prompts),
        "tolerance": TOLERANCES["float32"],
        "logits_float64": asdict(in_wide) | {"relative": in_wide.relative},
        "logits_one_epsilon": asdict(of_file) | {"relative": of_file.relative},
        "logits_float32": asdict(in_short) | {"relative": in_short.relative},
        "quantities": [_move(name, of, after[name]) for name, of in before.items()],
        **versions(),
    }
    _write(checkpoint, network, content, out)
    return out


def _values_of(network: Decoder, prompts: Sequence[Encoded]) -> dict[str, NDArray[np.float64]]:
    """Return the values on prompts of every quantity that a network in float64 has."""
    return values(measured({"network": network}, prompts))["network"]


def _move(
    name: str, before: NDArray[np.float64], after: NDArray[np.float64]
) -> dict[str, str | float]:
    """Return how a quantity differs: its mean, and the largest change over the largest value."""
    return {
        "quantity": name,
        "n_values": len(before),
        "mean_before": float(before.mean()),
        "mean_after": float(after.mean()),
        "largest_change": change(before, after),
    }


def _refuse_too_large(planned: Plan) -> None:
    """Refuse a model that the memory cannot hold, before any weight is read."""
    available = memory.available("cpu")
    if planned.peak_bytes > available:
        raise InputError(
            f"gauge holds a model in float64, which takes about "
            f"{memory.as_text(planned.peak_bytes)} for {planned.checkpoint.model_id}; "
            f"{memory.as_text(available)} are available.",
            "Give a smaller model, fewer prompts, or a machine with more memory.",
        )


def _requested(network: Decoder, names: Sequence[str], extreme_of: str | None) -> tuple[str, ...]:
    """Return the transformations asked for, once the network is known to be free under them."""
    if extreme_of is not None:
        extreme.check(network, extreme_of)
        return ()
    return group.chosen(network, names)


def _transform(network: Decoder, names: Sequence[str], seed: int) -> dict[str, Any]:
    """Transform a network in place; return what was done, for the certificate."""
    reasons = group.refusals(network)
    was_tied = network.model.config.tie_word_embeddings
    group.transform(network, names, np.random.default_rng(seed))
    return {
        "transformations": list(names),
        "seed": seed,
        "is_head_parted": bool(was_tied and not network.model.config.tie_word_embeddings),
        "refused": {name: reason for name, reason in reasons.items() if reason is not None},
    }


def _refuse_moved(gap: Difference, number_format: str, names: Sequence[str]) -> None:
    """Refuse logits that moved by more than rounding in a number format."""
    tolerance = TOLERANCES[number_format]
    if gap.relative <= tolerance:
        return
    hints = {
        "float64": "One of these changes is not free in this network; --transformations with one "
        f"name at a time shows which: {', '.join(names)}."
        if names
        else "The shift that --extreme adds is not free in this network: leave it out.",
        "float32": "The change is exact and float32 rounds it away: give another --seed, or fewer "
        "--transformations.",
    }
    raise ConformanceError(
        f"The logits moved: by {gap.relative:.3g} of the largest logit in {number_format}, where "
        f"{tolerance:g} is the tolerance. No checkpoint was written.",
        hints[number_format],
    )


def _refuse_contradiction(
    transformations: Sequence[str], extreme_of: str | None, *, lowers: bool
) -> None:
    if lowers and extreme_of is None:
        raise InputError(
            "--lower must come with the quantity that --extreme moves; found it alone.",
            "Add --extreme gain_last_block, or leave --lower out.",
        )
    if transformations and extreme_of is not None:
        raise InputError(
            "A quantity is moved instead of other changes; found --extreme beside "
            "--transformations.",
            "Leave one of the two out.",
        )


def _refuse_occupied(out: Path, *, overwrite: bool) -> None:
    if not out.exists():
        return
    if not (out / _CERTIFICATE).is_file():
        raise InputError(
            f"{out} must be free or written by this command; found no {_CERTIFICATE} in it.",
            "Choose another --out, or move it away.",
        )
    if not overwrite:
        raise InputError(
            f"{out} must be free; it holds a changed checkpoint already.",
            "Give --overwrite to replace it, or choose another --out.",
        )


def _write(checkpoint: Checkpoint, network: Decoder, content: dict[str, Any], out: Path) -> None:
    """Write weights, configuration, certificate, and what else the checkpoint holds."""
    with complete_or_absent(out.absolute()) as directory:
        save(checkpoint, network, directory, _REPLACED)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        (directory / _CERTIFICATE).write_text(text, encoding="utf-8")
