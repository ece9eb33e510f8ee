"""The command ``gauge``: a checkpoint in, another with the same logits and a certificate out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from collect.errors import ConformanceError, InputError
from collect.gauge import certificate, extreme, group
from collect.gauge.logits import TOLERANCES, Difference, difference, logits
from collect.gauge.precision import widened
from collect.job.subject import n_bytes
from collect.model.checkpoint import memory
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model, load_skeleton, tokenizer_for
from collect.model.checkpoint.location import locate
from collect.model.conformance.refusal import refuse_own_code
from collect.model.forward.positions import refuse_beyond
from collect.model.labels import SIDECAR
from collect.prompts.fitting import fitted
from collect.prompts.sets import PromptSet, load_all
from collect.prompts.tokens import Encoded, encode
from collect.record.atomic.directory import complete_or_absent
from collect.record.provenance import versions
from collect.schema.counting import as_count
from collect.training.architecture import save_network

#: Memory at the peak, over the size of the weights in float32: the network in float32, before and
#: after in float64, and the logits of both; measured on networks of 135 and 268 million
#: parameters, as 6.8 and 7.9.
_COPIES = 8

#: Files of a checkpoint that hold weights or speak of them, which a changed one writes anew.
_REPLACED = ("config.json", "recipe.toml", SIDECAR, certificate.FILE)


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed network in float64, and what was done to it."""

    network: Decoder
    done: dict[str, Any]


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
        Checkpoint directory or hub identifier.
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
    seed = as_count("The seed", seed, least=0, hint="Use --seed 0.")
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
    _refuse_occupied(out, overwrite=overwrite)
    sets = load_all(prompt_sets)
    checkpoint = locate(model, revision=revision)
    if checkpoint.gguf is not None:
        raise InputError(
            f"gauge writes a checkpoint beside its tokenizer's files; {model} is a GGUF file.",
            "Give a checkpoint directory with safetensors files.",
        )
    refuse_own_code(checkpoint.own_code)
    _refuse_too_large(checkpoint)
    decoder = load_model(checkpoint)
    prompts = _readable(sets, checkpoint, decoder, too_long)
    wide = widened(decoder)
    if extreme_of is None:
        changed = _transformed(wide, transformations, seed)
    else:
        changed = _moved(wide, extreme_of, prompts, lowers=lowers)
    in_wide = difference(logits(wide, prompts), logits(changed.network, prompts))
    _refuse_moved(in_wide, "float64", changed)
    quantities = certificate.quantities(wide, changed.network, prompts)
    short = replace(changed.network, model=changed.network.model.float())
    in_short = difference(logits(decoder, prompts), logits(short, prompts))
    _refuse_moved(in_short, "float32", changed)
    content = {
        "logits_float64": certificate.as_json(in_wide),
        "logits_float32": certificate.as_json(in_short),
        "quantities": quantities,
    }
    _write(checkpoint, short, _content(checkpoint, changed, len(prompts), content), out)
    return out


def _refuse_too_large(checkpoint: Checkpoint) -> None:
    """Refuse a model whose copies the memory cannot hold, before any weight is read.

    Raises
    ------
    InputError
        If it is too large.
    """
    needed = _COPIES * n_bytes(load_skeleton(checkpoint), "float32")
    available = memory.available("cpu")
    if needed > available:
        raise InputError(
            f"gauge holds a model several times, in float64 too, which takes about "
            f"{memory.as_text(needed)} for {checkpoint.model_id}; {memory.as_text(available)} are "
            "available.",
            "Give a smaller model, or a machine with more memory.",
        )


def _content(
    checkpoint: Checkpoint, changed: Changed, n_prompts: int, content: dict[str, Any]
) -> dict[str, Any]:
    """Return what the certificate says: of which model, what was done, and how far it moved."""
    return {
        "model_id": checkpoint.model_id,
        "weights_sha256": checkpoint.weights_sha256(),
        **changed.done,
        "n_prompts": n_prompts,
        "tolerance": TOLERANCES["float32"],
        **content,
        **versions(),
    }


def _readable(
    sets: Sequence[PromptSet], checkpoint: Checkpoint, decoder: Decoder, too_long: str
) -> tuple[Encoded, ...]:
    """Return prompts as token ids that the network can read."""
    for chosen in sets:
        if "turns" in set(chosen.prompts["format"]):
            raise InputError(
                f"Prompts of gauge must be text or token ids; {chosen.name} has turns.",
                "Give other --prompts: it puts none into a chat template.",
            )
    tokenizer = tokenizer_for(checkpoint, sets)
    prompts = [prompt for chosen in sets for prompt in encode(chosen.prompts, tokenizer)]
    n_context = decoder.adapter.n_context(decoder.model.config)
    if too_long == "extend":
        refuse_beyond(decoder, max(map(len, prompts), default=0))
    embedding: Any = decoder.embedding
    return fitted(prompts, n_context, embedding.weight.shape[0], policy=too_long).prompts


def _transformed(wide: Decoder, names: Sequence[str], seed: int) -> Changed:
    chosen = group.chosen(wide, names)
    reasons = group.refusals(wide)
    copy = widened(wide)
    was_tied = copy.model.config.tie_word_embeddings
    group.transform(copy, chosen, np.random.default_rng(seed))
    done = {
        "transformations": list(chosen),
        "seed": seed,
        "is_head_parted": bool(was_tied and not copy.model.config.tie_word_embeddings),
        "refused": {name: reason for name, reason in reasons.items() if reason is not None},
    }
    return Changed(copy, done)


def _moved(wide: Decoder, quantity: str, prompts: Sequence[Encoded], *, lowers: bool) -> Changed:
    reached, network = extreme.reach(wide, quantity, prompts, direction=-1 if lowers else 1)
    done = {
        "extreme": quantity,
        "direction": "lower" if lowers else "raise",
        "reached": asdict(reached),
    }
    return Changed(network, done)


def _refuse_moved(gap: Difference, number_format: str, changed: Changed) -> None:
    """Refuse logits that moved by more than rounding in a number format."""
    tolerance = TOLERANCES[number_format]
    if gap.relative <= tolerance:
        return
    names = ", ".join(changed.done.get("transformations", ()))
    hints = {
        "float64": "One of these changes is not free in this network; --transformations with one "
        f"name at a time shows which: {names}."
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


def _refuse_occupied(out: Path, *, overwrite: bool) -> None:
    if not out.exists():
        return
    if not (out / certificate.FILE).is_file():
        raise InputError(
            f"{out} must be free or written by this command; found no {certificate.FILE} in it.",
            "Choose another --out, or move it away.",
        )
    if not overwrite:
        raise InputError(
            f"{out} must be free; it holds a changed checkpoint already.",
            "Give --overwrite to replace it, or choose another --out.",
        )


def _write(checkpoint: Checkpoint, network: Decoder, content: dict[str, Any], out: Path) -> None:
    """Write weights, configuration, certificate, and what else the checkpoint holds."""
    weights = {path.name for path in checkpoint.weight_files}
    with complete_or_absent(out.absolute()) as directory:
        for path in checkpoint.directory.iterdir():
            is_kept = path.is_file() and path.name not in weights and path.name not in _REPLACED
            if is_kept and ".safetensors" not in path.name:
                shutil.copyfile(path, directory / path.name)
        save_network(network.model, directory)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        (directory / certificate.FILE).write_text(text, encoding="utf-8")
