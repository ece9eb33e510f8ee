"""A checkpoint on disk or on the hub: its files, its hash, its labels. No weight is loaded here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from collect.adapters import Adapter
from collect.errors import InputError
from collect.model.checkpoint import hub
from collect.model.checkpoint.gguf import facts
from collect.model.checkpoint.gguf import header as gguf_header
from collect.model.checkpoint.safetensors import header
from collect.model.labels import Labels
from collect.schema.marks import file_sha256


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint whose files are all on this machine.

    Attributes
    ----------
    model_id
        Hub identifier, the sidecar's ``model_id``, or ``local/`` and the name of the directory or
        GGUF file.
    directory
        Where its files are; of a GGUF file, itself.
    revision
        Commit of the hub repository; None for a local directory.
    weight_files
        The safetensors files, sorted by name, or the GGUF file.
    dtype_weights
        Number formats found in them, joined by ``+`` when there are several.
    config
        ``config.json`` as written, or what the header of a GGUF file says in its place.
    repository
        What the hub lists at the commit; None of a local directory or file.
    weight_names
        Names of the weight files that the hub lists, whether they were fetched or not.
    listed_tensors
        By tensor that the index of a hub repository lists, or the header of its only file (see
        `list_tensors`): what the header says of it, None where the index alone is known.
    revision_name
        Branch, tag or commit as asked for, or name of one of several checkpoints in a directory;
        None where none was asked for.
    training_step, training_tokens
        Steps taken and tokens trained on when it was saved, where something says so.
    gguf
        Header of the GGUF file that is all of it; None of other checkpoints.
    """

    model_id: str
    directory: Path
    revision: str | None
    adapter: Adapter
    config: dict[str, Any]
    weight_files: tuple[Path, ...]
    dtype_weights: str
    labels: Labels
    repository: hub.Repository | None = None
    weight_names: tuple[str, ...] = ()
    listed_tensors: dict[str, header.Stored | None] = field(default_factory=dict)
    revision_name: str | None = None
    training_step: int | None = None
    training_tokens: int | None = None
    gguf: gguf_header.Header | None = None

    @property
    def own_code(self) -> dict[str, str]:
        """What ``auto_map`` names of the repository's code, by class of transformers; never run."""
        named = self.config.get("auto_map")
        entries = named.items() if isinstance(named, dict) else ()
        return {str(kind): str(code) for kind, code in entries}

    @property
    def listed_sha256(self) -> dict[str, str]:
        """By name of a weight file: the hash that the hub's listing gives, where it does."""
        hashes = {} if self.repository is None else self.repository.sha256
        return {name: hashes[name] for name in self.weight_names if name in hashes}

    @property
    def download_bytes(self) -> int:
        """Size of the weight files that are still on the hub [bytes]."""
        listed = self.repository
        return 0 if listed is None else listed.missing_bytes(self.weight_names)

    @property
    def perturbation(self) -> dict[str, Any]:
        """What table ``run`` holds of weights that are read with simulated quantisation noise."""
        return {} if self.gguf is None else facts.perturbation(self.gguf)

    @property
    def of_model(self) -> dict[str, str | None]:
        """What a GGUF file says of itself for table ``model``: title, licence, quantisation."""
        return {} if self.gguf is None else facts.of_model(self.gguf)

    @property
    def of_run(self) -> dict[str, Any]:
        """How the weights are quantised, as table ``run`` has it."""
        return {} if self.gguf is None else facts.of_run(self.gguf)

    def listed_weights_sha256(self) -> str | None:
        """Return the hash of the weights as the hub's listing tells it; None where it does not."""
        named, listed = self.weight_names, self.listed_sha256
        if not named or len(listed) < len(named):
            return None
        if self.gguf is not None:
            return listed[named[0]]
        return hash_of((Path(name).name, digest) for name, digest in listed.items())

    def weights_sha256(self) -> str:
        """Return a hash over the names and contents of the weight files; a GGUF file's own.

        Raises
        ------
        InputError
            If the content of a file is not what the hub lists.
        """
        contents, listed = [], self.listed_sha256
        for path in self.weight_files:
            stat = path.stat()
            content = _content_sha256(path, stat.st_size, stat.st_mtime_ns)
            if listed.get(path.name, content) != content:
                raise InputError(
                    f"The file {path} must have the content that the hub lists; its sha256 "
                    "differs.",
                    f"Remove {path.resolve()} and run the same command: it is fetched again.",
                )
            contents.append((path.name, content))
        return hash_of(contents) if self.gguf is None else contents[0][1]


@cache
def _content_sha256(path: Path, _n_bytes: int, _changed_at: int) -> str:
    """Return the hash of the content of a file, which is read once while it stays as it is."""
    return file_sha256(path)


def hash_of(contents: Iterable[tuple[str, str]]) -> str:
    """Return the hash over names and hashes of contents, in their order."""
    digest = hashlib.sha256()
    for name, content in contents:
        digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()


def list_tensors(checkpoint: Checkpoint) -> Checkpoint:
    """Return a checkpoint of the hub with what is known of its tensors before they are fetched.

    Where no index lists them the header of the only file is read: of the cache's, or by a range
    of the hub's. A checkpoint whose files are here is returned as it is.

    Raises
    ------
    InputError
        If the file is not safetensors, or holds no tensor.
    UnreachableError
        If the hub does not answer, or not to this account.
    """
    is_known = checkpoint.weight_files or checkpoint.listed_tensors or checkpoint.gguf
    if is_known or len(checkpoint.weight_names) != 1:
        return checkpoint
    (name,) = checkpoint.weight_names
    cached = checkpoint.directory / name
    if cached.is_file():
        tensors = header.of_file(cached)
    else:
        tensors = header.read_hub_header(checkpoint.model_id, str(checkpoint.revision), name)
    if not tensors:
        raise InputError(
            f"A checkpoint must hold weights; {name} of {checkpoint.model_id} holds no tensor.",
            "Name another revision of the model, or another model.",
        )
    return replace(checkpoint, listed_tensors={**tensors})


def tensor_names(checkpoint: Checkpoint) -> set[str]:
    """Return the names of the stored tensors, also of files that are still on the hub.

    Raises
    ------
    InputError
        If a file is not complete, or holds no tensor.
    UnreachableError
        If the hub does not answer, or not to this account.
    """
    if checkpoint.gguf is not None:
        return {tensor.name for tensor in checkpoint.gguf.tensors}
    stored = (name for path in checkpoint.weight_files for name in header.of_file(path))
    return {*list_tensors(checkpoint).listed_tensors, *stored}
