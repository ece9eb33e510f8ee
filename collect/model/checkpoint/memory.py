"""How much memory a device has to give."""

from __future__ import annotations

from collect.errors import OUT_OF_MEMORY, InputError
from collect.process.memory import available_memory

#: What the messages of failed allocations say that have no class of their own.
_EXHAUSTED = (*OUT_OF_MEMORY, "can't start new thread")


def available(device: str = "cpu") -> int:
    """Return the memory a device has to give at the moment [bytes].

    Parameters
    ----------
    device
        ``cpu``, ``cuda`` with or without a number, or ``auto``: all accelerators together,
        the machine's own memory where there is none.
    """
    import torch

    if device == "auto":
        free = [_free_on(number) for number in range(torch.cuda.device_count())]
        return sum(free) if free else available_memory()
    if device.startswith("cuda"):
        return _free_on(torch.device(device).index or 0)
    return available_memory()


def _free_on(number: int) -> int:
    import torch

    free, _total = torch.cuda.mem_get_info(number)
    return int(free)


def refuse_exhausted(error: BaseException, what: str) -> None:
    """Say in a sentence that memory ran out, if that is what an error says.

    Parameters
    ----------
    error
        What was raised.
    what
        What did not fit.

    Raises
    ------
    InputError
        If an allocation failed, on whatever device; nothing happens otherwise.
    """
    if _is_exhausted(error):
        raise InputError(
            f"A model and its batch must fit the device's memory; {what} did not.",
            "Add --stream, which holds one block at a time, or use a smaller --batch-size, "
            "--dtype bfloat16 or another --device.",
        ) from error


def _is_exhausted(error: BaseException) -> bool:
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    is_of_torch = isinstance(error, RuntimeError)
    return is_of_torch and any(words in message for words in _EXHAUSTED)


def as_text(n_bytes: float) -> str:
    """Return a number of bytes for people.

    >>> as_text(1_234_567)
    '1.23 MB'
    >>> as_text(999_700), as_text(1.7e16)
    ('1 MB', '17,000 TB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB" if n_bytes < 999.5 else f"{n_bytes:,.0f} TB"
