"""Failures of the hub's client, in its own words, each with the exit code of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

_HINT = (
    "Check the name, the connection and the settings of huggingface_hub (HF_ENDPOINT, HF_TOKEN, "
    "proxies); log in with `hf auth login` and accept the licence on the model's page; "
    "HF_HUB_DISABLE_XET=1 fetches without the store of large files; or give a checkpoint directory."
)


class UnknownModelError(InputError):
    """The hub knows no model of this name, or none for this account (exit code 2)."""


class MissingClientError(UnreachableError):
    """The hub's client lacks a package, as for a SOCKS proxy, and asks nothing (exit code 3)."""

    exit_code = MissingExtraError.exit_code


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
