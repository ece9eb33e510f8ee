"""The published result files from the paper's public repository, at one pinned commit."""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from pathlib import Path
from urllib.parse import quote

from collect.errors import InputError, UnreachableError
from collect.published import catalogue
from collect.record.atomic.files import write_atomically

#: The paper's repository at the commit whose files `published_file.csv` describes.
BASE_URL = "https://github.com/buk81/uniformity-asymmetry/raw/660747c/paper3/Results"

TIMEOUT_S = 5.0


def fetch(destination: Path, *, base_url: str = BASE_URL, timeout_s: float = TIMEOUT_S) -> Path:
    """Download the published files, check them, and write them to a directory.

    Nothing is written before every file has come and has the pinned checksum.

    Parameters
    ----------
    destination
        Directory to write to; created if need be.
    base_url
        Address of the folder that holds the files.
    timeout_s
        How long to wait for an answer [s].

    Returns
    -------
    The directory.
    """
    contents = {
        name: _check(name, _download(f"{base_url}/{quote(name)}", timeout_s))
        for name in catalogue.files()
    }
    for name, content in contents.items():
        _write(destination / name, content)
    return destination


def _download(url: str, timeout_s: float) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 (no user input)
            return bytes(answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(
            f"The published files must be downloaded from {url}; {error}.",
            "Without internet access, copy the folder paper3/Results of the paper's repository "
            "by hand and import that.",
        ) from error


def _check(name: str, content: bytes) -> bytes:
    pinned = catalogue.files()[name]["sha256"]
    actual = hashlib.sha256(content).hexdigest()
    if actual != pinned:
        raise InputError(
            f"The downloaded file {name} must have the sha256 {pinned}; found {actual}.",
            "Nothing was written. The download is damaged, or the address serves something else.",
        )
    return content


def _write(path: Path, content: bytes) -> None:
    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_atomically(path, write)
