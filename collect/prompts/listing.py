"""The prompt sets as a person looks them up: what there is, and what stands in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collect.prompts.sets import load, names

#: Characters of a hash, and of a text, that are shown in a table.
_SHOWN, _LONGEST = 12, 500


def sets() -> list[dict[str, object]]:
    """Return one row per shipped set: `name`, `n_prompts`, `categories`, `sha256`.

    Raises
    ------
    InputError
        If a shipped file is damaged.
    """
    return [
        {
            "name": one.name,
            "n_prompts": len(one.prompts),
            "categories": ", ".join(dict.fromkeys(one.prompts["category"].dropna())),
            "sha256": one.sha256,
        }
        for one in map(load, names())
    ]


def prompts(named: Sequence[str]) -> list[dict[str, object]]:
    """Return one row per prompt of some sets: `prompt_id`, `category` (None without one), `text`.

    Raises
    ------
    InputError
        If there is no such set or file, or it is ill-formed.
    """
    return [
        {
            "prompt_id": row.prompt_id,
            "category": row.category if isinstance(row.category, str) else None,
            "text": row.text,
        }
        for name in named
        for row in load(name).prompts.itertuples()
    ]


def as_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as an aligned table; line breaks are escaped, what is long is cut."""
    if not rows:
        return "no prompt sets: run from a clone of the project"
    shown = [[_cell(name, value) for name, value in row.items()] for row in rows]
    table = [list(rows[0]), *shown]
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )


def _cell(name: str, value: object) -> str:
    text = "" if value is None else str(value)
    if name == "sha256":
        return text[:_SHOWN]
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}... ({len(text)} characters)"
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
