"""A checkpoint on disk or on the hub: its files, its hash, its labels. No weight is loaded here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from collect.adapters import Adapter, adapter_for
from collect.adapters.within import text_entry
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint import hub, revisions
from collect.model.checkpoint.gguf import config as gguf_config
from collect.model.checkpoint.gguf import facts, files, on_hub
from collect.model.checkpoint.gguf import header as gguf_header
from collect.model.checkpoint.safetensors import header
from collect.model.checkpoint.weight_files import (
    IncompleteError,
    config_of,
    json_object,
    weight_files,
)
from collect.model.hub_causes import UnknownModelError
from collect.model.labels import SIDECAR, Labels, known_labels, known_suite, labels_of
from collect.schema.marks import file_sha256
from collect.schema.paths import as_path

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_MODEL_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_CONVERSION = (
    "A pickle can run code and is never opened. A conversion may wait as a pull request on the "
    "hub's page of the model: give --revision refs/pr/N; or convert it with save_pretrained."
)


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
    listed_sha256
        By name of a weight file: the hash that the hub's listing gives.
    download_bytes
        Size of the weight files that were not in the cache when it was asked [bytes].
    weight_names
        Names of the weight files that the hub lists, whether they were fetched or not.
    listed_tensors
        By tensor that the index of a hub repository lists, or the header of its only file (see
        `with_listed_tensors`): what the header says of it, None where the index alone is known.
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
    listed_sha256: dict[str, str] = field(default_factory=dict)
    download_bytes: int = 0
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

    def listed_weights_sha256(self) -> str | None:
        """Return the hash of the weights as the hub's listing tells it; None where it does not."""
        named = self.weight_names
        if not named or any(name not in self.listed_sha256 for name in named):
            return None
        if self.gguf is not None:
            return self.listed_sha256[named[0]]
        return hash_of((Path(name).name, self.listed_sha256[name]) for name in named)

    def weights_sha256(self) -> str:
        """Return a hash over the names and contents of the weight files; a GGUF file's own.

        Raises
        ------
        InputError
            If the content of a file is not what the hub lists.
        """
        contents = []
        for path in self.weight_files:
            stat = path.stat()
            content = _content_sha256(path, stat.st_size, stat.st_mtime_ns)
            if self.listed_sha256.get(path.name, content) != content:
                raise InputError(
                    f"The file {path} must have the content that the hub lists; its sha256 is "
                    "another.",
                    f"Remove {path.resolve()} and run the same command: it is fetched again.",
                )
            hub.refuse_corrupted(path, content)
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


def locate(
    model: str,
    *,
    revision: str | None = None,
    labels: Labels | None = None,
    needs_weights: bool = True,
) -> Checkpoint:
    """Find a checkpoint by directory or hub identifier and check that it can be measured.

    A hub identifier is downloaded (or found in the cache); a directory is used as it is.

    Parameters
    ----------
    model
        Directory with ``config.json`` and safetensors files, or with one GGUF file; a GGUF file;
        or a hub identifier.
    revision
        Branch, tag or commit of the hub repository, or name of a checkpoint in the directory.
    labels
        Labels given by hand; they win over the sidecar, which wins over ``models.toml``.
    needs_weights
        False to leave weights out, those of a hub repository where they are, and a directory's,
        which may then lack them; ``weight_files`` is empty and ``dtype_weights`` what
        ``config.json`` says. A GGUF file is taken as it is.

    Raises
    ------
    InputError
        If the directory or one of its files is missing, broken or in no format that is read.
    UnsupportedModelError
        If the model needs code of its own, is quantised but not in a GGUF file, or has no adapter.
    UnreachableError
        If the hub does not answer, or not to this account.
    OutputError
        If the hub's cache cannot be written.
    """
    path = as_path(model)
    file = files.of(path, revision) if model else None
    if file is not None:
        return _of_gguf(file, labels or Labels())
    if model and path.is_dir():
        if revision is None:
            revisions.refuse_series(path)
        holder = path if revision is None else revisions.within(path, revision)
        named = f"local/{path.resolve().name}"
        return _inspect(
            holder,
            None,
            revision,
            labels or Labels(),
            named=named,
            needs_weights=needs_weights,
            revision_name=revision,
        )
    of_hub = None if path.exists() else on_hub.file_in(model)
    is_file_name = "/" not in model and path.suffix.lower() == ".gguf"
    if path.exists() or is_file_name or not _HUB_ID.fullmatch(of_hub[0] if of_hub else model):
        raise _neither(model)
    try:
        if of_hub is not None:
            return _gguf_of_hub(*of_hub, revision, labels or Labels(), needs_weights=needs_weights)
        return _of_hub(model, revision, labels or Labels(), needs_weights=needs_weights)
    except UnknownModelError as error:
        if _is_beside(path):
            raise _neither(model) from error
        raise


def _is_beside(path: Path) -> bool:
    """Return whether a path that leads nowhere begins with a directory that is there."""
    return len(path.parts) > 1 and path.parent.is_dir()


def _neither(model: str) -> InputError:
    path = as_path(model)
    is_missing = not path.exists() and (path.is_absolute() or path.suffix.lower() == ".gguf")
    return InputError(
        "A model must be a checkpoint directory, a GGUF file or a hub identifier; "
        + (f"there is nothing at {model!r}." if is_missing else f"{model!r} is neither."),
        "Give the directory that holds config.json, a GGUF file, or an identifier such as "
        "EleutherAI/pythia-70m.",
    )


def _of_hub(model: str, revision: str | None, labels: Labels, *, needs_weights: bool) -> Checkpoint:
    """Return a checkpoint of the hub, judged by its listing and small files before its weights."""
    try:
        repository, snapshot = hub.repository(model, revision)
    except hub.NoConfigurationError as error:
        raise InputError(error.problem, on_hub.choice(error.repository) or error.hint) from error
    checkpoint = _inspect(
        snapshot,
        repository.model_id,
        repository.commit,
        labels,
        needs_weights=False,
        revision_name=revision,
    )
    try:
        weights = weight_files(
            model,
            checkpoint.config,
            {name.partition("/")[0] for name in repository.sizes},
            repository.sizes.__contains__,
            lambda name: json_object(snapshot / name),
        )
    except UnsupportedModelError:
        raise
    except InputError as error:
        if repository.is_listed:
            is_incomplete = isinstance(error, IncompleteError)
            hint = error.hint if is_incomplete else on_hub.choice(repository) or _CONVERSION
            raise InputError(error.problem, hint) from error
        if needs_weights:
            raise hub.not_in_cache(model) from error
        return checkpoint
    hashes = repository.sha256
    described = replace(
        checkpoint,
        listed_sha256={name: hashes[name] for name in weights.names if name in hashes},
        download_bytes=repository.missing_bytes(weights.names),
        weight_names=weights.names,
        listed_tensors=dict.fromkeys(weights.tensors),
    )
    if not needs_weights:
        return described
    hub.fetch(repository, weights.names)
    paths = tuple(snapshot / name for name in weights.names)
    return replace(described, weight_files=paths, dtype_weights=header.formats(paths))


def with_listed_tensors(checkpoint: Checkpoint) -> Checkpoint:
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
        tensors = header.of_hub(checkpoint.model_id, str(checkpoint.revision), name)
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
    return {*with_listed_tensors(checkpoint).listed_tensors, *stored}


def _of_gguf(path: Path, labels: Labels) -> Checkpoint:
    """Return a GGUF file as a checkpoint, judged by its header."""
    parsed = gguf_header.of_file(path)
    config = gguf_config.configuration(parsed)
    name = f"local/{re.sub(r'[^A-Za-z0-9_.-]+', '-', path.stem)}"
    return Checkpoint(
        model_id=name,
        directory=path,
        revision=None,
        adapter=adapter_for(str(config["model_type"]), None),
        config=config,
        weight_files=(path,),
        dtype_weights=facts.formats(parsed),
        labels=labels.over(facts.labels(parsed)),
        gguf=parsed,
    )


def _gguf_of_hub(
    model: str, name: str, revision: str | None, labels: Labels, *, needs_weights: bool
) -> Checkpoint:
    """Return a GGUF file of the hub, judged by its header before it is fetched."""
    repository = hub.listing(model, revision, name)
    on_hub.refuse_absent(repository, name)
    if needs_weights:
        hub.fetch(repository, [name])
    cached = hub.file_of(repository, name)
    parsed = _of_gguf(cached or on_hub.headed(repository, name), labels)
    model_id = f"{repository.model_id}/{name}"
    return replace(
        parsed,
        model_id=model_id,
        revision=repository.commit,
        revision_name=revision,
        weight_files=() if cached is None else parsed.weight_files,
        weight_names=(name,),
        listed_sha256={k: v for k, v in repository.sha256.items() if k == name},
        download_bytes=repository.missing_bytes([name]),
        labels=parsed.labels.over(known_labels(model_id)),
    )


def _inspect(
    directory: Path,
    model_id: str | None,
    revision: str | None,
    labels: Labels,
    *,
    named: str = "",
    needs_weights: bool = True,
    revision_name: str | None = None,
) -> Checkpoint:
    config = config_of(directory)
    sidecar = json_object(directory / SIDECAR) if (directory / SIDECAR).is_file() else {}
    given = model_id or sidecar.get("model_id")
    name = named if given is None else given
    if not isinstance(name, str) or not _MODEL_ID.fullmatch(name):
        raise InputError(
            f"A model's name may hold letters a to z, digits and '_.-/'; found {name!r}.",
            f"Rename the directory, or put a model_id into {SIDECAR} beside the weights.",
        )
    adapter = adapter_for(str(config["model_type"]), text_entry(config, "model_type"))
    paths = _paths_of_weights(directory, config) if needs_weights else ()
    per_step = known_suite(name).get("tokens_per_step")
    step, tokens = revisions.training(revision_name, directory, sidecar, per_step)
    return Checkpoint(
        model_id=name,
        directory=directory,
        revision=revision,
        adapter=adapter,
        config=config,
        weight_files=paths,
        dtype_weights=header.formats(paths) if needs_weights else _configured_dtype(config),
        labels=labels.over(labels_of(sidecar, directory)).over(known_labels(name)),
        revision_name=revision_name,
        training_step=step,
        training_tokens=tokens,
    )


def _paths_of_weights(directory: Path, config: dict[str, Any]) -> tuple[Path, ...]:
    weights = weight_files(
        str(directory),
        config,
        {path.name for path in directory.iterdir()},
        lambda name: (directory / name).is_file(),
        lambda name: json_object(directory / name),
    )
    return tuple(directory / name for name in weights.names)


def _configured_dtype(config: dict[str, Any]) -> str:
    return str(config.get("dtype") or config.get("torch_dtype") or "float32")
