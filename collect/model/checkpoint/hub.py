"""A repository of the hub: listed first, then the files that are needed, each cause by its name.

Nothing is fetched that the listing does not name. The small files come first, so that a model is
judged before its weights are fetched.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from collect.errors import CollectError, InputError, OutputError, UnreachableError
from collect.model.checkpoint.memory import as_text

#: Files that say what a model is and how its tokenizer works.
_SMALL = ("*.json", "*.txt", "*.model", "*.jinja")

#: How long the hub may take to begin an answer [s].
TIMEOUT_S = 5.0

#: What a request of a stranger's, of a robot, or at a bad time is answered, in words.
_STATUSES = {
    401: "it does not accept the token (401)",
    403: "it refuses this account or token (403)",
    429: "it has had too many requests from here (429)",
}

#: And what to do about it.
_HINTS = {
    401: "Run `hf auth login` again, or unset HF_TOKEN to ask without a token.",
    403: "Ask the owner for access, or use a token that may read this repository.",
    429: "Wait some minutes; with a token (`hf auth login`) the hub allows more.",
}

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)


class UnknownModelError(InputError):
    """The hub knows no model of this name, or none for this account (exit code 2)."""


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
        return sum(self.sizes.get(name, 0) for name in names if not self.is_cached(name))

    def is_cached(self, name: str) -> bool:
        """Return whether a file is in the cache."""
        return isinstance(_cached(self.model, name, self.commit), str)


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
    try:
        with told(model, revision):
            _check_asked(model)
            listed = _listed(model, revision)
    except UnreachableError:
        found = _cached(model, "config.json", revision)
        if not isinstance(found, str):
            raise
        return _of_cache(model, Path(found).parent), Path(found).parent
    if "config.json" not in listed.sizes:
        raise InputError(
            f"A checkpoint must hold config.json; {model} on the hub does not.",
            "Name a repository of a transformers model.",
        )
    # Asked for by its branch, one file notes in the cache which commit the branch stands at.
    snapshot = _fetched(listed, "config.json", revision or "main").parent
    for name in listed.sizes:
        if "/" not in name and any(fnmatch(name, pattern) for pattern in _SMALL):
            _fetched(listed, name, listed.commit)
    return listed, snapshot.parent / listed.commit


def references(model: str) -> list[str]:
    """Return the names of a repository's branches and tags, or of those that the cache knows.

    Parameters
    ----------
    model
        Identifier on the hub.

    Raises
    ------
    CollectError
        As `repository`.
    """
    from huggingface_hub import HfApi, constants

    try:
        with told(model, None):
            _check_asked(model)
            found = HfApi(endpoint=constants.ENDPOINT).list_repo_refs(model)
    except UnreachableError:
        folder = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}", "refs")
        cached = [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()]
        if not cached:
            raise
        return sorted(cached)
    return sorted({reference.name for reference in (*found.branches, *found.tags)})


def fetch(repository: Repository, names: Sequence[str]) -> None:
    """Fetch files into the snapshot, after a look at the free space.

    Parameters
    ----------
    repository
        As listed.
    names
        The files.

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
    for name in names:
        if not repository.is_cached(name):
            _fetched(repository, name, repository.commit)


def not_in_cache(model: str) -> UnreachableError:
    """Return the error that the hub does not answer and the cache lacks the weights."""
    return UnreachableError(
        f"The weights of {model} must come from the hub, which does not answer or is not asked; "
        "the cache has the small files alone.",
        "Try again with a connection, and without HF_HUB_OFFLINE.",
    )


def silence(*, quiet: bool) -> None:
    """Let the hub's own bars and warnings show, or not."""
    import huggingface_hub

    utils: Any = huggingface_hub.utils
    if quiet:
        utils.disable_progress_bars()
        utils.logging.set_verbosity_error()


def _check_asked(model: str) -> None:
    """Raise unless the hub may be asked, at an address that is one."""
    from huggingface_hub import constants

    if not constants.ENDPOINT.startswith(("http://", "https://")):
        raise InputError(
            f"HF_ENDPOINT must be an address that begins with http:// or https://; found "
            f"{constants.ENDPOINT!r}.",
            "Correct the variable, or unset it.",
        )
    if constants.HF_HUB_OFFLINE:
        raise _unreachable(model, "is not asked while HF_HUB_OFFLINE is set")


def _listed(model: str, revision: str | None) -> Repository:
    from huggingface_hub import HfApi, constants

    found = HfApi(endpoint=constants.ENDPOINT).model_info(
        model, revision=revision, files_metadata=True, timeout=TIMEOUT_S
    )
    files = found.siblings or []
    return Repository(
        model,
        str(found.sha),
        str(found.id or model),
        {file.rfilename: int(file.size or 0) for file in files},
        {file.rfilename: file.lfs.sha256 for file in files if file.lfs is not None},
    )


def _of_cache(model: str, snapshot: Path) -> Repository:
    """Return a listing of what the cache holds of a snapshot."""
    paths = [path for path in snapshot.rglob("*") if path.is_file()]
    sizes = {str(path.relative_to(snapshot)): path.stat().st_size for path in paths}
    return Repository(model, snapshot.name, model, sizes, is_listed=False)


def _cached(model: str, name: str, revision: str | None) -> Any:
    from huggingface_hub import constants, errors, try_to_load_from_cache

    try:
        return try_to_load_from_cache(
            model, name, cache_dir=constants.HF_HUB_CACHE, revision=revision
        )
    except errors.HFValidationError:
        return None


def _fetched(repository: Repository, name: str, revision: str) -> Path:
    from huggingface_hub import constants, hf_hub_download

    with told(repository.model, revision):
        return Path(
            _interruptible(
                partial(
                    hf_hub_download,
                    repository.model,
                    name,
                    revision=revision,
                    cache_dir=constants.HF_HUB_CACHE,
                    endpoint=constants.ENDPOINT,
                    etag_timeout=TIMEOUT_S,
                )
            )
        )


def _interruptible(act: Callable[[], str]) -> str:
    """Return what a function returns, and leave it at once when the keyboard interrupts.

    It runs in a thread that ends with the process: a client written in another language looks
    at no signal until its file has ended. Files that have arrived stay.
    """
    outcome: Future[str] = Future()

    def work() -> None:
        try:
            outcome.set_result(act())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=work, daemon=True).start()
    return outcome.result()


@contextmanager
def told(model: str, revision: str | None) -> Iterator[None]:
    """Turn every failure of the hub's client into a sentence that names its cause."""
    import httpx2

    try:
        yield
    except CollectError:
        raise
    except (OSError, ValueError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        # The client says that a file is not in the cache, and hides why it could not be fetched.
        hidden = error.__cause__
        is_hidden = isinstance(error, FileNotFoundError) and isinstance(hidden, Exception)
        raise _cause(model, revision, hidden if is_hidden else error) from error


def _cause(model: str, revision: str | None, error: BaseException | None) -> CollectError:
    """Return what a failure means."""
    from huggingface_hub import errors

    if isinstance(error, errors.HFValidationError):
        return UnknownModelError(
            f"A model must be a checkpoint directory or a hub identifier; {model!r} is neither.",
            "Identifiers hold letters, digits, '-', '_' and '.', no '--' or '..', and do not end "
            "in .git.",
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _answer_error(model, revision, error)
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        return _disk_error(error)
    return _unreachable(model, _of_connection(error))


def _of_connection(error: BaseException | None) -> str:
    """Return what kept a file from coming whole, as part of a sentence."""
    import httpx2
    from huggingface_hub import errors

    if isinstance(error, httpx2.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpx2.HTTPError | ConnectionError):
        return "could not be reached, or broke off"
    if isinstance(error, json.JSONDecodeError | errors.FileMetadataError):
        return "does not answer as a hub does"
    return f"gave a file that is not whole ({str(error).splitlines()[0]})"


def _answer_error(model: str, revision: str | None, error: Any) -> CollectError:
    """Return what a status other than success means."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return UnreachableError(
            f"The model {model} must be open to this account; its owner asks for a licence first.",
            "Accept the licence on the hub's page of the model, then run `hf auth login`.",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return InputError(
            f"The model {model} must have the revision {revision!r}; it has not.",
            "Give a branch, tag or commit of its repository.",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return UnknownModelError(
            f"The hub must know the model {model!r}; it does not, or not for this account.",
            "Check the name, log in with `hf auth login` if it is private, or give a checkpoint "
            "directory.",
        )
    return _status_error(model, error.response.status_code)


def _status_error(model: str, status: int) -> UnreachableError:
    reason = _STATUSES.get(status)
    if reason is None:
        is_busy = status >= 500
        reason = f"it is out of order ({status})" if is_busy else f"it answers {status}"
    return UnreachableError(
        f"The model {model} must come from the hub, but {reason}.",
        _HINTS.get(status, "Try again later; files that have arrived are kept."),
    )


def _disk_error(error: OSError) -> OutputError:
    from huggingface_hub import constants

    return OutputError(
        f"The cache of the hub must be writable; {constants.HF_HUB_CACHE} is not: "
        f"{error.strerror}.",
        "Free space there, or point HF_HOME at another disk.",
    )


def _unreachable(model: str, reason: str) -> UnreachableError:
    return UnreachableError(
        f"The model {model} must come from the hub, which {reason}, and is not in the cache.",
        "Check the name and the connection, or give a checkpoint directory.",
    )
