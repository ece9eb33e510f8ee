"""The card of a data set: its README, with its YAML front matter."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from collect.errors import InputError
from collect.record.publication.description import About
from collect.schema import tables
from collect.schema.counting import counted

_BEGIN = "<!-- written by: collect publish -->"
_END = "<!-- end of what collect publish wrote; what follows stays -->"


def card(
    about: About,
    by_table: Mapping[str, Sequence[str]],
    n_rows: Mapping[str, int],
    *,
    n_bytes: int,
    before: str = "",
) -> str:
    """Return the card as Markdown.

    Parameters
    ----------
    about
        What the data set is.
    by_table, n_rows
        Paths of the files of each table, and its number of rows [1].
    n_bytes
        Size of all files [bytes].
    before
        The text that stands there; what `collect publish` did not write stays below the card.
    """
    body = "\n".join(
        [
            _BEGIN,
            "",
            f"# {about.name}",
            "",
            about.description,
            "",
            *_facts(about, sum(n_rows.values()), n_bytes),
            "",
            "| table | rows | a row is |",
            "|---|---:|---|",
            *(f"| `{table}` | {n_rows[table]:,} | {_meaning(table)} |" for table in n_rows),
            "",
            *_reading(by_table),
            "",
            _END,
        ]
    )
    written = _manual_section(before)
    return f"{_head(about, by_table)}\n{body}\n" + (f"\n{written}\n" if written else "")


def _head(about: About, by_table: Mapping[str, Sequence[str]]) -> str:
    """Return the metadata in front: YAML, of which every value is written as JSON."""
    lines = ["---", f"pretty_name: {json.dumps(about.name)}", *_licence_of_head(about)]
    lines += ["tags:", "- interpretability", "- transformers", "- residual-stream", "configs:"]
    for table, names in by_table.items():
        place = f"{table}/*.parquet" if "/" in names[0] else names[0]
        lines += [f"- config_name: {table}", f"  data_files: {json.dumps(place)}"]
    return "\n".join([*lines, "---"])


def _licence_of_head(about: About) -> list[str]:
    if "://" not in about.licence:
        return [f"license: {about.licence.lower()}"]
    return ["license: other", "license_name: other", f"license_link: {json.dumps(about.licence)}"]


def _facts(about: About, n_rows: int, n_bytes: int) -> list[str]:
    facts = [
        f"- Version {about.version}, published on {about.published.isoformat()}"
        f" by {', '.join(about.creators)}.",
        f"- {counted(n_rows, 'row')} in {n_bytes:,} bytes; `croissant.json` has size and SHA-256 "
        "of every file, and the meaning and unit of every column.",
        f"- Licence: [{about.licence}]({about.licence_url}).",
    ]
    if about.url:
        facts.append(f"- To be found at <{about.url}>.")
    if about.citation:
        facts += ["- To cite:", "", "```bibtex", about.citation.strip(), "```"]
    return facts


def _meaning(table: str) -> str:
    return (
        tables()[table].meaning.partition(".")[0].removeprefix("One row per ").replace("|", "\\|")
    )


def _reading(by_table: Mapping[str, Sequence[str]]) -> list[str]:
    large = "residual_norm" if "residual_norm" in by_table else next(iter(by_table))
    place = by_table[large][0]
    place = f"{large}/*.parquet" if "/" in place else PurePosixPath(place).name
    return [
        "Any DuckDB program reads the tables; thermoscope adds views of gain, attention and more, "
        "here or at the address where the files lie:",
        "",
        "```sh",
        f"duckdb -c \"FROM '{place}' LIMIT 5\"",
        'thermoscope --data . sql "FROM gain_by_model"',
        'thermoscope --data https://example.org/this/directory sql "FROM model"',
        "```",
    ]


def _manual_section(before: str) -> str:
    """Return what a person wrote."""
    if _END in before:
        return before.partition(_END)[2].strip()
    if before.startswith("---"):
        raise InputError(
            "A data card must be written by `collect publish`, or have no front matter; that of "
            "README.md has another origin.",
            "Move README.md elsewhere, publish, and put its text below the card.",
        )
    return before.strip()
