"""The verbs that measure, train and keep, as data; see `collect.process.verbs`."""

from __future__ import annotations

from dataclasses import replace

from collect.commands import measurement_options, model_options, store_options
from collect.process.verbs import Verb

VERBS = {
    "collect plan": Verb(
        "say what a run would do: rows, bytes, memory, time",
        "Say what `run` with the same arguments would write and need, or refuse before it "
        "measures, without reading any weight. It takes all of them but --engine and --quiet.",
        {
            "collect plan EleutherAI/pythia-70m --prompts B_pythia_sweep --out runs": "",
        },
        measurement_options.plan,
        "collect.commands.handlers:plan",
    ),
    "collect run": Verb(
        "measure models, on prompt sets and by their weights",
        "Measure models. What the output already holds is skipped, so a run that was stopped "
        "is resumed by the same command, and several may share one output.",
        {
            "collect run EleutherAI/pythia-70m --prompts B_pythia_sweep --out runs": "",
            "collect run checkpoints/mine --prompts A_grand_unified my_prompts.txt --out out": "",
        },
        measurement_options.run,
        "collect.commands.handlers:run",
    ),
    "collect look": Verb(
        "one screen on a model: does it speak, its outlier tokens, its sign by every definition",
        "Measure a few sentences of one paragraph: loss, start token, whether attention and "
        "feed-forward sum to the next state of the stream, tokens that stand out, and the gain by "
        "every definition. Nothing is written.",
        {
            "collect look model.gguf": "",
        },
        measurement_options.look,
        "collect.commands.handlers:look",
    ),
    "collect verify": Verb(
        "print what is checked of a model before every number",
        "Print the largest deviations of attention and feed-forward from the next state of the "
        "stream, of a padded prompt from the same alone and of streamed from loaded, and where "
        "hooks and hidden_states stand. Nothing is written. Exits with 6 where a check fails.",
        {
            "collect verify EleutherAI/pythia-70m": "",
        },
        measurement_options.verify,
        "collect.commands.handlers:verify",
    ),
    "collect states": Verb(
        "measure states that another engine wrote, or compare them with a model's",
        "Measure what files of states give by themselves: lengths of the stream, what whole "
        "blocks add, how vectors lie to each other. The rest is recorded as not measured, and the "
        "rows say which engine wrote the states and the hash of the files.",
        {
            "collect states r1.safetensors --model config.json --engine vllm --out out": "",
            "collect states r1.npz --model DIR --engine jax --site block_output --against DIR": "",
        },
        measurement_options.states,
        "collect.commands.handlers:states",
    ),
    "collect prompts": Verb(
        "list the prompt sets that come with the project, or the prompts of some",
        "List the prompt sets that come with the project: name, prompts, categories, hash. "
        "With names or files, print their prompts.",
        {
            "collect prompts A_grand_unified": "",
        },
        store_options.prompts,
        "collect.commands.handlers:prompts",
    ),
    "collect status": Verb(
        "list the units of an output",
        "List the units of an output: complete, incomplete, nonconforming.",
        {
            "collect status out": "",
        },
        store_options.status,
        "collect.commands.handlers:status",
    ),
    "collect check": Verb(
        "check the files of an output",
        "Check every file of an output: schema, keys, checks, rows, hashes. Prints a sentence"
        " for each fault and exits with 1 if there is one.",
        {
            "collect check out": "",
        },
        store_options.check,
        "collect.commands.handlers:check",
    ),
    "collect compact": Verb(
        "copy an output into one sorted file per table",
        "Write a copy of an output with one sorted Parquet file per table, smaller and quicker to "
        "open. It reads, is checked and is published as the output; nothing is measured into it.",
        {
            "collect compact out --out packed": "",
        },
        store_options.compact,
        "collect.commands.handlers:compact",
    ),
    "collect publish": Verb(
        "describe an output so that others find and use it",
        "Write croissant.json (every table, column, file, size and hash, in Croissant) and "
        "README.md (a data card; what a person wrote in it stays). Published on a web server "
        "as it is, the output opens at its address: thermoscope --data https://... sql.",
        {
            'collect publish out --license CC-BY-4.0 --creator "Your group"': "",
        },
        store_options.publish,
        "collect.commands.handlers:publish",
    ),
    "collect train": Verb(
        "train small models from recipes",
        "Train the model of each recipe and save it as a checkpoint. One that is there "
        "already, from the same recipe and text, is left as it is.",
        {
            "collect train data/sample/recipes/llama-l4-adamw.toml --out runs/models": "",
        },
        model_options.train,
        "collect.commands.handlers:train",
    ),
    "collect study": Verb(
        "carry out a controlled study: train and measure what a design crosses",
        "Train the networks that a design crosses and measure each on the way. What the "
        "output already holds is skipped, so a study that was stopped is resumed by the same "
        "command.",
        {
            "collect study data/study/packages.toml --plan": "",
        },
        model_options.study,
        "collect.commands.handlers:study",
    ),
    "collect gauge": Verb(
        "change a model's weights and not its logits",
        "Write a checkpoint whose logits are those of another, its weights in other "
        "coordinates, and gauge.json beside them: how far logits and every quantity moved.",
        {
            "collect gauge runs/models/gptneox-l4-adamw --out runs/gauge": "",
        },
        model_options.gauge,
        "collect.commands.handlers:gauge",
    ),
    "collect published": Verb(
        "import the paper's raw result files",
        "Import the raw result files of the paper into tables of the contract.",
        {
            "collect published --fetch --out data/imported": "",
        },
        store_options.published,
        "collect.commands.handlers:published",
    ),
    "collect database": Verb(
        "put measurements into one DuckDB file",
        "Put the tables of some directories, with comments, views and macros, into one DuckDB"
        " file that older DuckDB programs can read.",
        {
            "collect database data/published data/measurements --out data/measurements.duckdb": "",
        },
        store_options.database,
        "collect.commands.handlers:database",
    ),
    "collect codebook": Verb(
        "write data/README.md",
        "Write data/README.md from schema.sql and the views.",
        {
            "collect codebook --check": "",
        },
        store_options.codebook,
        "collect.commands.handlers:codebook",
    ),
    "collect models": Verb(
        "list the types of models, and what of each is measured",
        "List every type of causal model that the installed transformers knows: measured, "
        "measured in part, or refused. Exits with 1 if one is unknown.",
        {
            "collect models --json": "",
        },
        store_options.models,
        "collect.commands.handlers:models",
    ),
}

#: Who asks in SQL types it without the word in front.
VERBS["database"] = replace(
    VERBS["collect database"],
    examples={
        "database": "all that is shipped, for any DuckDB program",
        "database runs --out runs.duckdb": "",
    },
)
