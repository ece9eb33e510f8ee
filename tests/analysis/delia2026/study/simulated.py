"""Tables of a study whose truth is known."""

import json
from datetime import datetime

import pandas as pd

from analysis.delia2026.study import registered
from analysis.store import open_store
from collect.record.writer import write_table

RECIPES = dict.fromkeys(("gpt_neo", "gptj", "pythia", "pythia_default_init"), "EleutherAI")
RECIPES |= {"opt": "Meta", "opt_post": "Meta", "bloom": "BigScience", "olmo2": "AI2"}

TEXT = {"text": "kjv", "status": "documented"}
#: What of a recipe is read again.
RECIPE = json.dumps({"schedule": {"batch_size": 8}, "geometry": {"context": 192}})

#: Excess of each recipe, where recipes differ within a lab.
VALUES = dict(zip(RECIPES, (-0.8, 0.7, -0.1, 0.4, 0.9, -0.6, 0.1, 0.2), strict=True))


def filled(directory, runs):
    """Return a store of runs, and of one more that is planned.

    ``runs`` have study, levels, seed, and at the last checkpoint the excess and perhaps the loss.
    """
    result = {}
    for place, run in enumerate(runs):
        key = {"study_run_id": f"run{place}"}
        shape = {"n_layers": 3, "d_model": 64, "n_heads": 4, "n_parameters": 1}
        levels = run["levels"]
        result.setdefault("study_run", []).append(
            {
                **key, **shape, "study": run["study"], "block": run.get("block", "all"),
                "cell": "/".join(levels.values()), "seed": run["seed"],
                "parent_id": run.get("parent_id"), "family": "gpt_neox", "weight_decay": 0.1,
                "learning_rate": 2e-3, "decay_turns": 1.0,
                "n_steps": 10, "loss_before": 5.5, "loss_after": run.get("ends_at", 1.5),
                "bigram_loss": 2.3, "trigram_loss": 1.75, "text_sha256": "t",
                "weights_sha256": "w", "recipe": run.get("recipe", RECIPE),
                "schema_version": 2, "code_version": "c", "python_version": "p",
                "torch_version": "t", "transformers_version": "t",
                "started_at": datetime(2026, 1, 1), "cpu_s": 1.0,
            }
        )  # fmt: skip
        for factor, level in levels.items():
            result.setdefault("study_level", []).append({**key, "factor": factor, "level": level})
        for step, loss, growth in (
            (0, 5.5, 0.0),
            (5, 2.0, run["excess"]),
            (10, run.get("ends_at", 1.5), run["excess"]),
        ):
            gains = {
                "first_log_gain": 0.5, "first_log_gain_centred": 0.6,
                "later_log_gain_centred": 0.7, "equal_writes": 0.5, "equal_writes_centred": 0.3,
                "last_log_gain_centred": 0.8, "share_negative": 0.5,
                "share_negative_centred": 0.4,
            }  # fmt: skip
            for tokens in ("all", "without_first"):
                of = {**key, "step": step, "tokens": tokens}
                result.setdefault("study_response", []).append(
                    {**of, **gains, "loss": loss, "later_log_gain": growth + 0.5,
                     "last_log_gain": growth}
                )  # fmt: skip
                result.setdefault("study_profile", []).append(
                    {**of, "layer": 1, "log_gain": 0.2, "log_gain_sd": 0.1, "log_gain_centred": 0.2,
                     "share_negative": 0.0, "ratio": 1.0, "cosine": 0.0}
                )  # fmt: skip
        result.setdefault("study_plan", []).append(
            {
                **key, "study": run["study"], "block": run.get("block", "all"), "seed": run["seed"],
                "cell": "/".join(levels.values()), "n_layers": 3, "d_model": 64, "n_steps": 10,
                "planned_s": 60.0,
            }
        )  # fmt: skip
    result["study_plan"].append({**result["study_plan"][-1], "study_run_id": "to come"})
    for name, rows in result.items():
        write_table(name, pd.DataFrame(rows), directory / name / "simulated.parquet")
    return open_store(directory)


def packages(rng, of_recipe=VALUES):
    """Return the runs of stage A on the first text, the excess of each recipe as given."""
    return [
        {"study": "packages", "block": "documented", "seed": seed}
        | {"levels": {"recipe": recipe, "lab": lab, "geometry": shape, "heads": "w16"} | TEXT}
        | {"excess": of_recipe[recipe] + rng.normal(0, 0.02)}
        for recipe, lab in RECIPES.items()
        for shape in registered.SHAPES
        for seed in (0, 1)
    ]
