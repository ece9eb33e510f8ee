"""State what a chat template does to gains: ``python data/public/chat.py [UNITS]``.

The model that follows instructions is measured on one prompt set as plain text and through the
chat template of its file; `chat.csv` has its gains by definition. The file comes from `make.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from analysis.store import open_store
from analysis.tidy.spreadsheet import to_csv

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make  # noqa: E402

FILE, PROMPTS = "SmolLM2-135M-Instruct.Q4_1.gguf", "A_grand_unified"
#: One row per rendering and definition: `gain`, the geometric mean over `n_prompts` [ratio].
GAINS = """
    SELECT r.model_id, r.prompt_set, r.rendering, g.metric,
           exp(g.log_gain_mean) AS gain, g.n_prompts
      FROM raw.model_gain AS g JOIN run AS r USING (run_id)
     ORDER BY g.metric, r.rendering DESC
"""


def main(units: Path) -> None:
    """Measure the model both ways, where that was not done, and write the table."""
    for how in ((), ("--chat-template",)):
        asked = ("--prompts", PROMPTS, "--quantities", "stream", *how)
        make.collect("run", make.fetched(FILE), *asked, "--out", units)
    (HERE / "chat.csv").write_text(to_csv(open_store(units).query(GAINS)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]) if sys.argv[1:] else make.CACHE / "chat")
