"""Refusals as a program reads them: an option of the command line is the argument of its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from collect.errors import CollectError

Given = ParamSpec("Given")
Result = TypeVar("Result")

#: Options that are switched on, not given a value.
_SWITCHES = ("overwrite", "fail-fast", "stream", "allow-nonconforming")


def told_to_programs(call: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function whose refusals name arguments where they name options of the command."""

    @wraps(call)
    def called(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            return call(*args, **options)
        except CollectError as error:
            error.problem, error.hint = in_python(error.problem), in_python(error.hint)
            error.args = (in_python(str(error)),)
            raise

    return called


def in_python(text: str) -> str:
    """Return a sentence with the options in it written as arguments of a function.

    >>> in_python("Give --overwrite, or choose another --batch-size.")
    'Give overwrite=True, or choose another batch_size.'
    """
    text = re.sub(r"--allow-nonconforming \S+(?=\.)", "--allow-nonconforming", text)
    return re.sub(r"(?<![\w-])--([a-z][a-z-]*[a-z])", _argument, text)


def _argument(found: re.Match[str]) -> str:
    name = found[1]
    return f"{name.replace('-', '_')}{'=True' if name in _SWITCHES else ''}"
