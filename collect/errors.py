"""The few ways collection can refuse, each with its exit code.

The first sentence says what must hold and what was found; the hint says what to do.
"""

from __future__ import annotations


class CollectError(Exception):
    """Refusal that a person can act on.

    Parameters
    ----------
    problem
        What must hold, and what was found, in one sentence.
    hint
        What to do about it, in one sentence.
    """

    exit_code = 2

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}\nhint: {hint}" if hint else problem)


class InputError(CollectError):
    """Something given on the command line, in a recipe or in a file is wrong (exit code 2)."""


class UnsupportedModelError(InputError):
    """The model is of a kind that no adapter describes (exit code 2)."""


class MissingExtraError(CollectError):
    """A package of the [collect] extra is not installed (exit code 3)."""

    exit_code = 3


class UnreachableError(CollectError):
    """Something must come over the network and did not (exit code 4)."""

    exit_code = 4


class OutputError(CollectError):
    """The output cannot be written (exit code 5)."""

    exit_code = 5


class ConformanceError(CollectError):
    """A model contradicts what its adapter promises; its numbers would be wrong (exit code 6)."""

    exit_code = 6


class UnexpectedError(CollectError):
    """A defect of this program: an exception that nobody foresaw (exit code 70).

    Parameters
    ----------
    error
        The exception.
    """

    exit_code = 70

    def __init__(self, error: Exception) -> None:
        said = ascii(str(error).strip().partition("\n")[0][:200])[1:-1]
        super().__init__(
            f"Every failure must be foreseen; {type(error).__name__} was not"
            f"{f' ({said})' if said else ''}.",
            "This is a defect of thermoscope: report it where you have thermoscope from, with the "
            "command and with what it prints when --debug stands before the verb.",
        )
