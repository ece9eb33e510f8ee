"""Published quantities beside their invariant partners, block by block, on trained models.

    thermoscope collect train data/sample/recipes/*-adamw.toml --out runs/models
    python -m tests.proofs.gauge_pairs runs/models/*

writes ``data/sample/gauge_pair.csv``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import pandas as pd

from collect.gauge.measured import measured
from collect.gauge.precision import widened
from collect.model.checkpoint.load import load_model, load_tokenizer
from collect.model.checkpoint.location import locate
from collect.prompts.sets import load
from collect.prompts.tokens import encode

OUT = Path(__file__).parents[2] / "data" / "sample" / "gauge_pair.csv"


def of_tokens(raw: str, centred: str) -> str:
    """Return the query of a column of ``token_geometry`` beside its centred form."""
    return f"""
        SELECT layer, avg(g.{raw}) AS published, avg(c.{centred}) AS centred
          FROM token_geometry AS g
          JOIN centred_geometry AS c USING (run_id, prompt_id, layer)
         WHERE g.site = 'block_output'
         GROUP BY layer
    """


def of_updates(column: str) -> str:
    """Return the query of a column of ``residual_update`` beside its centred form."""
    return f"""
        SELECT layer, avg(u.{column}) AS published, avg(c.{column}_centred) AS centred
          FROM residual_update AS u
          JOIN centred_update AS c USING (run_id, prompt_id, layer, part, position)
         GROUP BY layer
    """


def of_circuit(published: str) -> str:
    """Return the query of a norm of one factor, or of two, beside that of the circuit."""
    return f"""
        SELECT layer, avg({published}) AS published, avg(c.frobenius) AS centred
          FROM weight_norm AS v
          JOIN weight_norm AS o USING (run_id, layer, head)
          JOIN circuit AS c USING (run_id, layer, head)
         WHERE v.matrix = 'V' AND NOT v.is_folded AND v.slicing = 'correct'
           AND o.matrix = 'O'
         GROUP BY layer
    """


#: The norms of W_V and W_O over all heads, one over the other, beside the circuits' mean.
OF_RATIO = """
    SELECT layer, any_value(v.frobenius / o.frobenius) AS published, avg(c.frobenius) AS centred
      FROM matrix_norm AS v
      JOIN matrix_norm AS o USING (run_id, layer)
      JOIN circuit AS c USING (run_id, layer)
     WHERE v.matrix = 'V' AND v.slicing = 'correct'
       AND o.matrix = 'O' AND o.slicing = 'correct'
     GROUP BY layer
"""

#: By quantity: its partner under LayerNorm, under RMSNorm, and the query of both columns.
PAIRS = {
    "gain_block": (
        "gain_block_centred",
        "gain_block",
        """
        SELECT layer, exp(avg(log_gain)) AS published, exp(avg(log_gain_centred)) AS centred
          FROM last_token_gain
         GROUP BY layer
        """,
    ),
    "token_mean_cosine": (
        "token_mean_cosine_centred",
        "token_mean_cosine",
        of_tokens("mean_cosine", "mean_cosine"),
    ),
    "token_uniformity": (
        "token_uniformity_centred",
        "token_uniformity",
        of_tokens("uniformity", "uniformity"),
    ),
    "token_effective_rank": (
        "token_effective_rank_centred",
        "token_effective_rank",
        of_tokens("effective_rank", "effective_rank"),
    ),
    "update_ratio": ("update_ratio_centred", "update_ratio", of_updates("ratio")),
    "update_cosine": ("update_cosine_centred", "update_cosine", of_updates("cosine")),
    "v_frobenius": ("circuit_frobenius", "circuit_frobenius", of_circuit("v.frobenius")),
    "o_frobenius": ("circuit_frobenius", "circuit_frobenius", of_circuit("o.frobenius")),
    "weight_frobenius_ratio": ("circuit_frobenius", "circuit_frobenius", OF_RATIO),
}


def pairs(connection: duckdb.DuckDBPyConnection, norm_kind: str) -> pd.DataFrame:
    """Return the rows of one network, whose database `measured` made."""
    frames = []
    for quantity, (under_layer, under_rms, query) in PAIRS.items():
        partner = under_layer if norm_kind == "LayerNorm" else under_rms
        rows = connection.sql(f"SELECT * FROM ({query}) ORDER BY layer").df()
        invariant = rows["published"] if partner == quantity else rows["centred"]
        named = rows.assign(
            quantity=quantity, partner=partner, norm_kind=norm_kind, invariant=invariant
        )
        frames.append(named.drop(columns="centred"))
    return pd.concat(frames)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", nargs="+")
    frames = []
    for directory in sorted(parser.parse_args().checkpoints):
        checkpoint = locate(directory)
        prompts = encode(load("A_grand_unified").prompts, load_tokenizer(checkpoint))
        network = widened(load_model(checkpoint))
        found = pairs(measured({"network": network}, prompts), network.adapter.norm_kind)
        frames.append(found.assign(model_id=checkpoint.model_id))
        print(f"{checkpoint.model_id}: {len(found)} rows", flush=True)
    columns = ["model_id", "norm_kind", "quantity", "layer", "partner", "published", "invariant"]
    pd.concat(frames)[columns].to_csv(OUT, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
