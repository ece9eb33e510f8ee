"""Which rule of ``rules.toml`` fits a leaf, and what it captures from the path.

The syntax of patterns is described at the top of ``rules.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from collect.published.flatten import Leaf, Step

Captures = dict[str, Step]

_PART = re.compile(r"\.(?P<word>[^.\[\]]+)|\['(?P<quoted>[^']+)'\]|\[(?P<index>[^'\]]+)\]")
_OFFSET = re.compile(r"layer(?P<offset>[+-]\d+)")


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a pattern: a name with wildcards, an index, or a capture."""

    text: str
    is_index: bool

    def captures(self, step: Step, *, is_last: bool) -> Captures | None:
        """Return what the step gives when it fits the part, and None when it does not."""
        if self.text.startswith("{"):
            if isinstance(step, int) != self.is_index:
                return None
            name = self.text[1:-1]
            if name == "last_layer":
                return {"layer": step} if is_last else None
            shifted = _OFFSET.fullmatch(name)
            if shifted and isinstance(step, int):
                return {"layer": step + int(shifted["offset"])}
            return {name: step}
        if isinstance(step, int):
            return {} if self.is_index and self.text in ("*", str(step)) else None
        return {} if not self.is_index and fnmatchcase(step, self.text) else None


@dataclass(frozen=True, slots=True)
class Rule:
    """What a leaf is whose path fits the pattern; see ``rules.toml`` for the fields."""

    parts: tuple[Part, ...]
    is_anchored: bool
    metric: str
    statistic: str
    model: str
    prompt: str | None
    unit: str | None
    caveats: tuple[str, ...]

    def captures(self, leaf: Leaf) -> Captures | None:
        """Return the captured steps when the leaf fits the rule, and None when it does not."""
        surplus = len(leaf.steps) - len(self.parts)
        if surplus < 0 or (self.is_anchored and surplus > 0):
            return None
        captured: Captures = {}
        for part, step in zip(self.parts, leaf.steps[surplus:], strict=True):
            groups = part.captures(step, is_last=leaf.is_last)
            if groups is None:
                return None
            captured |= groups
        return captured


UNCLASSIFIED = Rule((), False, "unclassified", "other", "", None, None, ())


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The content of ``rules.toml``.

    Parameters
    ----------
    groups
        File name patterns with the rules for the files they fit, in order.
    metric_caveats
        Candidate caveats of every value of a metric.
    touches
        Model patterns a caveat is confined to, by caveat.
    models
        Hub identifier by the other names the files use, in lower case.
    prompts
        Place in the prompt set by the names the files use.
    no_forward_pass
        Metrics that involve no prompt.
    """

    groups: tuple[tuple[tuple[str, ...], tuple[Rule, ...]], ...]
    metric_caveats: Mapping[str, tuple[str, ...]]
    touches: Mapping[str, tuple[str, ...]]
    models: Mapping[str, str]
    prompts: Mapping[str, int]
    no_forward_pass: frozenset[str]

    def rules_of(self, file: str) -> list[Rule]:
        """Return the rules that apply to a file, first to last."""
        return [
            rule
            for names, rules in self.groups
            if any(fnmatchcase(file, name) for name in names)
            for rule in rules
        ]


def classify(leaf: Leaf, rules: Sequence[Rule]) -> tuple[Rule, Captures]:
    """Return the first rule that fits and what it captures; ``UNCLASSIFIED`` when none does."""
    for rule in rules:
        captured = rule.captures(leaf)
        if captured is not None:
            return rule, captured
    return UNCLASSIFIED, {}


@cache
def rule_book() -> RuleBook:
    """Return the rules that come with the package."""
    text = files("collect.published").joinpath("rules.toml").read_text(encoding="utf-8")
    return read_rule_book(text)


def read_rule_book(text: str) -> RuleBook:
    """Return the rules written in TOML."""
    book = tomllib.loads(text)
    return RuleBook(
        groups=tuple(
            (
                tuple(group["files"]),
                tuple(_rule(entry, group["model"]) for entry in group["rules"]),
            )
            for group in book["group"]
        ),
        metric_caveats={metric: tuple(ids) for metric, ids in book["caveats"].items()},
        touches={caveat: tuple(models) for caveat, models in book["touches"].items()},
        models=book["models"],
        prompts=book["prompts"],
        no_forward_pass=frozenset(book["no_forward_pass"]),
    )


def _rule(entry: Mapping[str, Any], model: str) -> Rule:
    pattern = entry["path"].removeprefix("$")
    return Rule(
        parts=_parts(pattern.removeprefix("**")),
        is_anchored=not pattern.startswith("**"),
        metric=entry["metric"],
        statistic=entry.get("statistic", "value"),
        model=entry.get("model", model),
        prompt=entry.get("prompt"),
        unit=entry.get("unit"),
        caveats=tuple(entry.get("caveats", ())),
    )


def _parts(pattern: str) -> tuple[Part, ...]:
    """Split ``.models[*]['W_V Mean']`` into its steps."""
    matches = list(_PART.finditer(pattern))
    if "".join(match.group() for match in matches) != pattern:
        raise ValueError(f"A pattern must be steps like .name, ['name'] or [0]; found {pattern!r}.")
    return tuple(
        Part(match["word"] or match["quoted"] or match["index"], match["index"] is not None)
        for match in matches
    )
