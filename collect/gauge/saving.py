"""A model in memory saved as a checkpoint of safetensors, with what stood beside its weights."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection
from pathlib import Path

from collect.errors import InputError
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.gguf import vocabulary
from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate
from collect.model.conformance.header_agreement import contradictions
from collect.model.conformance.refusal import refuse_misread
from collect.model.labels import SIDECAR
from collect.record.atomic.directory import complete_or_absent
from collect.training.architecture import save_network


def save(
    checkpoint: Checkpoint, network: Decoder, directory: Path, left_out: Collection[str] = ()
) -> None:
    """Write weights and configuration, and the tokenizer and other files of a checkpoint.

    The tokenizer of a GGUF file is left out where it is not known how it splits text.

    Parameters
    ----------
    checkpoint
        Where the model came from.
    network
        The model.
    directory
        A directory that is there.
    left_out
        Names of files that are not copied.
    """
    if checkpoint.gguf is None:
        weights = {path.name for path in checkpoint.weight_files}
        for path in checkpoint.directory.iterdir():
            is_copied = path.is_file() and path.name not in weights and path.name not in left_out
            if is_copied and ".safetensors" not in path.name:
                shutil.copyfile(path, directory / path.name)
    elif vocabulary.can_split(checkpoint.gguf):
        vocabulary.load(checkpoint.gguf, for_text=True).save_pretrained(directory)
    save_network(network.model, directory)


def dequantise(model: str, out: Path, *, revision: str | None = None) -> Path:
    """Write the model of a GGUF file as a checkpoint directory, its weights in float32.

    Parameters
    ----------
    model
        A GGUF file, or one on the hub.
    out
        The directory, which must not be there.
    revision
        Branch, tag or commit of a hub repository.

    Returns
    -------
    The directory: ``model.safetensors``, ``config.json``, the tokenizer's files, and a sidecar with
    the labels that the file's header states.

    Raises
    ------
    CollectError
        If it is no GGUF file that can be measured, ``out`` is there, or it cannot be written.
        Nothing half-written remains.
    """
    if out.exists():
        raise InputError(
            f"The checkpoint {out} must be new; something of that name is there.",
            "Choose another --out, or move it away.",
        )
    checkpoint = locate(model, revision=revision)
    if checkpoint.gguf is None:
        raise InputError(
            f"A GGUF file must be given; {model} is a checkpoint of safetensors already.",
            "Measure it as it is.",
        )
    network = load_model(checkpoint)
    refuse_misread(contradictions(network.model, checkpoint.gguf))
    labels = {name: getattr(checkpoint.labels, name) for name in checkpoint.labels.__slots__}
    stated = {name: value for name, value in labels.items() if value is not None}
    with complete_or_absent(out.absolute()) as directory:
        save(checkpoint, network, directory)
        text = json.dumps(stated, indent=2, ensure_ascii=False) + "\n"
        (directory / SIDECAR).write_text(text, encoding="utf-8")
    return out
