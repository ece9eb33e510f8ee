"""Claims as a room declares them: words in its ``claims.toml``, checks in its modules."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from analysis.audit.claim import Claim, Line
from analysis.audit.evidence.checks import Check
from analysis.heritage import reasons
from analysis.store import Store

Examine = Callable[[Store], Sequence[Check]]


def declared(
    module: str, judged: Mapping[int, tuple[Examine, *tuple[Line, ...]]]
) -> tuple[Claim, ...]:
    """Return claims: the words from ``claims.toml``, the function and lines from their module.

    Parameters
    ----------
    module
        The file of the module, beside which ``claims.toml`` lies. Its keys are fields of `Claim`; a
        reason may end with the name of one in `analysis.heritage.reasons`, in braces.
    judged
        By number of the claim the function that examines it, and the values that it names.
    """
    words = _words(Path(module).with_name("claims.toml"))
    return tuple(
        Claim(number, examine=examine, lines=tuple(lines), **words[str(number)])
        for number, (examine, *lines) in judged.items()
    )


@cache
def _words(file: Path) -> dict[str, dict[str, Any]]:
    claims = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        number: fields | {"reason": fields["reason"].format(**vars(reasons))}
        for number, fields in claims.items()
    }
