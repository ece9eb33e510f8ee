"""A repository of the hub: listed first, then the files that are needed, each cause by its name.

Nothing is fetched that the listing does not name. The small files come first, so that a model is
judged before its weights are fetched.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from collect.errors import (
    CollectError,
    InputError,
    MissingExtraError,
    OutputError,
    UnreachableError,
    first_line,
    scarcity,
)
from collect.model.checkpoint.memory import as_text

#: Files that say what a model is and how its tokenizer works.
_SMALL = ("*.json", "*.txt", "*.model", "*.jinja")

_COMMIT = re.compile(r"[0-9a-f]{40}")

#: How long the hub may take to begin an answer [s].
TIMEOUT_S = 5.0

#: Longest name, and largest size, of a file that says what a model is [bytes].
_LONGEST_NAME, _LARGEST_SMALL = 200, 200_000_000

_HINT = (
    "Check the name, the connection and the settings of huggingface_hub (HF_ENDPOINT, HF_TOKEN, "
    "proxies); log in with `hf auth login` and accept the licence on the model's page; "
    "HF_HUB_DISABLE_XET=1 fetches without the store of large files; or give a checkpoint directory."
)


@dataclass(frozen=True, slots=True)
class Repository:
    """What the hub lists of a repository at one commit.

    Attributes
    ----------
    model
        The identifier it was asked for by.
    commit
        The commit.
    model_id
        The identifier that the hub gives it: another, if it has been renamed since.
    sizes
        By file: its size [bytes], 0 where the listing does not say.
    sha256
        By file: the hash of its content, where the listing says it.
    is_listed
        False when the hub did not answer and this is what the cache holds.
    """

    model: str
    commit: str
    model_id: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    is_listed: bool = True

    def missing_bytes(self, names: Sequence[str]) -> int:
        """Return the size of those files that are not in the cache [bytes]."""
        return sum(self.sizes.get(name, 0) for name in names if file_of(self, name) is None)


class NoConfigurationError(InputError):
    """A repository has no ``config.json``; `repository` is what the hub lists of it."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(
            f"A checkpoint must hold config.json; {repository.model} on the hub does not.",
            "Name a repository of a transformers model.",
        )
        self.repository = repository


class UnknownModelError(InputError):
    """The hub knows no model of this name, or none for this account (exit code 2)."""


class MissingClientError(UnreachableError):
    """The hub's client lacks a package, as for a SOCKS proxy, and asks nothing (exit code 3)."""

    exit_code = MissingExtraError.exit_code


def listing(model: str, revision: str | None, name: str = "") -> Repository:
    """Return what the hub lists, or the cache where that has a file and the hub does not answer."""
    try:
        with translated(model, revision):
            _check_asked(model)
            from huggingface_hub import HfApi, constants

            info = HfApi(endpoint=constants.ENDPOINT).model_info(
                model, revision=revision, files_metadata=True, timeout=TIMEOUT_S
            )
            if not _COMMIT.fullmatch(str(info.sha)):
                raise unreachable(model, "it does not answer as a hub does")
            files = info.siblings or []
            return Repository(
                model,
                str(info.sha),
                str(info.id or model),
                {file.rfilename: int(file.size or 0) for file in files},
                {file.rfilename: file.lfs.sha256 for file in files if file.lfs is not None},
            )
    except UnreachableError:
        paths = [*_folder(model).glob(f"snapshots/{revision or '*'}/{name}")] if name else []
        if not paths:
            raise
        return _cache_listing(model, max(paths, key=lambda path: path.lstat().st_mtime).parent)


def file_of(repository: Repository, name: str) -> Path | None:
    """Return where the cache has a file; None where it has not."""
    cached = _look_up(repository.model, name, repository.commit)
    return Path(cached) if isinstance(cached, str) else None


def repository(model: str, revision: str | None) -> tuple[Repository, Path]:
    """Return a listing and the directory of the snapshot, with its small files.

    Where the hub is not asked or does not answer, what the cache holds has to do; the listing is
    then of the snapshot's own files.

    Parameters
    ----------
    model
        Identifier on the hub.
    revision
        Branch, tag or commit.

    Raises
    ------
    InputError
        If the hub knows no such model or revision, or cannot know it.
    UnreachableError
        If it does not let this account read, or does not answer and the cache has nothing.
    OutputError
        If the cache cannot be written.
    """
    if revision is not None and not {"", ".", ".."}.isdisjoint(revision.split("/")):
        raise no_revision(model, revision)
    try:
        listed = listing(model, revision)
    except UnreachableError:
        cached = _look_up(model, "config.json", revision)
        if not isinstance(cached, str):
            raise
        snapshot = Path(cached).parent
        return _cache_listing(model, snapshot), snapshot
    if "config.json" not in listed.sizes:
        raise NoConfigurationError(listed)
    # Asked for by its branch, one file notes in the cache which commit the branch stands at.
    snapshot = _fetched(listed, "config.json", revision or "main").parent
    for name, size in listed.sizes.items():
        if size <= _LARGEST_SMALL and _is_small(name):
            _fetched(listed, name, listed.commit)
    return listed, snapshot.parent / listed.commit


def _is_small(name: str) -> bool:
    """Return whether a name is that of a file that may say what a model is.

    >>> [_is_small(name) for name in ("config.json", "logs/1.json", "model.safetensors")]
    [True, False, False]
    """
    is_nameable = name.isprintable() and len(name.encode()) <= _LONGEST_NAME
    is_beside = not {"/", "\\"} & {*name}
    return is_beside and is_nameable and any(fnmatch(name, pattern) for pattern in _SMALL)


def references(model: str) -> list[str]:
    """Return the names of a repository's branches and tags, or of those that the cache knows."""
    from huggingface_hub import HfApi, constants

    try:
        with translated(model, None):
            _check_asked(model)
            answer = HfApi(endpoint=constants.ENDPOINT).list_repo_refs(model)
    except UnreachableError:
        folder = _folder(model) / "refs"
        cached = [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()]
        if not cached:
            raise
        return sorted(cached)
    return sorted({reference.name for reference in (*answer.branches, *answer.tags)})


def fetch(repository: Repository, names: Sequence[str]) -> tuple[Path, ...]:
    """Fetch files into the snapshot, after a look at the free space; return where they are.

    Raises
    ------
    OutputError
        If the disk has no room for them.
    CollectError
        As `repository`.
    """
    from huggingface_hub import constants

    needed, cache = repository.missing_bytes(names), Path(constants.HF_HUB_CACHE)
    free = shutil.disk_usage(next(path for path in (cache, *cache.parents) if path.exists())).free
    if needed > free:
        raise OutputError(
            f"The cache must have room for the weights of {repository.model}, "
            f"{as_text(needed)}; {cache} has {as_text(free)}.",
            "Free space there, or point HF_HOME at a larger disk.",
        )
    return tuple(
        file_of(repository, name) or _fetched(repository, name, repository.commit) for name in names
    )


def not_in_cache(model: str) -> UnreachableError:
    """Return the error that the hub does not answer and the cache lacks the weights."""
    return UnreachableError(
        f"The weights of {model} must come from the hub, which does not answer or is not asked; "
        "the cache has the small files alone.",
        "Try again with a connection, and without HF_HUB_OFFLINE.",
    )


def silence() -> None:
    """Let neither bars nor warnings of the hub's client show."""
    import huggingface_hub

    utils: Any = huggingface_hub.utils
    # A variable of the environment has priority over what a program asks for.
    of_bars: Any = import_module("huggingface_hub.utils.tqdm")
    of_bars.HF_HUB_DISABLE_PROGRESS_BARS = None
    utils.disable_progress_bars()
    utils.logging.set_verbosity_error()


def _folder(model: str) -> Path:
    """Return where the cache keeps a repository."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}")


def _check_asked(model: str) -> None:
    """Raise unless the hub may be asked."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise unreachable(model, "it is not asked while HF_HUB_OFFLINE is set")


def _cache_listing(model: str, snapshot: Path) -> Repository:
    """Return a listing of what the cache holds of a snapshot."""
    paths = [path for path in snapshot.rglob("*") if path.is_file()]
    sizes = {str(path.relative_to(snapshot)): path.stat().st_size for path in paths}
    return Repository(model, snapshot.name, model, sizes, is_listed=False)


def _look_up(model: str, name: str, revision: str | None) -> Any:
    from huggingface_hub import constants, errors, try_to_load_from_cache

    try:
        return try_to_load_from_cache(
            model, name, cache_dir=constants.HF_HUB_CACHE, revision=revision
        )
    except errors.HFValidationError:
        return None


def _fetched(repository: Repository, name: str, revision: str) -> Path:
    from huggingface_hub import constants, hf_hub_download

    with translated(repository.model, revision):
        return Path(
            hf_hub_download(
                repository.model,
                name,
                revision=revision,
                cache_dir=constants.HF_HUB_CACHE,
                endpoint=constants.ENDPOINT,
                etag_timeout=TIMEOUT_S,
            )
        )


@contextmanager
def translated(model: str, revision: str | None) -> Iterator[None]:
    """Translate the failures of the hub's client into errors with an exit code.

    They are 2, input: an unknown model or revision; 3: the client lacks a package; 4: the hub does
    not give the model; 5: the cache cannot be used; 71: the machine lacks something.

    Parameters
    ----------
    model, revision
        What is asked for.

    Raises
    ------
    CollectError
        If what is done within fails.
    """
    try:
        yield
    except CollectError:
        raise
    except Exception as error:
        # The client says that a file is not in the cache, and hides why it could not be fetched.
        hidden = error.__cause__
        is_hidden = isinstance(error, FileNotFoundError) and error.errno is None
        cause = hidden if is_hidden and isinstance(hidden, Exception) else error
        raise _translation(model, revision, cause) from error


def unreachable(model: str, reason: str) -> UnreachableError:
    """Return the error that a model does not come from the hub and is not in the cache."""
    return UnreachableError(
        f"The hub did not give the model {model}, which is not in the cache: {reason}.", _HINT
    )


def no_revision(model: str, revision: str | None) -> InputError:
    """Return the error that a repository has no revision of a name."""
    return InputError(
        f"The model {model} has no revision {revision!r}.",
        "Give a branch, tag or commit of its repository.",
    )


def _translation(model: str, revision: str | None, error: Exception) -> CollectError:
    """Return the error that a failure of the client is."""
    from huggingface_hub import errors

    if isinstance(error, ImportError):
        return MissingClientError(
            f"The hub was not asked for {model}, which is not in the cache: {first_line(error)}",
            "Install that package (pip install socksio for a SOCKS proxy), or take the proxy out "
            "of ALL_PROXY, HTTPS_PROXY and HTTP_PROXY.",
        )
    message = f"{type(error).__name__}: {first_line(error)}".rstrip(". ")
    if isinstance(error, errors.RevisionNotFoundError):
        return no_revision(model, revision)
    if isinstance(error, errors.HFValidationError) or _is_unknown(error):
        return UnknownModelError(
            f"The hub has no model {model!r} for this account: {message}.",
            "Check the name, log in with `hf auth login` if it is private, or give a checkpoint "
            "directory.",
        )
    return scarcity(error) or _cache_error(error) or unreachable(model, message)


def _is_unknown(error: Any) -> bool:
    """Return whether the hub says that it has no such model, or hides it from this account."""
    from huggingface_hub import errors

    is_missing = isinstance(error, errors.RepositoryNotFoundError)
    if not is_missing or isinstance(error, errors.GatedRepoError):
        return False
    # Who brings a token and is a stranger all the same has one that has ended.
    response = error.response
    return response.status_code != 401 or "authorization" not in response.request.headers


def _cache_error(error: Exception) -> OutputError | None:
    """Return the error that the cache cannot be used; None where the disk did not fail."""
    from huggingface_hub import constants, errors

    is_of_network = isinstance(error, ConnectionError | TimeoutError | errors.HfHubHTTPError)
    if not isinstance(error, OSError) or error.errno is None or is_of_network:
        return None
    return OutputError(
        f"The cache of the hub cannot be used: {constants.HF_HUB_CACHE}: {error.strerror}.",
        "Free space there, or point HF_HOME at another disk.",
    )
