"""Where a model is that is named: a directory, a GGUF file, or a repository of the hub."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from collect.adapters import adapter_for
from collect.adapters.nested import text_entry
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint import hub, revisions
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.gguf import config as gguf_config
from collect.model.checkpoint.gguf import facts, on_hub
from collect.model.checkpoint.gguf import header as gguf_header
from collect.model.checkpoint.safetensors import header
from collect.model.checkpoint.weight_files import (
    IncompleteError,
    config_of,
    json_object,
    weight_files,
)
from collect.model.identifier import SUFFIX, file_in, neither, refuse_nameless
from collect.model.labels import SIDECAR, Labels, known, labels_of
from collect.schema.paths import expand_path

_MODEL_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_CONVERSION = (
    "A pickle can run code and is never opened. A conversion may wait as a pull request on the "
    "hub's page of the model: give --revision refs/pr/N; or convert it with save_pretrained."
)
_NO_LABELS = Labels()


def locate(
    model: str,
    *,
    revision: str | None = None,
    labels: Labels = _NO_LABELS,
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
    path = expand_path(model)
    is_configuration = path.name == "config.json" and path.is_file()
    if is_configuration:
        path = path.parent
    file = _gguf_file(path, revision) if model and not is_configuration else None
    if file is not None:
        checkpoint = _gguf_checkpoint(file, labels)
    elif model and path.is_dir():
        if revision is None:
            revisions.refuse_series(path)
            holder = path
        else:
            holder = revisions.within(path, revision)
        checkpoint = _inspect(
            holder, None, revision, revision, labels, named=f"local/{path.resolve().name}"
        )
    else:
        checkpoint = _hub_checkpoint(model, path, revision, labels)
    return fetched(checkpoint) if needs_weights else checkpoint


def fetched(checkpoint: Checkpoint) -> Checkpoint:
    """Return a located checkpoint with its weights on this machine, the hub's at its very commit.

    Raises
    ------
    CollectError
        As `locate`.
    """
    if checkpoint.weight_files:
        return checkpoint
    repository, names = checkpoint.repository, checkpoint.weight_names
    if repository is None:
        directory = checkpoint.directory
        names = weight_files(directory, checkpoint.config).names
        paths = tuple(directory / name for name in names)
    elif not names:
        raise hub.not_in_cache(repository.model)
    else:
        paths = hub.fetch(repository, names)
    if checkpoint.gguf is not None:
        here = replace(gguf_header.read_header(paths[0]), seed=checkpoint.gguf.seed)
        config = gguf_config.configuration(here)
        return replace(checkpoint, directory=paths[0], weight_files=paths, gguf=here, config=config)
    return replace(checkpoint, weight_files=paths, dtype_weights=header.formats(paths))


def _gguf_file(path: Path, revision: str | None) -> Path | None:
    """Return the GGUF file that a path names: itself, or the only one in a directory, else None.

    A directory that holds safetensors files is a checkpoint, whatever lies beside them.
    """
    beside = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else []
    if not beside and not (path.suffix == SUFFIX and path.is_file()):
        return None
    if beside and (any(path.glob("*.safetensors*")) or revision is not None):
        return None
    if revision is not None:
        raise InputError(
            f"A GGUF file has no revisions; {path} was asked for at {revision!r}.",
            "Leave --revision out.",
        )
    if len(beside) > 1:
        raise InputError(
            f"The directory {path} holds {len(beside)} GGUF files.",
            f"Give one of them: {', '.join(str(file) for file in beside)}.",
        )
    return beside[0] if beside else path


def _gguf_checkpoint(path: Path, labels: Labels, *, has_numbers: bool = True) -> Checkpoint:
    """Return a GGUF file as a checkpoint, judged by its header."""
    parsed = gguf_header.read_header(path, has_numbers=has_numbers)
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


def _hub_checkpoint(model: str, path: Path, revision: str | None, labels: Labels) -> Checkpoint:
    """Return a checkpoint of the hub; ``path`` is the model's name as one of this machine."""
    refuse_nameless(model)
    if path.exists():
        raise neither(model)
    of_file = file_in(model)
    try:
        if of_file is not None:
            return _gguf_of_hub(*of_file, revision, labels)
        return _repository_checkpoint(model, revision, labels)
    except hub.UnknownModelError as error:
        is_beside = len(path.parts) > 1 and path.parent.is_dir()
        if is_beside:  # it leads nowhere, and begins with a directory that is there
            raise neither(model) from error
        raise


def _repository_checkpoint(model: str, revision: str | None, labels: Labels) -> Checkpoint:
    """Return a checkpoint of the hub, judged by its listing and small files before its weights."""
    try:
        repository, snapshot = hub.repository(model, revision)
    except hub.NoConfigurationError as error:
        raise InputError(error.problem, on_hub.choice(error.repository) or error.hint) from error
    inspected = _inspect(snapshot, repository.model_id, repository.commit, revision, labels)
    checkpoint = replace(inspected, repository=repository)
    try:
        weights = weight_files(snapshot, checkpoint.config, repository)
    except UnsupportedModelError:
        raise
    except InputError as error:
        if repository.is_listed:
            is_incomplete = isinstance(error, IncompleteError)
            hint = error.hint if is_incomplete else on_hub.choice(repository) or _CONVERSION
            raise InputError(error.problem, hint) from error
        return checkpoint
    return replace(
        checkpoint,
        weight_names=weights.names,
        listed_tensors=dict.fromkeys(weights.tensors),
    )


def _gguf_of_hub(model: str, name: str, revision: str | None, labels: Labels) -> Checkpoint:
    """Return a GGUF file of the hub, judged by its header before it is fetched."""
    repository = hub.listing(model, revision, name)
    on_hub.refuse_absent(repository, name)
    cached = hub.file_of(repository, name)
    here = cached or on_hub.headed(repository, name)
    parsed = _gguf_checkpoint(here, labels, has_numbers=cached is not None)
    model_id = f"{repository.model_id}/{name}"
    return replace(
        parsed,
        model_id=model_id,
        revision=repository.commit,
        revision_name=revision,
        weight_files=() if cached is None else parsed.weight_files,
        repository=repository,
        weight_names=(name,),
        labels=parsed.labels.over(known(model_id).labels),
    )


def _inspect(
    directory: Path,
    model_id: str | None,
    revision: str | None,
    revision_name: str | None,
    labels: Labels,
    *,
    named: str = "",
) -> Checkpoint:
    """Return what the small files of a directory say of a checkpoint, its weights left out."""
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
    suite = known(name)
    step, tokens = revisions.training(revision_name, directory, sidecar, suite.tokens_per_step)
    return Checkpoint(
        model_id=name,
        directory=directory,
        revision=revision,
        adapter=adapter,
        config=config,
        weight_files=(),
        dtype_weights=str(config.get("dtype") or config.get("torch_dtype") or "float32"),
        labels=labels.over(labels_of(sidecar, directory)).over(suite.labels),
        revision_name=revision_name,
        training_step=step,
        training_tokens=tokens,
    )
