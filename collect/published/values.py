"""Published files as rows of table ``published_value``, one per leaf.

What a leaf is, is looked up in ``rules.toml``. Numbers are taken as they stand: nothing is
rounded, repaired or left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from collect import schema
from collect.prompts import sets as prompts
from collect.published import catalogue
from collect.published.flatten import Leaf, Scalar, read_leaves
from collect.published.rules import Captures, Rule, RuleBook, classify, rule_book

#: Statistics that are pure numbers whatever the metric's unit.
_UNITLESS = ("p_value", "correlation", "n")


def published_values(source: Path, names: Iterable[str]) -> pd.DataFrame:
    """Return one row per leaf of the files: the columns of table ``published_value``."""
    book = rule_book()
    rows: list[dict[str, object]] = []
    for name in names:
        rules = book.rules_of(name)
        for leaf in read_leaves(source / name):
            rows.append(value_row(name, leaf, *classify(leaf, rules), book))
    values = pd.DataFrame(rows, columns=schema.arrow_schema("published_value").names)
    return values.assign(layer=values["layer"].astype("Int32"), value=_restore_nan(rows))


def _restore_nan(rows: list[dict[str, object]]) -> pd.Series[Any]:
    """Return the values with NULL (no number) and NaN (what the file says) kept apart."""
    values = pa.array([row["value"] for row in rows], type=pa.float64())
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


def value_row(
    file: str, leaf: Leaf, rule: Rule, captured: Captures, book: RuleBook
) -> dict[str, object]:
    """Return the row of one leaf that a rule has classified."""
    names = {**leaf.fields, **captured}
    unit = catalogue.units()[rule.metric]
    model_id = _model_id(_fill(rule.model, names), book)
    value, text = _value_and_text(leaf.value, is_cell=file.endswith(".csv"), is_label=unit == "-")
    prompt_id = _prompt_id(file, rule.prompt, names, book)
    involves_prompts = rule.metric not in book.no_forward_pass
    return {
        "file": file,
        "path": leaf.path,
        "metric": rule.metric,
        "statistic": "other" if unit == "-" else rule.statistic,
        "model_id": model_id,
        "prompt_set": _cell(file, "prompt_set") if prompt_id or involves_prompts else None,
        "prompt_id": prompt_id,
        "layer": captured.get("layer"),
        "dtype": _cell(file, "dtype") if involves_prompts else None,
        "value": value,
        "text": text,
        "unit": rule.unit or ("1" if rule.statistic in _UNITLESS else unit),
        "caveats": ",".join(_caveats(file, rule, model_id, book)),
    }


def _cell(file: str, column: str) -> str | None:
    return catalogue.files()[file][column] or None


def _fill(template: str, names: dict[str, Scalar]) -> str | None:
    """Return the template with its braces filled, or None when a name is missing."""
    try:
        return template.format_map(names)
    except KeyError:
        return None


def _value_and_text(
    scalar: Scalar, *, is_cell: bool, is_label: bool
) -> tuple[float | None, str | None]:
    """Return the number and the text of a leaf.

    A label has text only. A cell of a CSV file is a number where it can be read as one; in
    JSON, a string that can is kept as text besides.
    """
    if isinstance(scalar, bool):
        return None, str(scalar).lower()
    if scalar is None:
        return None, None
    if not isinstance(scalar, str):
        return float(scalar), None
    number = None if is_label else _number(scalar)
    return number, None if is_cell and number is not None else scalar


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _model_id(name: str | None, book: RuleBook) -> str | None:
    if name is None:
        return None
    return book.models.get(name.lower()) or _model_ids().get(name.lower())


@cache
def _model_ids() -> dict[str, str]:
    """Return the hub identifier by itself and by its last part, in lower case."""
    ids = catalogue.n_layers()
    return {key.lower(): name for name in ids for key in (name, name.rpartition("/")[2])}


def _prompt_id(
    file: str, template: str | None, names: dict[str, Scalar], book: RuleBook
) -> str | None:
    """Return the prompt that the template names by text, place or alias."""
    prompt_set = _cell(file, "prompt_set")
    wanted = None if template is None else _fill(template, names)
    if prompt_set is None or wanted is None:
        return None
    return _prompt_ids(prompt_set).get(str(book.prompts.get(wanted, wanted)))


@cache
def _prompt_ids(prompt_set: str) -> dict[str, str]:
    """Return ``prompt_id`` by the prompt's text and by its place in the set."""
    rows = prompts.load(prompt_set).prompts
    by_text = dict(zip(rows["text"], rows["prompt_id"], strict=True))
    return by_text | {str(place): prompt_id for place, prompt_id in enumerate(rows["prompt_id"])}


def _caveats(file: str, rule: Rule, model_id: str | None, book: RuleBook) -> list[str]:
    """Return the candidates that the file's row lists and that touch the model."""
    candidates = {*book.metric_caveats.get(rule.metric, ()), *rule.caveats}
    listed = catalogue.files()[file]["caveats"].split(",")
    return [
        caveat for caveat in listed if caveat in candidates and _touches(caveat, model_id, book)
    ]


def _touches(caveat: str, model_id: str | None, book: RuleBook) -> bool:
    models = book.touches.get(caveat)
    if models is None or model_id is None:
        return True
    return any(fnmatchcase(model_id, model) for model in models)
