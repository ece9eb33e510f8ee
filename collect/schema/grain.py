"""What a row is in each table and view of schema raw whose rows repeat a unit, as data.

Of a unit, such as a head of a layer, such a table has a row for each value of further columns.
Those that make another quantity of it (``matrix``) must be chosen before any aggregate, extreme,
ranking or join; those that only copy it (``file``) before a mean or a count. The comments of these
tables (`commented_grain`) and the notes under an answer (`analysis.store.notes`) are made from
this. A table or view that is not here has one row per unit, which its comment names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from collect.measures.declaration import Grain
from collect.measures.register import FILLED

_IN_A_FILE = Grain(
    unit="raw result file",
    beside="number",
    quantities=("metric", "statistic"),
    copies=("file",),
    why="one file has values of many quantities and their summaries, and several files have the "
    "same prompts",
    front=("published_model",),
)
_BY_SOURCE = Grain(
    unit="model, layer",
    beside="source that measured it, and series of that source",
    quantities=("source_id",),
    copies=("series",),
    why="sources count other tokens, and have several prompts or draws of tokens",
)
_BY_DEFINITION = Grain(
    unit="run",
    beside="definition of gain",
    quantities=("metric",),
    why="each definition is another quantity",
)
_BY_PART = Grain(
    unit="run, layer",
    beside="part of the block",
    quantities=("part",),
    why="a block has a row for each of its parts and one for the whole",
    front=("block",),
)
_GAINS = Grain(
    unit="model",
    beside="definition of gain and file or run, published, measured or reported",
    quantities=("metric",),
    copies=("file or run_id",),
    why="a model has a row for each definition and each file or run",
    front=("model_gain", "published_model"),
)

GRAINS = {
    "own_value": Grain(
        unit="model, prompt, layer",
        beside="quantity of one's own, site and place",
        quantities=("measure",),
        why="each quantity has a unit of its own",
    ),
    "verdict_check": Grain(
        unit="claim",
        beside="check of it",
        quantities=("claim_id or check_id",),
        why="a claim has a row for each of its checks",
        front=("claim",),
    ),
    "verdict_rate": Grain(
        unit="central claim",
        beside="planted truth, labelling and verdict",
        quantities=("truth", "wrong_labels"),
        why="a claim has rows for each kind of simulated paper",
        front=("claim",),
    ),
    "training_recipe": Grain(
        unit="published model",
        beside="fact of its training that a public configuration or code states",
        quantities=("field",),
        why="a model has a row for each fact",
    ),
    "gauge_profile": Grain(
        unit="model, depth",
        beside="gauge",
        quantities=("gauge",),
        why="one network is here in several coordinates",
    ),
    "layer_scale_profile": Grain(
        unit="model, depth",
        beside="gauge",
        quantities=("gauge",),
        why="one network is here with several numbers in its blocks",
    ),
    "published_value": replace(_IN_A_FILE, beside="number (or label) in it, none left out"),
    "published_excerpt": replace(_IN_A_FILE, beside="single value that decides a claim"),
    "published_figure": Grain(
        unit="model",
        beside="metric and file",
        quantities=("metric",),
        copies=("file",),
        why="a model has a row for each quantity and each file that gives it",
        front=("published_model",),
    ),
    "published_profile": Grain(
        unit="model, layer",
        beside="metric and file",
        quantities=("metric",),
        copies=("file",),
        why="a model has a profile for each quantity and each file that gives it",
    ),
    "reported_norm": _BY_SOURCE,
    "reported_figure": Grain(
        unit="model",
        beside="source that measured it, and metric",
        quantities=("source_id", "metric"),
        why="each metric is another quantity, and sources count other tokens",
    ),
    "study_level": Grain(
        unit="training run",
        beside="factor of a study",
        quantities=("factor",),
        why="a run has a row for each of its factors",
        front=("network",),
    ),
    "study_response": Grain(
        unit="training run",
        beside="checkpoint and choice of tokens",
        quantities=("step", "tokens"),
        why="a run has a row for each step and each choice of tokens",
        front=("network_step",),
    ),
    "study_profile": Grain(
        unit="training run, layer",
        beside="checkpoint and choice of tokens",
        quantities=("step", "tokens"),
        why="a run has rows for each step and each choice of tokens",
    ),
    "update_profile": _BY_PART,
    "expansion": Grain(
        unit="model, prompt, layer",
        beside="sub-layer",
        quantities=("part",),
        why="a block has a row for each sub-layer",
    ),
    "length_gain": Grain(
        unit="model, prompt, block",
        beside="reduction of the tokens",
        quantities=("reduction",),
        why="each way to reduce the tokens gives another gain",
        front=("block",),
    ),
    "prompt_gain": replace(_BY_DEFINITION, unit="model, prompt", front=("prompt_gain",)),
    "model_gain": replace(_BY_DEFINITION, front=("model_gain",)),
    "gain_trajectory": Grain(
        unit="revision of a model",
        beside="prompt set, definition of gain and way of measuring",
        quantities=("metric", "run_id or training_step"),
        why="a revision has a row for each definition, and a model one for each revision",
    ),
    "reported_block": _BY_SOURCE,
    "head_norm": Grain(
        unit="model, layer, distinct matrix",
        beside="kind, folding and slicing of it",
        quantities=("matrix", "is_folded", "slicing"),
        why="a head has a row for each matrix and each way to read it",
        front=("head_weight",),
    ),
    "layer_head": Grain(
        unit="model, layer",
        beside="matrix, folding and slicing",
        quantities=("matrix", "is_folded", "slicing"),
        why="a layer has a row for each matrix and each way to read it",
        front=("head_weight",),
    ),
    "trace_profile": replace(_BY_DEFINITION, unit="run, layer", beside="definition of the trace"),
    "geometry_profile": Grain(
        unit="run, layer",
        beside="site",
        quantities=("site",),
        why="the same tokens have a row for each place",
        front=("block",),
    ),
    "published_gain_by_file": Grain(
        unit="published model",
        beside="definition of gain and file",
        quantities=("metric",),
        copies=("file",),
        why="a model has a row for each definition and each file that gives it",
        front=("published_model",),
    ),
    "raw_value": replace(_IN_A_FILE, beside="number of it that is here"),
    "gain_evidence": _GAINS,
    "gain_by_model": replace(
        _GAINS, why="a mean or a correlation over rows counts some models twice"
    ),
    "ranked_gain": Grain(
        unit="source, model",
        beside="definition of gain and file or run",
        quantities=("place or metric",),
        why="place 1 is the row that published_gain and measured_gain take",
        front=("model_gain", "published_model"),
    ),
    "published_growth": Grain(
        unit="published model",
        beside="file",
        copies=("file",),
        why="a model has a row for each file with a profile or a total",
    ),
    "block_write": _BY_PART,
    "depth_profile": Grain(
        unit="run, layer",
        beside="quantity",
        quantities=("metric",),
        why="each quantity has a unit of its own",
    ),
    "study_growth": Grain(
        unit="training run",
        beside="checkpoint and choice of tokens of a controlled study",
        quantities=("study", "step", "tokens"),
        why="a run has a row for each step and choice of tokens, and studies differ in design",
        front=("network",),
    ),
    "prompt_gain_centred": replace(_BY_DEFINITION, unit="model, prompt"),
    "primary_gain": replace(_BY_DEFINITION, unit="model, prompt"),
    "primary_sign": _BY_DEFINITION,
}

GRAINS.update({table.name: table.grain for table in FILLED.values() if table.grain is not None})


@dataclass(frozen=True, slots=True)
class Sample:
    """What a row is in a table of main that has several rows a model.

    Attributes
    ----------
    source
        Table of raw that its rows are made of: a model has rows in both or in neither.
    beside
        Columns that tell the rows of a model apart; those joined by *or* choose one alike.
    front
        Table of main with one row a model for the same quantity, if there is one.
    others
        Table of raw with the prompt sets that it leaves out; nothing if its rows are of no prompts.
    is_finding
        Whether a row is there only where something was found: to count rows is then to measure,
        and a model without a row may have been measured.
    """

    source: str
    beside: tuple[str, ...]
    front: str = ""
    others: str = ""
    is_finding: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Of which to take one value each, lest a model have several rows."""
        return tuple(f"model_id or {name}" for name in self.beside)

    @property
    def rule(self) -> str:
        """What to do with several rows of a model.

        >>> Sample("residual_norm", ("prompt_id",), "model_gain").rule.partition("; ")[2]
        'main.model_gain has one row a model'
        """
        return (
            "several rows of one model are not independent: average by model_id first to compare "
            f"models, or GROUP BY model_id for what goes on within each{self.ask}"
        )

    @property
    def ask(self) -> str:
        """Which table has one row a model, after a semicolon; nothing if none has."""
        return f"; main.{self.front} has one row a model" if self.front else ""


#: Tables of main whose rows are finer than a model.
SAMPLES = {
    "prompt_gain": Sample("residual_norm", ("prompt_id",), "model_gain", "prompt_gain"),
    "block": Sample(
        "residual_norm", ("prompt_id", "layer or blocks_after"), others="last_token_gain"
    ),
    "stream": Sample(
        "residual_norm", ("prompt_id", "position or is_last_token", "layer"), others="residual_norm"
    ),
    "outlier_token": Sample(
        "residual_norm", ("prompt_id", "position"), others="outlier_token", is_finding=True
    ),
    "attention": Sample("attention", ("layer", "head"), others="attention"),
    "head_weight": Sample("weight_norm", ("layer", "head")),
    "layer_weight": Sample("matrix_norm", ("layer",)),
}

#: Rows of a table of main in which some columns are NULL by what they are: the condition, with the
#: name of the table, and what to say of a column that is NULL in no other row.
NO_VALUE = {
    "block": (
        "{}.layer = 0",
        "for block 0, which is left out; its gain is prompt_gain.gain_embedding",
    )
}

#: Columns that say why a value is not there, and are NULL where all is well.
REASONS = frozenset({"reason"})

#: Columns that name a row of each table of main.
KEYS = {
    "model": ("model_id",),
    "model_gain": ("model_id",),
    "prompt_gain": ("model_id", "prompt_id"),
    "published_model": ("model_id",),
    "block": ("model_id", "prompt_id", "layer"),
    "stream": ("model_id", "prompt_id", "position", "layer"),
    "outlier_token": ("model_id", "prompt_id", "position"),
    "attention": ("model_id", "layer", "head"),
    "head_weight": ("model_id", "layer", "head"),
    "layer_weight": ("model_id", "layer"),
    "network": ("network_id",),
    "network_step": ("network_id", "step"),
    "claim": ("claim_id",),
    "coverage": ("model_id", "quantity"),
}


#: Column of which a mean over rows of a table of main must take one value, and what it mixes
#: otherwise.
APART = {
    "network_step": (
        "step",
        "several steps of a training are taken together; GROUP BY step, or table network for its "
        "end",
    )
}

#: Column within which rows of a table of main are not independent, and one that varies within it by
#: design: networks of the controlled study.
CLUSTERS = {"network": ("recipe", "shape"), "network_step": ("recipe", "shape")}

#: Tables of main with one row a model and its suite.
OF_SUITES = frozenset({"model_gain", "published_model"})

#: Columns of a table of main that hold a quantity over the most used prompts, each with the column
#: of it over other prompts.
SIBLINGS = {
    "published_model": {
        name: f"{name}_pythia"
        for name in ("gain_penultimate_block", "gain_with_final_norm", "gain_embedding")
    }
}

#: Columns of a table of main that say of a stream how much it grows, of other models each.
GAINS = {
    "published_model": (
        "gain_penultimate_block", "gain_last_block", "gain_whole_matrix", "growth_after_block_0",
    )
}  # fmt: skip

#: Columns of a key whose value names a unit only within that of another: a head is of one block.
WITHIN = {"head": "layer"}

#: What one value of a column of a key is, or of that of one table.
UNITS = {
    "prompt_id": "prompt",
    "position": "position",
    "layer": "block",
    "stream.layer": "depth",
    "head": "head",
}

#: Tables of main whose rows are models, or of a model each.
OF_MODELS = ("model", "model_gain", "published_model", *SAMPLES)

#: Column of main.model that tells small networks trained here from models of others.
KIND = "is_trained_here"


def commented_grain(name: str, text: str) -> str:
    """Return the comment of a table or view of raw: its unit, what it is, what to take one of.

    Parameters
    ----------
    name
        The table or view.
    text
        What its SQL says of it: of one in `GRAINS` without the unit.
    """
    grain = GRAINS.get(name)
    if grain is None:
        return text
    head = f"One row per {grain.unit} AND {grain.beside}"
    joined = f"{head}. {text}" if text[:1].isupper() else f"{head}: {text}" if text else f"{head}."
    return f"{joined} Take {grain.rule}."
