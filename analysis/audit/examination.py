"""Running the function of a claim, so that its failure is one sentence that names the place."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from analysis.audit.claim import Claim
from analysis.audit.evidence.checks import Check, lacks_null
from analysis.audit.evidence.figure import require_sound
from analysis.store import Store, shared
from analysis.store.units import FILE, GROUP, KEY, OBSERVATION
from analysis.tidy.errors import AnalysisError, StoreError
from collect.schema import raise_interruption


def examined(one: Claim, store: Store) -> Sequence[Check]:
    """Return the checks of a claim, at least one.

    Raises
    ------
    AnalysisError
        If its function raises anything, or returns something other than checks, or a check of a
        difference whose null nobody knows.
    StoreError
        If published figures name a model, metric or caveat that no table explains, or those of a
        metric are in several units.
    """
    require_sound(store)
    try:
        # Frames here have a few hundred rows: pandas reads Python's text faster than Arrow's.
        with pd.option_context("mode.string_storage", "python"):
            returned = one.examine(store)
            result = list(returned) if isinstance(returned, Iterable) else [returned]
    except BaseException as error:  # code of others may raise what it likes
        raise_interruption(error)
        raise AnalysisError(
            f"The function of claim {one.claim_id} must return checks; it failed in "
            f"{_place(error)} with {_absent_column(error) or described(error)}.",
            _text_among_numbers(store, error)
            or "Correct it there; a check that cannot be made is evidence.missing(...).",
        ) from error
    strangers = {type(each).__name__ for each in result if not isinstance(each, Check)}
    if strangers or not result:
        raise AnalysisError(
            f"The function of claim {one.claim_id} must return at least one Check and nothing "
            f"else; it returned {', '.join(sorted(strangers)) or 'none'}.",
            "A check that cannot be made is evidence.missing(...).",
        )
    names = [each.id for each in result]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise AnalysisError(
            f"Two checks of claim {one.claim_id} have the same id, {twice!r}.",
            "Give their parts or conditions a Label with another id.",
        )
    for each in result:
        if lacks_null(each, one.kind):
            raise AnalysisError(
                f"The check {each.id!r} of claim {one.claim_id} must say where there is nothing, "
                f"its null: of the measure {each.measure!r} none is known.",
                "Give null=0 of a difference or a correlation, null=1 of a ratio, null=math.nan "
                "where there is none.",
            )
    return result


def _absent_column(error: BaseException) -> str:
    """Return which column a frame lacks and which it has, if that is what failed; else empty."""
    if not isinstance(error, KeyError):
        return ""
    frames = [
        found
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if isinstance(found := frame.f_locals.get("self"), pd.DataFrame)
    ]
    if not frames:
        return ""
    return f"KeyError: no column {error.args[0]!r}; there are {', '.join(map(str, frames[-1]))}"


def _text_among_numbers(store: Store, error: BaseException) -> str:
    """Return which field of the units is text among numbers, if that may be what failed."""
    if not isinstance(error, TypeError | ValueError):
        return ""
    try:
        rows = store.facts("FROM unit")
    except AnalysisError:  # an audit of models has none
        return ""
    for name in rows.columns.difference([KEY, GROUP, OBSERVATION]):
        is_text = rows[name].notna() & pd.to_numeric(rows[name], errors="coerce").isna()
        if is_text.any() and is_text.mean() <= 1 / 2:  # labels are mostly text
            place = int(is_text.argmax())
            return f"Correct row {place + 1} of {FILE}: its {name} is {rows[name].iloc[place]!r}."
    return ""


def described(error: BaseException) -> str:
    """Return an error's kind and first line, for use inside a sentence."""
    text = error.problem if isinstance(error, AnalysisError) else str(error)
    line = text.strip().partition("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _place(error: BaseException) -> str:
    """Return file and line of the deepest call in the file that holds the claim's function."""
    # A function may be `shared`: what that puts around it is not where it failed.
    around = shared.__code__.co_filename
    calls = [it for it in traceback.extract_tb(error.__traceback__) if it.filename != around]
    filename = calls[1].filename if len(calls) > 1 else calls[0].filename
    last = [call for call in calls if call.filename == filename][-1]
    return f"{last.filename}, line {last.lineno}"


def statement(store: Store, claim_id: int) -> pd.Series[Any]:
    """Return the statement of a claim and its place."""
    claims = store.facts("FROM raw.claim")
    rows = claims[claims["claim_id"] == claim_id]
    if rows.empty or not str(rows["statement"].iloc[0]).strip():
        raise StoreError(
            f"The store must hold the statement of claim {claim_id}; its table claim has none.",
            "Give claim.csv a row with this claim_id, or write it from the claims with: "
            "thermoscope claims --write. For the paper audited here, open data/published as well.",
        )
    return rows.iloc[0]
