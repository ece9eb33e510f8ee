"""Why something did not come from the hub: each failure of its client by its cause."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import getproxies

from collect.errors import (
    CollectError,
    InputError,
    OutputError,
    UnreachableError,
    first_line,
    scarcity,
)

#: What a request of a stranger's, of a robot, or at a bad time is answered, in words.
_STATUSES = {
    401: "it does not accept the token (401)",
    403: "it refuses this account or token (403)",
    407: "a proxy before it asks for a name and a password (407)",
    429: "it has had too many requests from here (429)",
    451: "it may not give it here, for reasons of law (451)",
}

#: And what to do about it.
_HINTS = {
    401: "Run `hf auth login` again, or unset HF_TOKEN to ask without a token.",
    403: "Ask the owner for access, or use a token that may read this repository.",
    407: "Put them into the address of the proxy: http://NAME:PASSWORD@HOST:PORT.",
    429: "Wait some minutes; with a token (`hf auth login`) the hub allows more.",
}

#: Letters of the hub's own words that a message repeats at most.
_SAID = 120

_CHECK = "Check the name and the connection, or give a checkpoint directory."
#: How the client of the hub's store of large files begins to say what failed.
_OF_STORE = "CAS Client Error: "
_WITHOUT_STORE = "Try again later, or set HF_HUB_DISABLE_XET=1 to fetch without that store."
_CHECK_PROXY = (
    "Check the connection, and the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names; NO_PROXY "
    "lists hosts that need none."
)
_CHECK_SETTINGS = (
    "Correct HF_ENDPOINT, HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE, whichever is set, "
    "or unset it."
)


class UnknownModelError(InputError):
    """The hub knows no model of this name, or none for this account (exit code 2)."""


@contextmanager
def told(model: str, revision: str | None) -> Iterator[None]:
    """Turn every failure of the hub's client into a sentence that names its cause.

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
        raise _cause(model, revision, cause) from error


def check_client() -> None:
    """Raise unless the client has what it needs before it asks: addresses, certificates, a token.

    Raises
    ------
    InputError
        If a variable of the environment, or the token, is none that can be used.
    OutputError
        If the cache can be nowhere.
    """
    import httpx2
    from huggingface_hub import constants, get_session, get_token

    if not constants.ENDPOINT.startswith(("http://", "https://")):
        raise InputError(
            f"HF_ENDPOINT must be an address that begins with http:// or https://; found "
            f"{constants.ENDPOINT!r}.",
            "Correct the variable, or unset it.",
        )
    if constants.HF_HUB_CACHE.startswith("~"):
        raise OutputError(
            f"The cache of the hub must lie in a directory; no account has the home of "
            f"{constants.HF_HUB_CACHE}.",
            "Correct HF_HOME or HF_HUB_CACHE, or unset it.",
        )
    try:
        token = get_token() or ""
    except (PermissionError, IsADirectoryError, UnicodeError) as error:
        raise InputError(
            f"The token that is saved must be one that can be read; {constants.HF_TOKEN_PATH} "
            f"cannot: {getattr(error, 'strerror', None) or 'it is not text'}.",
            "Run `hf auth login` again, or set HF_TOKEN.",
        ) from error
    if not (token.isascii() and token.isprintable()):
        raise InputError(
            "The token of the hub must be plain letters and digits; that of HF_TOKEN, or the one "
            "that is saved, holds others.",
            "Run `hf auth login` again, or correct HF_TOKEN.",
        )
    try:
        get_session().build_request("GET", constants.ENDPOINT)
    except (OSError, ValueError, ImportError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _wrong_settings(error) from error


def unreachable(model: str, reason: str, hint: str = _CHECK) -> UnreachableError:
    """Return the error that a model does not come from the hub, for a reason of its own."""
    return UnreachableError(
        f"The model {model} must come from the hub, which {reason}, and is not in the cache.", hint
    )


def no_revision(model: str, revision: str | None) -> InputError:
    """Return the error that a repository has no revision of a name."""
    return InputError(
        f"The model {model} must have the revision {revision!r}; it has not.",
        "Give a branch, tag or commit of its repository.",
    )


def _cause(model: str, revision: str | None, error: BaseException) -> CollectError:
    """Return what a failure means."""
    import httpx2
    from huggingface_hub import errors

    if isinstance(error, errors.HFValidationError):
        return UnknownModelError(
            f"A model must be a checkpoint directory or a hub identifier; {model!r} is neither.",
            "Identifiers hold letters, digits, '-', '_' and '.', no '--' or '..', and do not end "
            "in .git.",
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _answer_error(model, revision, error)
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return _wrong_settings(error)
    if lacking := scarcity(error):
        return lacking
    is_of_network = isinstance(error, ConnectionError | TimeoutError)
    if isinstance(error, OSError) and error.errno is not None and not is_of_network:
        return _disk_error(error)
    hint = _WITHOUT_STORE if _OF_STORE in first_line(error) else _CHECK
    if isinstance(error, httpx2.TransportError) and getproxies():
        hint = _CHECK_PROXY
    return unreachable(model, _of_connection(error), hint)


def _of_connection(error: BaseException) -> str:
    """Return what kept a file from coming whole, as part of a sentence."""
    import httpx2
    from huggingface_hub import errors

    said = first_line(error)
    strange = (json.JSONDecodeError, UnicodeError, LookupError, TypeError, AttributeError)
    certificates = "CERTIFICATE_VERIFY_FAILED"
    reasons = (
        (isinstance(error, httpx2.TimeoutException | TimeoutError), "did not answer in time"),
        (
            isinstance(error, httpx2.TooManyRedirects),
            "sends from one address to the next without end",
        ),
        (
            isinstance(error, httpx2.ProxyError),
            f"is behind a proxy that does not let through ({said})",
        ),
        (certificates in said, "shows a certificate that this machine does not trust"),
        ("[SSL" in said, "does not speak TLS, as https:// needs"),
        (isinstance(error, httpx2.DecodingError), "sends what cannot be unpacked"),
        (
            isinstance(error, httpx2.HTTPError | ConnectionError | RecursionError),
            "could not be reached, or broke off",
        ),
        (
            isinstance(error, (*strange, errors.FileMetadataError)),
            "does not answer as a hub does",
        ),
    )
    _, of_store, failed = said.partition(_OF_STORE)
    if of_store:
        return f"keeps large files in a store, Xet, that fails ({failed})"
    otherwise = f"gave a file that is not whole ({said})"
    return next((reason for is_so, reason in reasons if is_so), otherwise)


def _answer_error(model: str, revision: str | None, error: Any) -> CollectError:
    """Return what a status other than success means."""
    from huggingface_hub import errors

    status = error.response.status_code
    if isinstance(error, errors.GatedRepoError):
        return UnreachableError(
            f"The model {model} must be open to this account; its owner asks for a licence first.",
            "Accept the licence on the hub's page of the model, then run `hf auth login`.",
        )
    if isinstance(error, errors.DisabledRepoError):
        return UnreachableError(
            f"The model {model} must come from the hub, but it has disabled the repository.",
            "Name a copy of the model, or give a checkpoint directory.",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return no_revision(model, revision)
    # Who brings a token and is a stranger all the same has one that has ended.
    is_stranger = status == 401 and "authorization" in error.response.request.headers
    if isinstance(error, errors.RepositoryNotFoundError) and not is_stranger:
        return UnknownModelError(
            f"The hub must know the model {model!r}; it does not, or not for this account.",
            "Check the name, log in with `hf auth login` if it is private, or give a checkpoint "
            "directory.",
        )
    return _status_error(model, status, str(error.server_message or ""))


def _status_error(model: str, status: int, message: str) -> UnreachableError:
    reason = _STATUSES.get(status)
    if reason is None:
        is_busy = status >= 500
        reason = f"it is out of order ({status})" if is_busy else f"it answers {status}"
    said = " ".join(message.split()).rstrip(".")
    if said and said.isascii() and said.isprintable() and len(said) <= _SAID:
        reason = f"{reason}: {said}"
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


def _wrong_settings(error: BaseException) -> InputError:
    said = first_line(error).rstrip(".")
    return InputError(
        f"The addresses of the hub and of a proxy must be ones that can be asked; {said}.",
        _CHECK_SETTINGS,
    )
