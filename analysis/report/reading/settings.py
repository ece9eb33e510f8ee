"""YAML of sources: the options of a page, from its front matter and ``_quarto.yml``.

Pandoc gets all of them as metadata; keys that only concern how Quarto itself looks do nothing here.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra

PROJECT_FILE = "_quarto.yml"


def settings_of(front_matter: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """Return the options of a page: front matter over ``_quarto.yml``, html options over both."""
    merged = _merge(project_options(directory), front_matter)
    options = _merge({"lang": "en"}, _merge(merged, merged.get("format", {}).get("html", {})))
    if options.get("date") == "today":
        today = datetime.datetime.now(tz=datetime.UTC).date()
        options["date"] = f"{today.day} {today:%B %Y}"
    return options


def project_options(directory: Path) -> dict[str, Any]:
    """Return the content of ``_quarto.yml`` in a directory; empty if there is none."""
    path = directory / PROJECT_FILE
    return mapping(path.read_text(encoding="utf-8"), path.name) if path.is_file() else {}


def files(options: Mapping[str, Any], key: str, directory: Path) -> list[Path]:
    """Return the files that an option names, one or several."""
    names = options.get(key) or []
    return [directory / name for name in (names if isinstance(names, list) else [names])]


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _merge(base[key], over[key])
        for key in base.keys() & over.keys()
        if isinstance(base[key], Mapping) and isinstance(over[key], Mapping)
    }
    return {**base, **over, **both}


def mapping(text: str, where: str) -> dict[str, Any]:
    """Return a YAML mapping, empty if the text is; ``where`` names its place in a refusal."""
    if not text:
        return {}
    yaml = extra("yaml")
    try:
        # By libyaml, where PyYAML was built with it: every page reads the options of all chunks.
        content = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        fault = " ".join(str(error).split())
        raise ReportError(f"The YAML of {where} must be readable; found: {fault}.") from error
    if content is not None and not isinstance(content, dict):
        raise ReportError(f"The YAML of {where} must be 'key: value' lines; found {content!r}.")
    return content or {}


def written(content: Mapping[str, Any]) -> str:
    """Return a mapping as the YAML block that heads a Markdown document."""
    return f"---\n{extra('yaml').safe_dump(dict(content), allow_unicode=True)}---\n"
