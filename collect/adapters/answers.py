"""Every type of the installed transformers that predicts a next token, with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collect.adapters.adapter import Adapter
from collect.adapters.capability import HEADS, MAPS, PARTS
from collect.adapters.nested import PLACES, text_type
from collect.adapters.quantised import RELEASED
from collect.adapters.refused import REFUSED
from collect.adapters.register import ADAPTERS

#: The table of all answers, as it is committed.
PATH = Path(__file__).with_name("TYPES.md")

WHOLE, IN_PART, TEXT, NOT = "measured", "in part", "its text", "refused"

#: What is said of a type that nothing is known of.
UNKNOWN = "unknown"

#: What a layout is measured without, by what it lacks.
_WITHOUT = {HEADS: "weights", MAPS: "attention", PARTS: "parts of blocks"}

_INTRODUCTION = """\
# Types and their answers

Every type that `AutoModelForCausalLM` of transformers {version} knows, {n} of them:
{n_measured} are measured, {n_in_part} of these in part and of {n_text} the text within, and
{n_refused} are refused. A type is measured where its weights are plain floats: {n_released} of the
measured ones are released quantised by their makers, which is refused until they are dequantised
({released}). This file is generated: `thermoscope collect models --write` writes it, and
a test holds it to the code.

Measured in part means: norms and gains of the stream, geometry and predictions as of every
model, and what the layout lacks is left out and named in table `not_measured`. *Weights* are
norms of the heads' matrices, *attention* statistics of their maps, *parts of blocks* what
attention and feed-forward add one by one. Of a checkpoint that reads images or sound too, the
language model within is measured on text alone, as its layout says. So it is of types that the
class does not know:
{beside}.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of a model of one type.

    Attributes
    ----------
    model_type
        As in ``config.json``.
    answer
        ``measured``, ``in part``, ``its text``, ``refused`` or ``unknown``.
    layout
        Name of the adapter; empty where it has none.
    without
        What it is measured without, or the quantity that is undefined.
    reason
        Why.
    """

    model_type: str
    answer: str
    layout: str = ""
    without: str = ""
    reason: str = ""


def causal_types() -> tuple[str, ...]:
    """Return the types that the installed transformers loads as causal models, sorted."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return tuple(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))


def answer(model_type: str) -> Answer:
    """Return the answer to a type, which nobody may have heard of."""
    if model_type in ADAPTERS:
        return _adapter_answer(model_type, ADAPTERS[model_type])
    if model_type in PLACES:
        reply = answer(text_type(model_type, None))
        return replace(reply, model_type=model_type, answer=TEXT)
    if model_type in REFUSED:
        refusal = REFUSED[model_type]
        return Answer(model_type, NOT, without=refusal.undefined, reason=refusal.reason)
    return Answer(model_type, UNKNOWN)


def _adapter_answer(model_type: str, adapter: Adapter) -> Answer:
    without = [reason for name, reason in _WITHOUT.items() if name in adapter.lacks]
    reasons = [*dict.fromkeys(adapter.lacks.values())]
    if model_type in RELEASED:
        reasons.append(f"released in {RELEASED[model_type]}, which is refused until dequantised")
    is_whole = WHOLE if not adapter.lacks else IN_PART
    return Answer(model_type, is_whole, adapter.name, ", ".join(without), "; ".join(reasons))


def answers() -> list[Answer]:
    """Return the answer to every causal type of the installed transformers, by name."""
    return [answer(model_type) for model_type in causal_types()]


def as_markdown(replies: Sequence[Answer]) -> str:
    """Return answers as the page that is committed."""
    import transformers

    n_refused = sum(entry.answer == NOT for entry in replies)
    introduction = _INTRODUCTION.format(
        version=transformers.__version__,
        n=len(replies),
        n_measured=len(replies) - n_refused,
        n_in_part=sum(entry.answer == IN_PART for entry in replies),
        n_text=sum(entry.answer == TEXT for entry in replies),
        n_refused=n_refused,
        n_released=len(RELEASED),
        released=", ".join(f"`{name}`" for name in RELEASED),
        beside=", ".join(f"`{name}`" for name in sorted(PLACES.keys() - set(causal_types()))),
    )
    rows = [
        f"| `{entry.model_type}` | {entry.answer} | {entry.layout} | {entry.without} "
        f"| {entry.reason} |"
        for entry in replies
    ]
    header = ["| Type | Answer | Layout | Without, or undefined | Why |", "|---|---|---|---|---|"]
    return "\n".join([introduction, *header, *rows]) + "\n"


def as_text(replies: Sequence[Answer]) -> str:
    """Return answers for people, a line each, and how many there are of each kind."""
    width = max(len(entry.model_type) for entry in replies)
    lines = [
        f"{entry.model_type:<{width}}  {entry.answer:<8}  {entry.layout or entry.without}"
        for entry in replies
    ]
    kinds = [entry.answer for entry in replies]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(sorted(kinds)))
    return "\n".join([*lines, f"{len(replies)} types: {counts}"])


def is_current(path: Path) -> bool:
    """Return whether the page says what the code says."""
    return path.is_file() and path.read_text(encoding="utf-8") == as_markdown(answers())
