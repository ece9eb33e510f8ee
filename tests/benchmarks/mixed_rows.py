"""Made rows for benchmarks and simulations: 24 models of 7 labs crossed with 25 prompts.

Effects of `rows`, deviations of `write_rows`; rows are drawn with replacement, so cells differ.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

MODELS_PER_LAB = (6, 5, 4, 3, 2, 2, 2)
HERITAGE = (1, 1, 0, 1, 0, 0, 0)
N_PROMPTS = 25
CHUNK = 1_000_000


def models() -> pd.DataFrame:
    """Return one row per model: its lab, heritage, geometry, scale and depth."""
    rng = np.random.default_rng(7)
    lab = np.repeat(np.arange(7), MODELS_PER_LAB)
    heads = rng.choice([12, 16, 20, 24, 32], 24)
    head_width = rng.choice([64, 80, 128], 24)
    layers = rng.integers(12, 49, 24)
    return pd.DataFrame(
        {
            "lab": [f"lab{code}" for code in lab],
            "model": [f"m{code:02d}" for code in range(24)],
            "heritage": np.array(HERITAGE, dtype=float)[lab],
            "rho": heads / head_width,
            "scale": np.log10(12 * layers * (heads * head_width) ** 2) - 9,
            "layers": layers,
        }
    )


def rows(n: int, rng: np.random.Generator, effects: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return n rows with the given effects of labs, models, prompts and slopes."""
    known = models()
    model, prompt = rng.integers(0, 24, n), rng.integers(0, N_PROMPTS, n)
    layers = known["layers"].to_numpy()[model]
    depth = (rng.random(n) * layers).astype(int) / (layers - 1)
    of_row = known.loc[model, ["lab", "model", "heritage", "rho", "scale"]].reset_index(drop=True)
    lab = np.repeat(np.arange(7), MODELS_PER_LAB)[model]
    mean = 0.5 + 0.25 * of_row["heritage"] + 0.3 * of_row["rho"] + 0.1 * of_row["scale"]
    mean += -0.4 * depth + effects["lab"][lab] + effects["model"][model]
    mean += effects["prompt"][prompt] + effects["slope"][model] * depth
    names = np.array([f"p{code:02d}" for code in range(N_PROMPTS)])
    return of_row.assign(prompt=names[prompt], depth=depth, y=mean + rng.normal(0, 0.5, n))


def write_crossed(path: Path, seed: int = 3) -> None:
    """Write 200,000 rows of two crossed groups, of 2,209 and 27,198 levels."""
    rng = np.random.default_rng(seed)
    n, sizes = 200_000, (2_209, 27_198)
    one, other = (rng.integers(0, size, n) for size in sizes)
    x = rng.normal(size=n)
    effects = rng.normal(0, 0.5, sizes[0])[one] + rng.normal(0, 0.7, sizes[1])[other]
    names = {"s": np.char.add("s", other.astype(str)), "d": np.char.add("d", one.astype(str))}
    pd.DataFrame({**names, "x": x, "y": 0.3 * x + effects + rng.normal(size=n)}).to_parquet(path)


def write_rows(n: int, path: Path, seed: int = 11) -> None:
    """Write n rows to a Parquet file, a chunk at a time."""
    rng = np.random.default_rng(seed)
    effects = {
        "lab": rng.normal(0, 0.30, 7),
        "model": rng.normal(0, 0.25, 24),
        "prompt": rng.normal(0, 0.20, N_PROMPTS),
        "slope": rng.normal(0, 0.15, 24),
    }
    writer = None
    for start in range(0, n, CHUNK):
        chunk = rows(min(CHUNK, n - start), rng, effects)
        labels = {name: chunk[name].astype("category") for name in ("lab", "model", "prompt")}
        table = pa.Table.from_pandas(chunk.assign(**labels), preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table.cast(writer.schema))
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    write_rows(int(sys.argv[1]), Path(sys.argv[2]))
