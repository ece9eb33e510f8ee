"""One network in four gauges: as trained, shrinking, flat and growing, with identical logits.

``python -m tests.proofs.gauge_profiles runs/models/gptneox-l4-adamw``, of a checkpoint trained by
the shipped recipe, writes ``data/sample/gauge_profile.csv``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from collect.gauge.measured import measured
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model, load_tokenizer
from collect.model.checkpoint.location import locate
from collect.prompts.sets import load
from collect.prompts.tokens import Encoded, encode
from tests.collect.gauge.networks import difference, logits, shifted, widened
from tests.proofs.gauge_shapes import GAUGES, shifts, target

OUT = Path(__file__).parents[2] / "data" / "sample" / "gauge_profile.csv"

LENGTHS = """
SELECT s.prompt_id, s.layer, s.norm, s.norm_centred
  FROM raw.stream AS s
  JOIN next_token AS t USING (run_id, prompt_id)
 WHERE s.position = t.n_tokens - 1
"""


def lengths(network: Decoder, prompts: list[Encoded]) -> dict[str, np.ndarray]:
    """Return raw and centred lengths at the last token, each (n_prompts, L + 1)."""
    rows = measured({"network": network}, prompts).sql(LENGTHS).df()
    return {
        column: rows.pivot_table(column, "prompt_id", "layer").to_numpy()
        for column in ("norm", "norm_centred")
    }


def profile(
    gauge: str, network: Decoder, shift: np.ndarray, change: float, prompts: list[Encoded]
) -> pd.DataFrame:
    """Return the rows of one gauge."""
    of = {column: np.log(values) for column, values in lengths(network, prompts).items()}
    gains = {column: np.diff(values, axis=1).mean(0) for column, values in of.items()}
    return pd.DataFrame(
        {
            "gauge": gauge,
            "layer": np.arange(-1, len(shift) - 1),
            "shift": shift,
            "norm": np.exp(of["norm"].mean(0)),
            "norm_centred": np.exp(of["norm_centred"].mean(0)),
            "log_gain": [np.nan, *gains["norm"]],
            "log_gain_centred": [np.nan, *gains["norm_centred"]],
            "largest_logit_change": change,
        }
    )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    checkpoint = locate(parser.parse_args().checkpoint)
    prompts = encode(load("A_grand_unified").prompts, load_tokenizer(checkpoint))
    trained = widened(load_model(checkpoint))
    true, centred = logits(trained, prompts), lengths(trained, prompts)["norm_centred"]
    frames = [profile("trained", trained, np.zeros(centred.shape[1]), 0.0, prompts)]
    d_model = int(trained.model.config.hidden_size)
    for gauge in GAUGES:
        shift = shifts(target(gauge, centred), centred, d_model)
        network = shifted(trained, [float(value) for value in shift])
        change = difference(true, logits(network, prompts)).relative
        frames.append(profile(gauge, network, shift, change, prompts))
    table = pd.concat(frames).assign(model_id=checkpoint.model_id)
    columns = ["model_id", *(name for name in table if name != "model_id")]
    table[columns].to_csv(OUT, index=False, lineterminator="\n")
    print(OUT)


if __name__ == "__main__":
    main()
