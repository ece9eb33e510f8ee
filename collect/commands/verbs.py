"""The verbs that measure, train and keep, as data; see `collect.process.verbs`."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping

from collect.commands import measurement_options, model_options, store_options
from collect.process.verbs import Verb


def _verb(
    meaning: str,
    description: str,
    options: Callable[[ArgumentParser], None],
    *examples: str,
    codes: Mapping[int, str] | None = None,
) -> Verb:
    """Return a verb that the handler of its name runs; its examples need no remark."""
    _, name, *_ = examples[0].split()
    handler = f"collect.commands.handlers:{name}"
    return Verb(meaning, description, dict.fromkeys(examples, ""), options, handler, codes or {})


#: What every verb that reads a model may end with.
_OF_MODELS = {
    2: "wrong input: an unknown name or option, a model that cannot be measured, or a damaged file",
    3: "",
    4: "a model had to come from the hub and did not",
    6: "",
}

#: What reads or packs an output needs little of the extra.
_LOCKED = {3: "another collector is at work there, and the package filelock is not installed"}


VERBS = {
    "database": Verb(
        "put tables into one DuckDB file, with comments, views and macros",
        "Write the tables of some directories, with comments, views and macros, into one DuckDB "
        "file, which DuckDB 1.2 or later, Python and R open. The file answers without notes: "
        "thermoscope sql, and thermoscope.sql in Python, print notes on what an answer mixes or "
        "leaves out. In the file, SELECT column_name, comment FROM duckdb_columns() prints what "
        "columns mean, which DESCRIBE does not.",
        {
            "database": "what sql opens by default, for any DuckDB program",
            "database runs --out runs.duckdb": "",
        },
        store_options.database,
        "collect.commands.handlers:database",
    ),
    "collect plan": _verb(
        "say what a run would do: rows, bytes, memory, time",
        "Say what `run` with the same arguments would write and need, or refuse before it "
        "measures, without reading any weight. It takes all of them but --engine and --quiet.",
        measurement_options.plan,
        "collect plan EleutherAI/pythia-70m --prompts B_pythia_sweep --out runs",
        codes=_OF_MODELS,
    ),
    "collect run": _verb(
        "measure models, on prompt sets and by their weights",
        "Measure models. What the output already holds is skipped, so a run that was stopped "
        "is resumed by the same command, and several may share one output.",
        measurement_options.run,
        "collect run EleutherAI/pythia-70m --prompts B_pythia_sweep --out runs",
        "collect run checkpoints/mine --prompts A_grand_unified my_prompts.txt --out out",
        codes=_OF_MODELS
        | {6: "a model does not do what its adapter promises; nothing of it is kept"},
    ),
    "collect look": _verb(
        "one screen on a model: does it speak, its outlier tokens, its sign by every definition",
        "Measure a few sentences of one paragraph: loss, start token, whether attention and "
        "feed-forward sum to the next state of the stream, tokens that stand out, and the gain by "
        "every definition. Nothing is written.",
        measurement_options.look,
        "collect look model.gguf",
        codes=_OF_MODELS,
    ),
    "collect verify": _verb(
        "print what is checked of a model before every number",
        "Print the largest deviations of attention and feed-forward from the next state of the "
        "stream, of a padded prompt from the same alone and of streamed from loaded, and where "
        "hooks and hidden_states stand. Nothing is written. Exits with 6 where a check fails.",
        measurement_options.verify,
        "collect verify EleutherAI/pythia-70m",
        codes=_OF_MODELS | {6: "a check fails"},
    ),
    "collect states": _verb(
        "measure states that another engine wrote, or compare them with a model's",
        "Measure what files of states give by themselves: lengths of the stream, what whole "
        "blocks add, how vectors lie to each other. The rest is recorded as not measured, and the "
        "rows say which engine wrote the states and the hash of the files.",
        measurement_options.states,
        "collect states r1.safetensors --model config.json --engine vllm --out out",
        "collect states r1.npz --model DIR --engine jax --site block_output --against DIR",
        codes=_OF_MODELS | {1: "--against: the states differ from those of the model"},
    ),
    "collect prompts": _verb(
        "list the prompt sets that come with the project, or the prompts of some",
        "List the prompt sets that come with the project: name, prompts, categories, hash. "
        "With names or files, print their prompts.",
        store_options.prompts,
        "collect prompts A_grand_unified",
    ),
    "collect status": _verb(
        "list the units of an output",
        "List the units of an output: complete, incomplete, nonconforming; and, where a plan was "
        "written into it (`plan --queue`, `run --engine ray`), to do and refused, with the reason "
        "and the hours that are left.",
        store_options.status,
        "collect status out",
        codes=_LOCKED,
    ),
    "collect check": _verb(
        "check the files of an output",
        "Check every file of an output: schema, keys, checks, rows, hashes. Prints a sentence"
        " for each fault and exits with 1 if there is one.",
        store_options.check,
        "collect check out",
        codes=_LOCKED | {1: "a file has a fault"},
    ),
    "collect compact": _verb(
        "copy an output into one sorted file per table",
        "Write a copy of an output with one sorted Parquet file per table, smaller and quicker to "
        "open. It reads, is checked and is published as the output; nothing is measured into it.",
        store_options.compact,
        "collect compact out --out packed",
        codes={3: ""},
    ),
    "collect publish": _verb(
        "describe an output so that others find and use it",
        "Write croissant.json (every table, column, file, size and hash, in Croissant) and "
        "README.md (a data card; what a person wrote in it stays). Published on a web server "
        "as it is, the output opens at its address: thermoscope --data https://... sql.",
        store_options.publish,
        'collect publish out --license CC-BY-4.0 --creator "Your group"',
        codes={3: ""},
    ),
    "collect train": _verb(
        "train small models from recipes",
        "Train the model of each recipe and save it as a checkpoint. One that is there "
        "already, from the same recipe and text, is left as it is.",
        model_options.train,
        "collect train data/sample/recipes/llama-l4-adamw.toml --out runs/models",
        codes={3: ""},
    ),
    "collect study": _verb(
        "carry out a controlled study: train and measure what a design crosses",
        "Train the networks that a design crosses and measure each on the way. What the "
        "output already holds is skipped, so a study that was stopped is resumed by the same "
        "command.",
        model_options.study,
        "collect study data/study/packages.toml --plan",
        codes={
            1: "--check: a run that was repeated gave other numbers",
            3: "",
            6: "a network does not do what its adapter promises; nothing of it is kept",
        },
    ),
    "collect dequantise": _verb(
        "write the model of a GGUF file as safetensors",
        "Write a checkpoint directory with the numbers that a GGUF file dequantises to, its "
        "configuration and its tokenizer, for programs that read no GGUF. The numbers measured of "
        "both are the same.",
        model_options.dequantise,
        "collect dequantise model.gguf --out model",
        codes=_OF_MODELS,
    ),
    "collect gauge": _verb(
        "change a model's weights and not its logits",
        "Write a checkpoint whose logits are those of another, its weights in other "
        "coordinates, and gauge.json beside them: how far logits and every quantity moved.",
        model_options.gauge,
        "collect gauge runs/models/gptneox-l4-adamw --out runs/gauge",
        codes=_OF_MODELS
        | {6: "the model is not what its adapter promises, or its logits moved; nothing is kept"},
    ),
    "collect published": _verb(
        "import the paper's raw result files",
        "Import the raw result files of the paper into tables of the contract.",
        store_options.published,
        "collect published --fetch --out data/imported",
        codes={4: "--fetch: a file did not come"},
    ),
    "collect reported": _verb(
        "import lengths that others measured and published",
        "Import folders of lengths of the stream by model and layer, each with a description of "
        "who measured which tokens of which prompts, and where. Of a source without a licence "
        "only figures of each model are written.",
        store_options.reported,
        "collect reported data/reported/sources/logos_in_layers --out reported",
    ),
    "collect codebook": _verb(
        "write data/README.md",
        "Write data/README.md from schema.sql and the views.",
        store_options.codebook,
        "collect codebook --check",
        codes={1: "--check: the file is out of date"},
    ),
    "collect models": _verb(
        "list the types of models, and what of each is measured",
        "List every type of causal model that the installed transformers knows: measured, "
        "measured in part, or refused. Exits with 1 if one is unknown.",
        store_options.models,
        "collect models --json",
        codes={1: "a type is unknown", 3: ""},
    ),
}
