"""What the header of a safetensors file says of its tensors, of a file here or still on the hub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from collect.adapters import quantised
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint import hub

#: Plain floating numbers as files call them, and as torch does; all else is quantised.
FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}

#: Bytes in front of the header, which hold its length.
_N_OF_LENGTH = 8

#: Longest header that the format allows [bytes].
_LONGEST = 100_000_000

_OTHER = "Name another revision of the model, or another model."


@dataclass(frozen=True, slots=True)
class Stored:
    """One stored tensor: its shape, and its number format as the file calls it."""

    shape: tuple[int, ...]
    number_format: str


def of_file(path: Path) -> dict[str, Stored]:
    """Return what the header of a file says of each tensor.

    Raises
    ------
    InputError
        If the file is not complete.
    """
    try:
        with safe_open(path, framework="pt") as tensors:
            slices = {key: tensors.get_slice(key) for key in tensors.keys()}  # noqa: SIM118
            return {
                key: Stored(tuple(stored.get_shape()), stored.get_dtype())
                for key, stored in slices.items()
            }
    except (SafetensorError, OSError) as error:
        raise _broken_file(str(path), str(error), "Copy or download it again.") from error


def formats(paths: Iterable[Path]) -> str:
    """Return the floating number formats of some files, joined by ``+``.

    Raises
    ------
    UnsupportedModelError
        If they hold no floating numbers.
    """
    types = {stored.number_format for path in paths for stored in of_file(path).values()}
    floats = sorted(FLOATS[name] for name in types if name in FLOATS)
    if not floats:
        raise UnsupportedModelError(
            f"The weights must be floating numbers; found {', '.join(sorted(types)) or 'none'}.",
            quantised.hint(None),
        )
    return "+".join(floats)


def read_hub_header(model: str, commit: str, name: str) -> dict[str, Stored]:
    """Return what the header of a file of the hub says of each tensor; the header alone is fetched.

    Parameters
    ----------
    model, commit
        The repository, and the commit.
    name
        The file.

    Raises
    ------
    InputError
        If there is no header of the format.
    UnreachableError
        If the hub does not let this account read, or does not answer.
    """
    length = part(model, commit, name, 0, _N_OF_LENGTH)
    n = int.from_bytes(length, "little")
    if len(length) < _N_OF_LENGTH or n > _LONGEST:
        raise _broken_file(f"{name} of {model}", "it has no header", _OTHER)
    try:
        written = json.loads(part(model, commit, name, _N_OF_LENGTH, n))
        return {
            key: Stored(tuple(map(int, tensor["shape"])), str(tensor["dtype"]))
            for key, tensor in written.items()
            if key != "__metadata__"
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _broken_file(f"{name} of {model}", "its header is none", _OTHER) from error


def part(model: str, commit: str, name: str, start: int, n: int) -> bytes:
    """Return n bytes of a file from a place on, or as many as it has; the rest is not fetched."""
    import huggingface_hub
    from huggingface_hub import constants, hf_hub_url

    utils: Any = huggingface_hub.utils
    url = hf_hub_url(model, name, revision=commit, endpoint=constants.ENDPOINT)
    asked = {"Range": f"bytes={start}-{start + n - 1}", "Accept-Encoding": "identity"}
    headers = {**utils.build_hf_headers(), **asked}
    # What breaks while the answer is read is not tried again: the client's generator cannot.
    how: dict[str, Any] = {"headers": headers, "timeout": hub.TIMEOUT_S, "retry_on_exceptions": ()}
    # Who has asked too often may be told to wait for hours: that is said, not waited for.
    how["retry_on_status_codes"] = (500, 502, 503, 504)
    with (
        hub.translated(model, commit),
        utils.http_stream_backoff("GET", url, **how) as response,
    ):
        utils.hf_raise_for_status(response)
        # A server that knows no ranges answers with the whole file, which is left after the part.
        skipped = start if response.status_code == 200 else 0
        place = response.headers.get("Content-Range", f"bytes {start}-")
        if response.status_code == 206 and not place.startswith(f"bytes {start}-"):
            raise hub.unreachable(model, "it sends other parts of a file than are asked for")
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) >= skipped + n:
                break
        return bytes(content[skipped : skipped + n])


def _broken_file(where: str, cause: str, hint: str) -> InputError:
    return InputError(
        f"The weight file {where} must be complete safetensors; it is not: {cause}.", hint
    )


class SafetensorsFiles:
    """The safetensors files of a checkpoint.

    Parameters
    ----------
    paths
        The files.
    listed
        What is known of tensors whose files are still on the hub.

    Attributes
    ----------
    entries
        By key of a tensor: what headers say of it; none where they are unknown.
    conversions
        None: tensors are named and laid out as the library's conversions expect.

    Raises
    ------
    InputError
        If a file is not complete.
    """

    conversions: None = None

    def __init__(self, paths: Iterable[Path], listed: Mapping[str, Stored | None]) -> None:
        self._paths: dict[str, Path] = {}
        self.entries = {key: stored for key, stored in listed.items() if stored is not None}
        for path in paths:
            of_path = of_file(path)
            self.entries |= of_path
            self._paths |= dict.fromkeys(of_path, path)

    @contextmanager
    def opened(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Open the files that hold some tensors, and close them again.

        A file that stays open keeps every page in memory that was ever read.
        """
        with ExitStack() as files:
            handles: dict[Path, Any] = {}
            tensors = {}
            for key in keys:
                path = self._paths[key]
                if path not in handles:
                    handles[path] = files.enter_context(safe_open(path, framework="pt"))
                tensors[key] = handles[path].get_slice(key)
            yield tensors
