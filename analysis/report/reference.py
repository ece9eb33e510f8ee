"""The reference of the public API and of the command line, read off docstrings and parsers.

Sources are read and not imported, so that what needs torch is described without it.
"""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from analysis.tidy.extra import extra
from collect.process import shipped
from collect.process.parser import verb_parser
from collect.process.verbs import EXIT_CODES, declared


def api(package: str) -> str:
    """Return Markdown with every public name of a package: signature, meaning, parameters, example.

    Raises
    ------
    MissingExtraError
        If griffe, which reads docstrings, is not installed.
    """
    parts = [_text(_module(package).docstring)]
    for name in _module(package).exports or []:
        parts.append(_described(str(name), _path(package, str(name))))
    return "\n\n".join(part for part in parts if part)


def commands() -> str:
    """Return Markdown with the help of every verb."""
    parts = []
    for name, verb in declared().items():
        text = verb_parser(name, verb).format_help().split("\nexit codes:")[0].rstrip()
        parts.append(
            f"### {name} {{#sec-verb-{name.replace(' ', '-')} .unnumbered}}\n\n{_code(text)}"
        )
    return "\n\n".join(parts)


def exit_codes() -> str:
    """Return Markdown with the exit codes of all verbs."""
    return _code(EXIT_CODES.partition("\n")[2].rstrip())


def _described(name: str, path: str) -> str:
    there = _target(path)
    heading = f"### {name} {{#sec-api-{path.replace('.', '-').replace('_', '-')} .unnumbered}}"
    if not there.is_module:
        return "\n\n".join([heading, *_entry(there)])
    functions = [
        one
        for one in there.members.values()
        if not one.is_alias and one.is_function and one.is_public
    ]
    inside = [part for one in functions for part in _entry(one)]
    return "\n\n".join([heading, _code(_text(there.docstring)), *inside])


def _entry(one: Any) -> list[str]:
    signature = str(one.signature()) if one.is_function else f"class {one.name}"
    return [f"`{one.module.path}`\n\n{_code(signature)}", _code(_text(one.docstring))]


def _code(text: str) -> str:
    """Return a text as it stands, with its lines; a docstring is laid out for that."""
    return f"```{{=html}}\n<pre><code>{escape(text)}</code></pre>\n```" if text else ""


def _text(docstring: Any) -> str:
    return str(docstring.value).strip() if docstring else ""


def _path(package: str, name: str) -> str:
    """Return where a public name is defined; a module of the package itself is no import."""
    members = _module(package).members
    return str(members[name].target_path) if name in members else f"{package}.{name}"


def _target(path: str) -> Any:
    """Return what a dotted path names: a module, or a member of one."""
    if _file(path):
        return _module(path)
    module, _, name = path.rpartition(".")
    return _module(module).members[name]


@cache
def _module(path: str) -> Any:
    file = _file(path)
    if file is None:
        raise LookupError(path)
    griffe = extra("griffe")
    return griffe.visit(path, file, file.read_text(encoding="utf-8"))


def _file(path: str) -> Path | None:
    place = shipped.BESIDE.joinpath(*path.split("."))
    candidates = (place / "__init__.py", place.with_suffix(".py"))
    return next((it for it in candidates if it.is_file()), None)
