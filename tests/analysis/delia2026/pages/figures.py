"""The charts that the pages show, each drawn by the statements of its page that it needs.

A chart is found by its chunk, which has ``fig-alt`` and ends with what draws it: a new one is
tested without being named.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from typing import Any

from analysis.report.reading.places import pages
from analysis.report.reading.source import read_source
from tests.analysis.places import ROOT

QUARTO = ROOT / "quarto"


@cache
def charts() -> dict[str, Any]:
    """Return each chart of the pages by the label of its chunk."""
    found: dict[str, Any] = {}
    with chdir(QUARTO):  # as for a page, whose paths begin there
        for label, needed in _figures():
            if label not in found:
                *before, last = needed
                names: dict[str, Any] = {}
                exec(compile(ast.Module(before, []), label, "exec"), names)
                found[label] = eval(ast.unparse(last), names)
    return found


@cache
def specs() -> dict[str, dict[str, Any]]:
    """Return what each chart draws, as Vega-Lite has it."""
    return {label: chart.to_dict() for label, chart in charts().items()}


def _figures() -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the label of each figure and the statements that it needs, what draws it last."""
    for page in pages(QUARTO):
        statements: list[ast.stmt] = []
        for chunk in read_source(page).chunks:
            statements += ast.parse(chunk.code).body
            if "fig-alt" in chunk.options:
                yield chunk.options["label"], _needed(statements)


def _needed(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without which the last one has no meaning, in their order."""
    *before, last = statements
    needed, names = [last], _names(last, ast.Load)
    for statement in reversed(before):
        if _names(statement, ast.Store) & names:
            needed.insert(0, statement)
            names |= _names(statement, ast.Load)
    return needed


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement reads, or those that it binds."""
    nodes = [*ast.walk(statement)]
    names = {it.id for it in nodes if isinstance(it, ast.Name) and isinstance(it.ctx, context)}
    if context is ast.Store:
        names |= {it.name for it in nodes if isinstance(it, ast.FunctionDef)}
        names |= {
            alias.asname or alias.name.split(".")[0]
            for it in nodes
            if isinstance(it, ast.Import | ast.ImportFrom)
            for alias in it.names
        }
    return names
