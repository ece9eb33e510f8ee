"""YAML as the report uses it: mappings in sources, scalars on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra


def mapping(text: str, where: str) -> dict[str, Any]:
    """Return a YAML mapping; empty if the text is.

    Raises
    ------
    ReportError
        If the text is not YAML, or not a mapping; ``where`` names its place.
    """
    yaml = extra("yaml")
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        fault = " ".join(str(error).split())
        raise ReportError(f"The YAML of {where} must be readable; found: {fault}.") from error
    if content is not None and not isinstance(content, dict):
        raise ReportError(f"The YAML of {where} must be 'key: value' lines; found {content!r}.")
    return content or {}


def scalar(text: str) -> bool | int | float | str:
    """Return the value that a parameter's text stands for.

    >>> [scalar(text) for text in ("3", "true", "../data", "2026-01-02")]
    [3, True, '../data', '2026-01-02']
    """
    yaml = extra("yaml")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return value if isinstance(value, bool | int | float) else text


def unread(text: str) -> str:
    """Return YAML that is read as what `scalar` takes a parameter's text for.

    >>> [unread(text) for text in ("3", "../a #1", "")]
    ['3', '"../a #1"', '""']
    """
    return json.dumps(text, ensure_ascii=False) if isinstance(scalar(text), str) else text


def written(content: Mapping[str, Any]) -> str:
    """Return a mapping as the YAML block that heads a Markdown document."""
    return f"---\n{extra('yaml').safe_dump(dict(content), allow_unicode=True)}---\n"
