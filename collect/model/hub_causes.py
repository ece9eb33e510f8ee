"""Failures of the hub's client, in its own words, each with the exit code of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from collect.errors import (
    CollectError,
    InputError,
    OutputError,
    UnreachableError,
    first_line,
    scarcity,
)

#: Letters of a message of the client or the hub that are repeated at most.
_LONGEST = 300

_AFTER_ANSWER = (
    "Log in with `hf auth login`, accept the licence on the model's page, or try again later; "
    "files that have arrived are kept."
)
_NO_ANSWER = (
    "Check the name, the connection, and the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY "
    "names; HF_HUB_DISABLE_XET=1 fetches without the store of large files; or give a checkpoint "
    "directory."
)


class UnknownModelError(InputError):
    """The hub knows no model of this name, or none for this account (exit code 2)."""


@contextmanager
def translated(model: str, revision: str | None) -> Iterator[None]:
    """Translate the failures of the hub's client into errors with an exit code.

    They are 2, input: an unknown model or revision, a setting that the client cannot use; 4: the
    hub does not give the model; 5: the cache cannot be used; 71: the machine lacks something.

    Parameters
    ----------
    model, revision
        What is asked for.

    Raises
    ------
    CollectError
        If what is done within fails.
    """
    import httpx2

    of_client = (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError)
    try:
        yield
    except CollectError:
        raise
    except (*of_client, httpx2.HTTPError, httpx2.InvalidURL) as error:
        # The client says that a file is not in the cache, and hides why it could not be fetched.
        hidden = error.__cause__
        is_hidden = isinstance(error, FileNotFoundError) and error.errno is None
        cause = hidden if is_hidden and isinstance(hidden, Exception) else error
        raise _translation(model, revision, cause) from error


def check_client() -> None:
    """Raise unless the client can use its settings; no message of its own then shows a token.

    Raises
    ------
    InputError
        If it cannot: an address, a proxy, certificates, a token.
    """
    import httpx2
    from huggingface_hub import constants, get_session, get_token

    try:
        token = get_token() or ""
        get_session().build_request("GET", constants.ENDPOINT)
    except (OSError, ValueError, ImportError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _wrong_setting(_message(error)) from error
    if not (token.isascii() and token.isprintable()):
        raise _wrong_setting("the token holds other signs than letters and digits")


def unreachable(model: str, reason: str, hint: str = _NO_ANSWER) -> UnreachableError:
    """Return the error that a model does not come from the hub and is not in the cache."""
    return UnreachableError(
        f"The hub did not give the model {model}, which is not in the cache: {reason}.", hint
    )


def no_revision(model: str, revision: str | None) -> InputError:
    """Return the error that a repository has no revision of a name."""
    return InputError(
        f"The model {model} has no revision {revision!r}.",
        "Give a branch, tag or commit of its repository.",
    )


def _translation(model: str, revision: str | None, error: Exception) -> CollectError:
    """Return the error that a failure of the client is."""
    import httpx2
    from huggingface_hub import errors

    if isinstance(error, errors.RevisionNotFoundError):
        return no_revision(model, revision)
    if isinstance(error, errors.HFValidationError) or _is_unknown(error):
        return UnknownModelError(
            f"The hub has no model {model!r} for this account: {_message(error)}.",
            "Check the name, log in with `hf auth login` if it is private, or give a checkpoint "
            "directory.",
        )
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return _wrong_setting(_message(error))
    if isinstance(error, errors.HfHubHTTPError):
        return unreachable(model, _message(error), _AFTER_ANSWER)
    return scarcity(error) or _cache_error(error) or _no_answer(model, error)


def _is_unknown(error: Any) -> bool:
    """Return whether the hub says that it has no such model, or hides it from this account."""
    from huggingface_hub import errors

    is_missing = isinstance(error, errors.RepositoryNotFoundError)
    if not is_missing or isinstance(error, errors.GatedRepoError):
        return False
    # Who brings a token and is a stranger all the same has one that has ended.
    response = error.response
    return response.status_code != 401 or "authorization" not in response.request.headers


def _message(error: Any) -> str:
    """Return the message of the client in a line, with what the hub says itself."""
    words = " ".join([first_line(error), *str(getattr(error, "server_message", "") or "").split()])
    printable = "".join(sign for sign in words if sign.isprintable())[:_LONGEST].rstrip(". ")
    return f"{type(error).__name__}: {printable}"


def _no_answer(model: str, error: Exception) -> UnreachableError:
    import httpx2

    if isinstance(error, httpx2.HTTPError | OSError | RuntimeError):
        return unreachable(model, _message(error))
    return unreachable(model, f"it does not answer as a hub does ({_message(error)})")


def _cache_error(error: Exception) -> OutputError | None:
    """Return the error that the cache cannot be used; None where the disk did not fail."""
    from huggingface_hub import constants

    is_of_network = isinstance(error, ConnectionError | TimeoutError)
    if not isinstance(error, OSError) or error.errno is None or is_of_network:
        return None
    return OutputError(
        f"The cache of the hub cannot be used: {constants.HF_HUB_CACHE}: {error.strerror}.",
        "Free space there, or point HF_HOME at another disk.",
    )


def _wrong_setting(reason: str) -> InputError:
    return InputError(
        f"A setting of the hub's client cannot be used: {reason}.",
        "Correct or unset HF_ENDPOINT, HF_TOKEN, HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or "
        "SSL_CERT_FILE; `hf auth login` saves another token.",
    )
