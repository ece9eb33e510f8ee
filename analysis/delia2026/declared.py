"""Claims as a room declares them: words in its ``claims.toml``, checks in its modules."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from analysis.audit.claim import Claim, Line, Quotation
from analysis.audit.evidence.checks import Check
from analysis.store import Store
from analysis.tidy.errors import AnalysisError

#: What each document of the author is called before a place in it; places of the paper stand alone.
DOCUMENTS = {
    "paper": "",
    "forum_post": "forum post, ",
    "plain_language_summary": "summary, ",
    "repository_readme": "README, ",
    "zenodo_description": "Zenodo description, ",
}

#: What many claims have in common of why their quantity is the property it is, by its name in them.
REASONS = {
    # A free length or sign: what would make it tell of training after all.
    "RAW_AND_CENTRED": (
        " It would tell of training if decay or the start of the weights kept the mean of the "
        "stream small. Raw and centred gain must then agree, which can be checked."
    ),
    # A free factor of a product of matrices, likewise.
    "BALANCED": (
        " It would tell of training if both factors had been decayed alike and for long. Decay "
        "favours the basis in which W_V and W_O are equally long."
    ),
    # A network and the one it was tuned from.
    "TUNED": (
        "A fine-tuned model starts in the coordinates of its base. The gradient of the loss "
        "has no part along a change that leaves the loss. So training did what differs between the "
        "two."
    ),
}

Examine = TypeVar("Examine", bound=Callable[[Store], Sequence[Check]])

#: Of each module: by number of the claim, the function that examines it and the values it names.
_JUDGED: dict[str, dict[int, tuple[Callable[[Store], Sequence[Check]], tuple[Line, ...]]]] = {}


def claim(number: int, *lines: Line) -> Callable[[Examine], Examine]:
    """Return what marks a function as the one that examines a claim.

    Parameters
    ----------
    number
        That of the claim, whose words are in ``claims.toml`` beside the module of the function.
    *lines
        The values that it names.
    """

    def mark(examine: Examine) -> Examine:
        _JUDGED.setdefault(examine.__module__, {})[number] = (examine, lines)
        return examine

    return mark


def claims_of(module: ModuleType) -> tuple[Claim, ...]:
    """Return the claims of a module: words from ``claims.toml``, functions and lines from it.

    The file lies beside the module. Its keys are fields of `Claim`; a reason may end with the name
    of one of `REASONS`, in braces, and each of the quotations is a list of document, place and
    words. What is quoted stands where its quotations do.

    Raises
    ------
    AnalysisError
        If the words of a claim are missing, or have a key that is no field of `Claim`.
    """
    file = Path(str(module.__file__)).with_name("claims.toml")
    return tuple(
        Claim(number, examine=examine, lines=lines, **_words_of(number, file))
        for number, (examine, lines) in _JUDGED[module.__name__].items()
    )


def _words_of(number: int, file: Path) -> dict[str, Any]:
    words = _words(file).get(str(number), {})
    needed = {one.name: one.default is MISSING for one in fields(Claim)}
    for name in ("claim_id", "examine", "lines"):  # what the module gives
        del needed[name]
    lacking = [name for name, is_needed in needed.items() if is_needed and name not in words]
    if lacking or not words.keys() <= needed.keys():
        unknown = [name for name in words if name not in needed]
        raise AnalysisError(
            f"The keys of claim {number} in {file.parent.name}/{file.name} must be fields of "
            f"Claim; missing: {', '.join(lacking) or 'none'}; unknown: "
            f"{', '.join(unknown) or 'none'}.",
            f"Correct them in {file}, below [{number}].",
        )
    # A claim stands where its quotations do, if it has any.
    quotations = tuple(Quotation(*each) for each in words.get("quotations", ()))
    places = dict.fromkeys(f"{DOCUMENTS[one.document]}{one.place}" for one in quotations)
    return words | {"quotations": quotations, "place": "; ".join(places) or words.get("place", "")}


@cache
def _words(file: Path) -> dict[str, dict[str, Any]]:
    claims = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        number: words | {"reason": words.get("reason", "").format(**REASONS)}
        for number, words in claims.items()
    }
