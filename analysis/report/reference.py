"""The reference of the public API and of the command line, read off docstrings and parsers.

Sources are read and not imported, so that what needs torch is described without it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from markupsafe import Markup

from analysis.tidy import html
from analysis.tidy.extra import extra
from collect.process import shipped
from collect.process.parser import listed_codes, verb_parser
from collect.process.verbs import ALWAYS, EXIT_CODES, declared


def api(package: str) -> str:
    """Return Markdown with every public name of a package: its signature and its docstring."""
    there = _loader().load(package)
    parts = [_text(there.docstring)]
    for name in map(str, there.exports or []):
        parts.append(_describe(name, there.members[name].final_target))
    return "\n\n".join(part for part in parts if part)


def commands() -> str:
    """Return Markdown with the help of every verb."""
    parts = []
    for name, verb in declared().items():
        text = verb_parser(name, verb).format_help().split("\nexit codes:")[0].rstrip()
        label = name.replace(" ", "-")
        parts.append(f"### {name} {{#sec-verb-{label} .unnumbered}}\n\n{_code(text)}")
    return "\n\n".join(parts)


def exit_codes() -> str:
    """Return Markdown with each exit code, and the verbs that end with it where not all do."""
    verbs = declared()
    meanings = {}
    for code, meaning in EXIT_CODES.items():
        named = ", ".join(name for name, verb in verbs.items() if code in verb.exit_codes())
        meanings[code] = meaning if code in ALWAYS else f"{meaning}: {named}"
    return _code(listed_codes(meanings).partition("\n")[2].rstrip())


@cache
def _loader() -> Any:
    griffe = extra("griffe")
    loader = griffe.GriffeLoader(search_paths=[shipped.BESIDE], allow_inspection=False)
    for package in ("analysis", "collect"):  # where the names of the face are defined
        loader.load(package)
    return loader


def _describe(name: str, there: Any) -> str:
    label = name.replace("_", "-")
    heading = f"### {name} {{#sec-api-{label} .unnumbered}}"
    signature = str(there.signature()) if there.is_function else f"class {there.name}"
    called = _code(signature.replace(there.name, f"thermoscope.{name}", 1))
    return "\n\n".join(
        [heading, f"`{there.module.path}`\n\n{called}", _code(_text(there.docstring))]
    )


def _code(text: str) -> str:
    """Return a text as it stands, with its lines; a docstring is laid out for that."""
    return html.block(Markup("<pre><code>{}</code></pre>").format(text)) if text else ""


def _text(docstring: Any) -> str:
    return str(docstring.value).strip() if docstring else ""
