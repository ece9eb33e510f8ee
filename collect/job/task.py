"""What there is to measure of a checkpoint: its units, with the prompts of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from collect import schema
from collect.errors import InputError, UnsupportedModelError
from collect.instruments import quantities
from collect.job.outcome import Done
from collect.job.settings import Settings
from collect.job.subject import Subject
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.positions import readable
from collect.prompts.fitting import Fitted
from collect.prompts.sets import PromptSet
from collect.prompts.tokens import Encoded
from collect.record import provenance
from collect.record.inventory import Complete, Inventory
from collect.record.units import Unit, write_revision

#: Raised when a change of the code changes a number that is measured, so that numbers of
#: before and after are never taken for one measurement.
MEASUREMENT_VERSION = 1

#: Entries of config.json that do not change what the model computes.
_IMMATERIAL = (
    "_name_or_path",
    "architectures",
    "dtype",
    "torch_dtype",
    "transformers_version",
)

#: How the weights are measured: from the files, by the machine's own processor, no attention.
_OF_WEIGHTS = {
    "kind": "weights",
    "prompt_set": None,
    "quantities": "weights",
    "dtype_compute": "float32",
    "device": "cpu",
    "attention_implementation": "none",
}


@dataclass(frozen=True, slots=True)
class Task:
    """One unit to measure, with its prompts when it has any.

    Attributes
    ----------
    unit, prompt_set
        What is measured.
    encoded
        The prompts as the model reads them.
    remarks
        By prompt_id: why a prompt is left out or cut.
    is_decoded
        Whether there is a tokenizer, which says what a token is: its text, and whether it is
        special.
    """

    unit: Unit
    prompt_set: PromptSet | None = None
    encoded: tuple[Encoded, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    is_decoded: bool = True


def check_chosen(settings: Settings, n_sets: int) -> None:
    """Check that the quantities and the prompt sets leave something to measure."""
    needs_prompts = quantities.of_prompts(settings.quantities)
    if n_sets and not needs_prompts:
        raise InputError(
            "Prompts must be for a quantity that needs them; weights need none.",
            f"Leave --prompts out, or add --quantities {' '.join(quantities.DEFAULT)}.",
        )
    if not n_sets and "weights" not in settings.quantities:
        raise InputError(
            f"Prompts must be given for {', '.join(needs_prompts)}; there are none.",
            "Add --prompts, or weights to --quantities.",
        )


def tasks(subject: Subject, weights_sha256: str | None) -> list[Task]:
    """Return all that is asked of a model: its weights, then each prompt set.

    ``weights_sha256`` is the hash of its weights; None to leave it open.
    """
    checkpoint = subject.checkpoint
    shared = _model_facts(checkpoint, subject.bare) | {"weights_sha256": weights_sha256}
    tokenizer = subject.tokenizer
    labels = asdict(checkpoint.labels)
    chosen = subject.settings.quantities if subject.sets else ("weights",)
    adapter = subject.bare.adapter
    asked = adapter.defined(chosen)
    if not asked:
        gaps = "; ".join(f"{name}: {adapter.gap(name)}" for name in chosen)
        raise UnsupportedModelError(
            f"Nothing that was asked for is defined for a {subject.bare.model.config.model_type} "
            f"model ({gaps}).",
            "Give --prompts, and ask for stream or geometry.",
        )
    listed = []
    if "weights" in asked:
        listed.append(Task(Unit({**shared, **_OF_WEIGHTS}, labels)))
    for prompt_set in subject.sets if quantities.of_prompts(asked) else ():
        read = _read(prompt_set, subject)
        of_prompts = _prompt_facts(prompt_set, read.prompts, subject, asked)
        unit = Unit({**shared, **of_prompts}, labels)
        is_decoded = tokenizer is not None
        listed.append(Task(unit, prompt_set, read.prompts, read.remarks, is_decoded=is_decoded))
    return listed


def _read(prompt_set: PromptSet, subject: Subject) -> Fitted:
    """Return the prompts of a set as the model reads them."""
    settings = subject.settings
    return readable(
        subject.bare,
        prompt_set.prompts,
        subject.tokenizer,
        settings.too_long,
        rendering=settings.rendering,
        special_tokens=settings.special_tokens,
    )


def _model_facts(checkpoint: Checkpoint, skeleton: Decoder) -> dict[str, Any]:
    """Return what determines the numbers of every unit of a checkpoint."""
    config = {k: v for k, v in checkpoint.config.items() if k not in _IMMATERIAL}
    versions = provenance.versions()
    return {
        "model_id": checkpoint.model_id,
        "revision": checkpoint.revision,
        "revision_name": checkpoint.revision_name,
        "config_sha256": _sha256(config),
        "adapter": skeleton.adapter.name,
        "dtype_weights": checkpoint.dtype_weights,
        "schema_version": schema.SCHEMA_VERSION,
        "measurement_version": MEASUREMENT_VERSION,
        "torch_version": versions["torch_version"],
        "transformers_version": versions["transformers_version"],
        **checkpoint.perturbation,
    }


def _prompt_facts(
    prompt_set: PromptSet, encoded: Sequence[Encoded], subject: Subject, asked: Sequence[str]
) -> dict[str, Any]:
    """Return what determines the numbers of a unit of prompts besides the model."""
    settings = subject.settings
    defined = quantities.own_among(quantities.of_prompts(asked))
    definitions = {quantity.name: quantity.sha256 for quantity in defined}
    return {
        "kind": "prompts",
        **({"definitions": definitions} if definitions else {}),
        "prompt_set": prompt_set.name,
        "prompt_set_sha256": prompt_set.sha256,
        "tokens_sha256": tokens_sha256(encoded),
        "quantities": ",".join(quantities.of_prompts(asked)),
        "rendering": settings.rendering,
        "special_tokens": settings.special_tokens,
        "dtype_compute": settings.dtype,
        "device": settings.device_name,
        "attention_implementation": subject.bare.attention_implementation,
    }


def tokens_sha256(encoded: Sequence[Encoded]) -> str:
    """Return the hash of the tokens that a set was measured as.

    Stored units are found by it, so it is over these three facts, whatever else `Encoded` holds.
    """
    facts = [(prompt.prompt_id, prompt.token_ids, prompt.is_special) for prompt in encoded]
    names = ("prompt_id", "token_ids", "is_special")
    return _sha256([dict(zip(names, each, strict=True)) for each in facts])


def _sha256(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def pending(
    asked: Sequence[Task], subject: Subject, inventory: Inventory
) -> tuple[list[Task], list[Done]]:
    """Return what an output lacks and holds of some tasks, and note what the revision holds."""
    units, refusal = inventory.compared(
        [task.unit for task in asked], overwrites=subject.settings.overwrite
    )
    todo, done = [], []
    for task, unit in zip(asked, units, strict=True):
        if isinstance(unit, Complete):
            subject.settings.say(unit.sentence)
            done.append(Done(task.unit.stem, task.unit.run_id, "complete"))
        elif isinstance(unit, Unit):
            todo.append(replace(task, unit=unit))
    if refusal is not None:
        raise refusal
    known = subject.checkpoint
    write_revision(
        asked[0].unit,
        inventory.out,
        training_step=known.training_step,
        training_tokens=known.training_tokens,
    )
    return todo, done
