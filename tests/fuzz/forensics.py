"""Papers as Markdown and HTML, with tests reported in every shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis.forensics import audit
from tests.fuzz import mutation
from tests.fuzz.trial import Case

TESTS = ("t({}) = {}, p = {}", "F({}, {}) = {}, p < {}", "r({}) = {}, p > {}", "z = {}, p = {}",
         "χ²({}, N = {}) = {}, p = {}", "chi2({}) = {}, p = {}", "Q({}) = {}, p = {}", "p = {}",
         "*t*({}) = −{}, *p* = .{}", "$t({}) = {}$, $p < {}$", "r = {} (p = {}, N = {})",
         "<i>t</i>({}) = {}, <i>p</i> = {}", "t({}) = {}; p: {}")  # fmt: skip
NUMBERS = ("0", "1", "2", "28", "2.20", ".03", "0.05", "-1.96", "−3", "1e5", "1,234", "001", "ns",
           "1e-400", "9" * 30, "9" * 400, "1.2.3", "", "nan", "inf", "0.0000", "1.0000001", "1e999",
           "10^-5", "2e9", "12345678")  # fmt: skip


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a paper to be audited."""
    lines = []
    for _ in range(int(rng.integers(1, 6))):
        form = str(rng.choice(TESTS))
        lines.append(form.format(*rng.choice(NUMBERS, form.count("{}"))))
    whole = f"# A paper\n\n{' and '.join(lines)}.\n\n<p>{lines[0]}</p>\n"
    content = mutation.raw(rng, whole) if rng.random() < 0.5 else whole.encode()
    path = folder / str(rng.choice(["paper.md", "paper.html", "paper"]))
    path.write_bytes(content)
    alpha = float(rng.choice([0.05, 0.05, 0.01, 0.0, 1.0, np.nan, -1, 1e-300]))

    def act() -> None:
        audit.words(audit.of_file(path, alpha=alpha))

    return Case(f"{path.name} at {alpha}: {content!r}", act)
