"""Refusals as a program reads them: an option of the command line is the argument of its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from collect.errors import CollectError

Given = ParamSpec("Given")
Result = TypeVar("Result")

#: Options that are switched on, not given a value.
_SWITCHES = ("overwrite", "fail-fast", "stream", "chat-template")

#: Words that may follow an option and are not its value.
_NO_VALUE = r"(?!(?:out|or|and|in|beside|that|to|which)\b)"

_OPTION = re.compile(
    r"(?<![\w-])--(?P<name>[a-z][a-z-]*[a-z])"
    rf"(?P<value>(?<=dtype) {_NO_VALUE}[\w:]+|(?<=device) {_NO_VALUE}[\w:]+"
    rf"|(?<=batch-size) {_NO_VALUE}\w+|(?<=too-long) {_NO_VALUE}\w+"
    r"|(?<=revision) '[^']+'"
    rf"|(?<=special-tokens) {_NO_VALUE}\w+|(?<=allow-nonconforming) \S+(?=\.))?"
)


def told_to_programs(call: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function whose refusals name arguments where they name options of the command."""
    return _told(call, in_python)


def told_of_settings(call: Callable[Given, Result]) -> Callable[Given, Result]:
    """As `told_to_programs`, for a function that takes the attributes of `Settings`."""
    return _told(call, partial(in_python, of_settings=True))


def _told(call: Callable[Given, Result], reworded: Callable[[str], str]) -> Callable[Given, Result]:
    @wraps(call)
    def called(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            return call(*args, **options)
        except CollectError as error:
            error.problem, error.hint = reworded(error.problem), reworded(error.hint)
            error.args = (reworded(str(error)),)
            raise

    return called


def in_python(text: str, *, of_settings: bool = False) -> str:
    """Return a sentence with the options in it written as arguments of a function.

    >>> in_python("Give --overwrite, or choose another --batch-size.")
    'Give overwrite=True, or choose another batch_size.'
    >>> in_python("Use --device cpu, or leave --special-tokens out.")
    'Use device="cpu", or leave special_tokens out.'
    >>> in_python("Add --revision 'step*' to measure them.")
    'Add revision="step*" to measure them.'
    >>> in_python("Add --allow-nonconforming ./tiny."), in_python("Add --chat-template.")
    ('Add allow_nonconforming=True.', 'Add chat_template=True.')
    >>> in_python("Add --allow-nonconforming ./tiny or --chat-template.", of_settings=True)
    'Add allow_nonconforming ./tiny or rendering="chat".'
    >>> in_python("Add --allow-nonconforming ./tiny.", of_settings=True)
    'Add allow_nonconforming=["./tiny"].'
    """
    return _OPTION.sub(partial(_argument, of_settings=of_settings), text)


def _argument(match: re.Match[str], *, of_settings: bool) -> str:
    option, value = match["name"], (match["value"] or "").strip(" '")
    name = option.replace("-", "_")
    if option == "chat-template" and of_settings:
        return 'rendering="chat"'
    if option == "allow-nonconforming" and value:
        return f'{name}=["{value}"]' if of_settings else f"{name}=True"
    if option in _SWITCHES:
        return f"{name}=True"
    if not value:
        return name
    return f"{name}={value}" if value.isdecimal() else f'{name}="{value}"'
