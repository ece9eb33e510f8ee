"""Write ``collect/adapters/VERIFIED.md``: what `collect verify` says of tiny random models.

python -m tests.collect.adapters.verified
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import transformers

from collect.adapters import answers
from collect.errors import CollectError
from collect.library.verification import HOOKED, STATES, STREAMED, Verification, verify
from tests.collect import families, partial_families

PATH = answers.PATH.with_name("VERIFIED.md")
COLUMNS = ("block_adds_up", "batch_equals_single", STREAMED)
HEAD = f"""\
# What `collect verify` says of every type

Tiny models with random weights, norm gains and biases, in float32, transformers
{transformers.__version__}: whether stream + attention + feed-forward is the next state of the
stream, a padded prompt gives what it gives alone, and streamed is loaded; a dash where the layout
leaves it undefined, and what failed in words. Then what `hidden_states[-1]`
is, and what a hook on the attention module of a block sees. Of a checkpoint of your own:
`thermoscope collect verify MODEL`. This file is generated:
`python -m tests.collect.adapters.verified`.

| Form | Sums | Padded | Streamed | `hidden_states[-1]` | A hook on attention sees |
|---|---|---|---|---|---|
"""


def names() -> list[str]:
    """Return the forms of types that there are tiny models of."""
    return sorted({*families.CONFIGURATIONS, *partial_families.CONFIGURATIONS})


def rows() -> Iterator[str]:
    """Yield one row of the table per form of a type."""
    for name in names():
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / name
            try:
                if name in families.CONFIGURATIONS:
                    families.save_family(name, directory)
                else:
                    partial_families.tiny_partial(name).save_pretrained(directory)
                yield f"| `{name}` | {' | '.join(_cells(verify(str(directory))))} |"
            except CollectError as error:
                yield f"| `{name}` | {error.problem} | | | | |"


def _cells(result: Verification) -> Iterator[str]:
    by_name = {it.property: it for it in result.findings}
    for name in COLUMNS:
        finding = by_name[name]
        if finding.deviation is None or (name == "block_adds_up" and not result.has_parts):
            yield "–"
        else:
            yield "yes" if finding.is_met is not False else f"no ({finding.reason})"
    yield result.facts[STATES]
    yield result.facts[HOOKED]


if __name__ == "__main__":
    PATH.write_text(HEAD + "\n".join(rows()) + "\n", encoding="utf-8")
