"""Where a model is that is named: a directory, a GGUF file, or a repository of the hub."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from collect.adapters import adapter_for
from collect.adapters.nested import text_entry
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint import hub, revisions
from collect.model.checkpoint.checkpoint import Checkpoint
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
from collect.model.identifier import neither, refuse_nameless
from collect.model.labels import SIDECAR, Labels, known_labels, known_suite, labels_of
from collect.schema.paths import as_path

_MODEL_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_CONVERSION = (
    "A pickle can run code and is never opened. A conversion may wait as a pull request on the "
    "hub's page of the model: give --revision refs/pr/N; or convert it with save_pretrained."
)


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
        Directory with ``config.json`` and safetensors files, or that ``config.json`` itself; a
        directory with one GGUF file; a GGUF file; or a hub identifier.
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
    is_configuration = path.name == "config.json" and path.is_file()
    file = files.of(path, revision) if model and not is_configuration else None
    if file is not None:
        return _of_gguf(file, labels or Labels())
    if is_configuration:
        path = path.parent
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
    refuse_nameless(model)
    if path.exists():
        raise neither(model)
    of_hub = on_hub.file_in(model)
    try:
        if of_hub is not None:
            return _gguf_of_hub(*of_hub, revision, labels or Labels(), needs_weights=needs_weights)
        return _of_hub(model, revision, labels or Labels(), needs_weights=needs_weights)
    except UnknownModelError as error:
        if _is_beside(path):
            raise neither(model) from error
        raise


def _is_beside(path: Path) -> bool:
    """Return whether a path that leads nowhere begins with a directory that is there."""
    return len(path.parts) > 1 and path.parent.is_dir()


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
