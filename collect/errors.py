"""The errors that a person can act on, of both packages, each with its exit code.

The first sentence says what is wrong and where; the hint says what to do.
A name that is unknown is answered with the nearest that is known.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

#: How native libraries say that memory is short, in whatever exception.
OUT_OF_MEMORY = (
    "allocate memory",
    "bad_alloc",
    "failed to map segment",
    "malloc of size",
    "out of memory",
    "not enough memory",
)


class ThermoscopeError(Exception):
    """An error that a person can act on.

    Parameters
    ----------
    problem
        What is wrong, and where, in one sentence.
    hint
        What to do about it, in one sentence.
    """

    exit_code = 2

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}\nhint: {hint}" if hint else problem)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an error come whole from another process, whatever its kind is made of."""
        return _again, (type(self), self.problem, self.hint)


def _again(kind: type[ThermoscopeError], problem: str, hint: str) -> ThermoscopeError:
    error = kind.__new__(kind)
    ThermoscopeError.__init__(error, problem, hint)
    return error


#: What programs that use `collect` catch.
CollectError = ThermoscopeError


class InputError(ThermoscopeError):
    """Something given on the command line, in a recipe or in a file is wrong (exit code 2)."""


class UnsupportedModelError(InputError):
    """The model is of a kind that no adapter describes (exit code 2)."""


class MissingExtraError(ThermoscopeError):
    """A package of an extra is not installed (exit code 3)."""

    exit_code = 3


class UnreachableError(ThermoscopeError):
    """Something must come over the network and did not (exit code 4)."""

    exit_code = 4


class OutputError(ThermoscopeError):
    """The output cannot be written (exit code 5)."""

    exit_code = 5


class ConformanceError(ThermoscopeError):
    """A model contradicts what its adapter promises; its numbers would be wrong (exit code 6)."""

    exit_code = 6


class UnexpectedError(ThermoscopeError):
    """A defect of this program: an exception that nobody foresaw (exit code 70).

    Parameters
    ----------
    error
        The exception.
    """

    exit_code = 70

    def __init__(self, error: BaseException) -> None:
        message = ascii(str(error).strip().partition("\n")[0][:200])[1:-1]
        super().__init__(
            f"Internal error: {type(error).__name__}{f' ({message})' if message else ''}.",
            "This is a defect of thermoscope: report it where you have thermoscope from, with the "
            "command and with what it prints when --debug stands before the verb.",
        )


class ScarcityError(ThermoscopeError):
    """The machine lends no more memory, processes or open files (exit code 71).

    Parameters
    ----------
    what
        What it lacks.
    """

    exit_code = 71

    def __init__(self, what: str) -> None:
        super().__init__(
            f"Out of {what}.",
            "Raise the limit (ulimit -a lists them), or end other programs; no file was left "
            "half-written.",
        )


class TimeLimitError(ThermoscopeError):
    """A command reached the time limit that it was given (exit code 71).

    Parameters
    ----------
    seconds
        The limit [s].
    """

    exit_code = 71

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The time limit of {seconds:g} s was reached before the statement ended.",
            "Raise --timeout, or ask for fewer rows.",
        )


def scarcity(error: BaseException) -> ScarcityError | None:
    """Return what an exception says the machine lacks; None where it says something else."""
    kinds = {
        errno.ENOMEM: "memory",
        errno.EAGAIN: "processes and threads",
        errno.EMFILE: "open files",
        errno.ENFILE: "open files",
    }
    message = str(error).lower()
    number = getattr(error, "errno", None)  # ZeroMQ's errors have one and are no OSError
    if number in kinds:
        return ScarcityError(kinds[number])
    if isinstance(error, MemoryError) or any(words in message for words in OUT_OF_MEMORY):
        return ScarcityError("memory")
    if "can't start new thread" in message or "failed to launch worker thread" in message:
        return ScarcityError("processes and threads")
    return None


def nearest(name: object, known: Iterable[str], n: int = 1, *, cutoff: float = 0.5) -> list[str]:
    """Return the known names most like one, the nearest first, whatever their case.

    Parameters
    ----------
    name
        What was given.
    known
        The names there are.
    n
        How many at most [1].
    cutoff
        From 0, to return names however unlike, to 1, for the same name alone [1].

    Examples
    --------
    >>> nearest("Atention", ["weights", "attention"]), nearest("q7", ["weights", "attention"])
    (['attention'], [])
    """
    from difflib import get_close_matches

    in_lower = {each.lower(): each for each in known}
    matches = get_close_matches(str(name).lower(), in_lower, n, cutoff=cutoff)
    return [in_lower[each] for each in matches]


def unknown_name(what: str, name: object, known: Iterable[str], otherwise: str = "") -> InputError:
    """Return the refusal of a name that is none of those there are; its hint is the nearest.

    Parameters
    ----------
    what
        What it should name, as a sentence begins: "A quantity".
    name, known
        As for `nearest`.
    otherwise
        The hint where no name is like it.
    """
    names = list(known)
    near = nearest(name, names)
    return InputError(
        f"{what} must be one of {', '.join(names)}; found {name!r}.",
        f"The nearest is {near[0]}." if near else otherwise,
    )


@contextmanager
def translate_errors(problem: str, hint: str) -> Iterator[None]:
    """Refuse what code that is not ours raises, in its words; a refusal of ours passes.

    Lack of memory is told as that, and an end of the program is taken for one of the code.

    Parameters
    ----------
    problem
        What must hold and what was found, up to what was raised.
    hint
        What to do.

    Raises
    ------
    InputError
        If the code raises, or asks for the end of the program.
    ScarcityError
        If it lacks memory, processes or open files.
    """
    try:
        yield
    except CollectError:
        raise
    except (Exception, SystemExit) as error:
        lack = scarcity(error)
        if lack is not None:
            raise lack from error
        if isinstance(error, SystemExit):
            hint = "Let it end in an answer or an error; the program is not its to end (sys.exit)."
        message = str(error).strip().partition("\n")[0]
        raise InputError(f"{problem} {type(error).__name__}: {message}", hint) from error


def first_line(error: BaseException) -> str:
    """Return the first line of a message, and those after it as long as a colon announces them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    n_shown = next((n for n, line in enumerate(lines, start=1) if not line.endswith(":")), None)
    return " ".join(lines[:n_shown]) or type(error).__name__
