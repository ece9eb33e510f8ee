-- The contract between collect (which writes) and everyone who reads.
--
-- Every table and column is commented; a column's comment ends in its unit in
-- brackets ([1] is a pure number, [-] is not a quantity). Keys are natural.
-- Arrow schemas, Parquet field metadata and data/README.md are read off this file.
--
-- NULL means "not measured", or "not defined" where a column says when. No measured number is NaN:
-- the writer makes NULL of it. NaN is in published_value alone, where the paper's file says NaN.
-- Layers count from 0, heads from 0, token positions from 0.

CREATE TABLE model (
    model_id            VARCHAR NOT NULL,
    revision            VARCHAR,
    lab                 VARCHAR,
    suite               VARCHAR,
    family              VARCHAR NOT NULL,
    base_model_id       VARCHAR,
    year                INTEGER CHECK (year BETWEEN 2017 AND 2100),
    n_layers            INTEGER NOT NULL CHECK (n_layers > 0),
    d_model             INTEGER NOT NULL CHECK (d_model > 0),
    n_heads             INTEGER CHECK (n_heads > 0),
    n_kv_heads          INTEGER CHECK (n_kv_heads BETWEEN 1 AND n_heads),
    d_head              INTEGER CHECK (d_head > 0),
    d_ffn               INTEGER CHECK (d_ffn > 0),
    n_vocabulary        INTEGER CHECK (n_vocabulary > 0),
    n_context           INTEGER CHECK (n_context > 0),
    norm_kind           VARCHAR CHECK (norm_kind IN ('LayerNorm', 'RMSNorm')),
    norm_position       VARCHAR CHECK (norm_position IN ('pre', 'post', 'sandwich', 'output')),
    positional_scheme   VARCHAR CHECK (positional_scheme IN ('learned', 'sinusoidal', 'rotary', 'alibi', 'none')),
    is_parallel         BOOLEAN,
    is_tied             BOOLEAN,
    n_parameters        BIGINT CHECK (n_parameters > 0),
    n_parameters_source VARCHAR,
    training_step       BIGINT CHECK (training_step >= 0),
    training_tokens     BIGINT CHECK (training_tokens >= 0),
    title               VARCHAR,
    licence             VARCHAR,
    quantisation        VARCHAR,
    PRIMARY KEY (model_id)
);
COMMENT ON TABLE model IS 'One row per model: who made it and how it is shaped. The lab of networks that this project trained is thermoscope. In the files every unit has a row of its model: take each model once before a join. Where several revisions were measured, an opened store shows the one that primary_run prefers. That is the model as released, which has no training step, or else the last step; revision lists all.';
COMMENT ON COLUMN model.model_id IS 'Hub identifier, or the name of a local checkpoint [-]';
COMMENT ON COLUMN model.revision IS 'Commit of the hub repository, or the name of one of several checkpoints in a local directory. NULL for a single local checkpoint and for figures of others that name none [-]';
COMMENT ON COLUMN model.lab IS 'Organisation that trained the model; NULL when the checkpoint does not say [-]';
COMMENT ON COLUMN model.suite IS 'Training suite: models trained together with one recipe, for example Pythia. NULL where nothing states it; a GGUF file never does [-]';
COMMENT ON COLUMN model.family IS 'model_type of the transformers configuration [-]';
COMMENT ON COLUMN model.base_model_id IS 'model_id of the checkpoint that this model was fine-tuned from; it need not be among the models. NULL for a base model, where none is named, and for a model measured here, whose files state none: its name or title may tell [-]';
COMMENT ON COLUMN model.year IS 'Year of first public release [year]';
COMMENT ON COLUMN model.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN model.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN model.n_heads IS 'Query heads per block, H. NULL where blocks have no heads or not all the same (see not_measured) or where it is not known [1]';
COMMENT ON COLUMN model.n_kv_heads IS 'Key and value heads per block. NULL where heads have no matrices of their own on the stream (see not_measured) or where it is not known [1]';
COMMENT ON COLUMN model.d_head IS 'Width of one head, read from the module or configuration, never assumed to be d_model / n_heads; NULL where n_kv_heads is [1]';
COMMENT ON COLUMN model.d_ffn IS 'Inner width of the feed-forward layer. Where a router chooses among experts, the width of one such expert; shared experts and blocks without experts may be wider. NULL where no block has such a layer or where it is not known [1]';
COMMENT ON COLUMN model.n_vocabulary IS 'Rows of the token embedding; NULL where it is not known [1]';
COMMENT ON COLUMN model.n_context IS 'Longest input the configuration admits; NULL where it names none or where it is not known [tokens]';
COMMENT ON COLUMN model.norm_kind IS 'Normalisation layer of the blocks [-]';
COMMENT ON COLUMN model.norm_position IS 'Where the norm sits: pre (before each sub-layer), post (after the residual sum) or sandwich (both sides of the sub-layer). Or output: on what the sub-layer returns, before the residual sum [-]';
COMMENT ON COLUMN model.positional_scheme IS 'How positions enter the layers that have any; some layers of smollm3, exaone4 and cohere2 have none. NULL where it is not known [-]';
COMMENT ON COLUMN model.is_parallel IS 'True when attention and feed-forward read the same residual stream. NULL where blocks are not made of these two (see not_measured) or where it is not known [-]';
COMMENT ON COLUMN model.is_tied IS 'True when input and output embeddings are one matrix; NULL where there is no second or where it is not known [-]';
COMMENT ON COLUMN model.n_parameters IS 'Exact number of parameters, tied matrices counted once; NULL when unknown [1]';
COMMENT ON COLUMN model.n_parameters_source IS 'Where n_parameters comes from: counted on the loaded model, computed from the configuration, or a published file; NULL where n_parameters is [-]';
COMMENT ON COLUMN model.training_step IS 'Optimiser steps taken when the checkpoint was saved, as the name of its revision or a file beside it says. NULL where neither does, as of every released model [1]';
COMMENT ON COLUMN model.training_tokens IS 'Tokens trained on by that step, from the same places, or computed from the step where each step takes a fixed number of tokens. NULL where nothing says [tokens]';
COMMENT ON COLUMN model.title IS 'What the header of a GGUF file calls the model; NULL for other checkpoints [-]';
COMMENT ON COLUMN model.licence IS 'Licence that the header of a GGUF file states; NULL where it states none and for other checkpoints [-]';
COMMENT ON COLUMN model.quantisation IS 'Mix of number formats that a quantised file was made in, for example Q4_K_M; NULL where all weights are plain floating numbers. A model is quantised or not as a whole: it never shares its model_id with the model that it was made from [-]';

CREATE TABLE revision (
    model_id        VARCHAR NOT NULL,
    revision_name   VARCHAR NOT NULL,
    revision        VARCHAR NOT NULL,
    weights_sha256  VARCHAR NOT NULL,
    config_sha256   VARCHAR NOT NULL,
    training_step   BIGINT CHECK (training_step >= 0),
    training_tokens BIGINT CHECK (training_tokens >= 0),
    PRIMARY KEY (model_id, revision_name, revision, weights_sha256, config_sha256)
);
COMMENT ON TABLE revision IS 'One row per model, name of a revision and commit at which the name stood: which weights it holds. It is empty where no revision was named to be measured (collect run --revision). Revisions that hold the same weights share one run, which is measured once; join it on model_id, weights_sha256 and config_sha256.';
COMMENT ON COLUMN revision.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN revision.revision_name IS 'Branch, tag or commit as it was asked for, main where none was; of a local directory the name of a checkpoint in it [-]';
COMMENT ON COLUMN revision.revision IS 'Commit that the name stood at; of a local directory the name again [-]';
COMMENT ON COLUMN revision.weights_sha256 IS 'Hash of the weights, as in run [-]';
COMMENT ON COLUMN revision.config_sha256 IS 'Hash of the configuration, as in run [-]';
COMMENT ON COLUMN revision.training_step IS 'As in model [1]';
COMMENT ON COLUMN revision.training_tokens IS 'As in model [tokens]';

CREATE TABLE prompt (
    prompt_set    VARCHAR NOT NULL,
    prompt_id     VARCHAR NOT NULL,
    category      VARCHAR,
    complexity    INTEGER,
    format        VARCHAR CHECK (format IN ('text', 'turns', 'tokens')),
    text          VARCHAR NOT NULL CHECK (length(text) > 0),
    metadata      VARCHAR,
    PRIMARY KEY (prompt_id)
);
COMMENT ON TABLE prompt IS 'One row per prompt of a prompt set.';
COMMENT ON COLUMN prompt.prompt_set IS 'Name of the set, which is its file name under data/prompts, or elsewhere, without the suffix [-]';
COMMENT ON COLUMN prompt.prompt_id IS 'Set and the prompt''s own identifier, or its place in the set where it has none, for example A_grand_unified:07 [-]';
COMMENT ON COLUMN prompt.category IS 'Kind of prompt as its authors named it; NULL when they named none [-]';
COMMENT ON COLUMN prompt.complexity IS 'Code the authors gave the category: Factual 1, Cliche 2, Nonsense 3, Novel 4, Syntactic 5; a label, not a scale [-]';
COMMENT ON COLUMN prompt.format IS 'What the prompt was given as: text, turns (a conversation) or tokens (token ids); NULL in files of earlier versions, which held text only [-]';
COMMENT ON COLUMN prompt.text IS 'The prompt, verbatim; of turns a JSON list of objects with role and content, of tokens a JSON list of numbers [-]';
COMMENT ON COLUMN prompt.metadata IS 'Other columns of the prompt''s record, as a JSON object: metadata ->> ''$.source'' is the text of one; NULL where there are none [-]';

CREATE TABLE run (
    run_id                   VARCHAR NOT NULL,
    model_id                 VARCHAR NOT NULL,
    kind                     VARCHAR NOT NULL CHECK (kind IN ('weights', 'prompts')),
    prompt_set               VARCHAR,
    prompt_set_sha256        VARCHAR,
    tokens_sha256            VARCHAR,
    weights_sha256           VARCHAR NOT NULL,
    config_sha256            VARCHAR NOT NULL,
    revision                 VARCHAR,
    revision_name            VARCHAR,
    adapter                  VARCHAR NOT NULL,
    dtype_weights            VARCHAR NOT NULL,
    quantisation             VARCHAR,
    bits_per_weight          DOUBLE CHECK (bits_per_weight > 0),
    perturbation             VARCHAR CHECK (perturbation IN ('step')),
    perturbation_seed        INTEGER CHECK (perturbation_seed >= 0),
    states_engine            VARCHAR,
    states_sha256            VARCHAR,
    dtype_compute            VARCHAR NOT NULL,
    device                   VARCHAR NOT NULL,
    attention_implementation VARCHAR NOT NULL,
    execution                VARCHAR NOT NULL CHECK (execution IN ('loaded', 'streamed', 'shards', 'imported')),
    quantities               VARCHAR NOT NULL,
    rendering                VARCHAR CHECK (rendering IN ('plain', 'chat')),
    special_tokens           VARCHAR CHECK (special_tokens IN ('default', 'never', 'always')),
    adds_special_tokens      BOOLEAN,
    batch_size               INTEGER CHECK (batch_size > 0),
    is_conforming            BOOLEAN NOT NULL,
    schema_version           INTEGER NOT NULL,
    code_version             VARCHAR NOT NULL,
    python_version           VARCHAR NOT NULL,
    torch_version            VARCHAR NOT NULL,
    transformers_version     VARCHAR NOT NULL,
    started_at               TIMESTAMP NOT NULL,
    duration_s               DOUBLE NOT NULL CHECK (duration_s >= 0),
    PRIMARY KEY (run_id)
);
COMMENT ON TABLE run IS 'One row per run: the weights of a checkpoint, or a checkpoint on a prompt set, measured in one way. A unit of measurement is a run and the quantities that were measured of it together. Its file is written last, so a unit whose file is there is complete. Units of one run have one row each in the files, and share one in an opened store.';
COMMENT ON COLUMN run.run_id IS 'Hash of everything that determines the numbers: model, weights, prompts, number formats, settings. It does not depend on the time, on which quantities were asked for, or on the commit that the weights came with [-]';
COMMENT ON COLUMN run.model_id IS 'Checkpoint measured; see model [-]';
COMMENT ON COLUMN run.kind IS 'weights (no prompt involved) or prompts [-]';
COMMENT ON COLUMN run.prompt_set IS 'Prompt set measured; NULL for kind = weights [-]';
COMMENT ON COLUMN run.prompt_set_sha256 IS 'Hash of the prompts as measured; NULL for kind = weights [-]';
COMMENT ON COLUMN run.tokens_sha256 IS 'Hash of the token ids as measured, which tells tokenizers and templates apart; NULL for kind = weights [-]';
COMMENT ON COLUMN run.weights_sha256 IS 'Hash of the names and contents of the checkpoint''s safetensors files; for a GGUF file, the SHA-256 of the file. For a model in memory: of names, shapes and values of parameters and saved buffers, and of the revision given to tell it apart. The word unseen where another engine wrote the states [-]';
COMMENT ON COLUMN run.config_sha256 IS 'Hash of the entries of config.json that matter to the computation [-]';
COMMENT ON COLUMN run.revision IS 'Commit of the hub repository when the unit was measured, or the name of one of several checkpoints in a local directory. NULL for a single local checkpoint [-]';
COMMENT ON COLUMN run.revision_name IS 'Branch, tag or commit as it was asked for; NULL where none was [-]';
COMMENT ON COLUMN run.adapter IS 'Adapter that located blocks, attention and weights [-]';
COMMENT ON COLUMN run.dtype_weights IS 'Number formats the weights are stored in, joined by +; unseen where another engine wrote the states [-]';
COMMENT ON COLUMN run.quantisation IS 'Number format of the matrices by kind, as JSON of the file''s own names, for example {"attn_q": "Q4_K", "ffn_down": "Q4_K+Q6_K"}. The dequantised numbers are measured. NULL where all weights are plain floating numbers [-]';
COMMENT ON COLUMN run.bits_per_weight IS 'Size of all tensors of a quantised file over their numbers; NULL where all weights are plain floating numbers [bit]';
COMMENT ON COLUMN run.perturbation IS 'step where one more rounding error of the file''s own size was added to its quantised weights. The error is uniform within half a step of each block of the format, either way. NULL where the weights are those of the file. Views leave perturbed runs out unless the macro counts_perturbed() is made true; see perturbed_run [-]';
COMMENT ON COLUMN run.perturbation_seed IS 'Seed of that error; NULL where there is none [1]';
COMMENT ON COLUMN run.states_engine IS 'Program that ran the model and wrote its states; NULL where our own hooks saw them. Such a run is of a model of its own, named by both [-]';
COMMENT ON COLUMN run.states_sha256 IS 'SHA-256 over the name and the SHA-256 of each file of states, in the order of the prompts; NULL as above [-]';
COMMENT ON COLUMN run.dtype_compute IS 'Number format of the forward pass, or of the states that another engine wrote; norms are accumulated in float64 whatever it is [-]';
COMMENT ON COLUMN run.device IS 'Device of the forward pass; unseen where another engine ran it [-]';
COMMENT ON COLUMN run.attention_implementation IS 'Attention code that ran, as the model reports it; unseen where another engine ran it [-]';
COMMENT ON COLUMN run.execution IS 'loaded (the whole model in memory), streamed (one block in memory at a time) or shards (weights read tensor by tensor, no model). Or imported: another engine ran the model and wrote its states. Loaded and streamed give the same numbers [-]';
COMMENT ON COLUMN run.quantities IS 'What was measured, comma-separated: weights; or some of stream, attention, geometry, predictions, legacy, other built-in quantities and names of own_quantity [-]';
COMMENT ON COLUMN run.rendering IS 'plain (the prompt as it stands) or chat (put into the model''s chat template as a user''s turn); NULL for kind = weights [-]';
COMMENT ON COLUMN run.special_tokens IS 'Policy asked for: default (as the tokenizer does), never, or always (a start token in front of every prompt); NULL for kind = weights [-]';
COMMENT ON COLUMN run.adds_special_tokens IS 'True when the tokenizer or the chat template put a special token into a prompt; NULL for kind = weights [-]';
COMMENT ON COLUMN run.batch_size IS 'Prompts per forward pass at most; NULL for kind = weights, and where another engine ran the model [1]';
COMMENT ON COLUMN run.is_conforming IS 'False when the model failed a check of conformance and was measured because somebody asked for it by name; see conformance [-]';
COMMENT ON COLUMN run.schema_version IS 'Version of this file when the row was written [1]';
COMMENT ON COLUMN run.code_version IS 'Version of thermoscope, with the git commit where there is one [-]';
COMMENT ON COLUMN run.python_version IS 'Python that ran [-]';
COMMENT ON COLUMN run.torch_version IS 'torch that ran [-]';
COMMENT ON COLUMN run.transformers_version IS 'transformers that ran [-]';
COMMENT ON COLUMN run.started_at IS 'When the unit began [UTC]';
COMMENT ON COLUMN run.duration_s IS 'How long the unit took [s]';

-- TABLE residual_norm: collect/measures/stream.py

-- TABLE residual_update: collect/measures/stream.py

-- TABLE attention: collect/measures/attention.py

-- TABLE attention_mean: collect/measures/attention.py

-- TABLE token_geometry: collect/measures/geometry.py

-- TABLE prompt_geometry: collect/measures/geometry.py

-- TABLE weight_norm: collect/measures/weights.py

-- TABLE matrix_norm: collect/measures/weights.py

-- TABLE next_token: collect/measures/stream.py

-- TABLE token_prediction: collect/measures/predictions.py

-- TABLE legacy_value: collect/measures/legacy.py

CREATE TABLE conformance (
    run_id     VARCHAR NOT NULL,
    model_id   VARCHAR NOT NULL,
    property   VARCHAR NOT NULL CHECK (property IN ('attention_rows', 'attention_causal', 'heads_rebuild_attention', 'block_adds_up', 'norm_gain', 'logits', 'batch_equals_single', 'future_unseen', 'finite', 'tensors_used', 'library_code')),
    layer      INTEGER CHECK (layer >= 0),
    deviation  DOUBLE,
    tolerance  DOUBLE NOT NULL CHECK (tolerance >= 0),
    is_met     BOOLEAN,
    reason     VARCHAR,
    PRIMARY KEY (run_id, property)
);
COMMENT ON TABLE conformance IS 'One row per run and property: what was checked on the model before its first number was kept. Not checked on the model itself: which of Q and K is which, and d_ffn; tests of all families cover both. Nor is it checked, where feed-forward works in parallel with attention, that it reads its norm.';
COMMENT ON COLUMN conformance.run_id IS 'Unit of measurement; see run [-]';
COMMENT ON COLUMN conformance.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN conformance.property IS 'The property that was checked. attention_rows: rows of the maps sum to 1, or less with sinks. attention_causal: nothing above the diagonal. heads_rebuild_attention: the sum over heads of A (x W_V + b_V) W_O + b_O is the module''s output. block_adds_up: input, attention and feed-forward update make the output, where blocks have these parts; the input is what left the block before. norm_gain: attention reads the block''s entry normalised, times the gain that is folded, plus the norm''s bias. Where no norm is named it reads the entry itself; in sequence feed-forward reads what the norm of block_mid returns. logits: what leaves the body is the output of the final norm, or of the last block where there is none, unless a projection follows. From its last tokens the logits are those that the model''s own code gives. batch_equals_single: a padded prompt gives what it gives alone. future_unseen: a changed last token changes nothing before it. finite: every number is finite. tensors_used: every tensor of the files makes up a parameter. library_code: config.json names no code of the repository''s own for the model, which would not be run [-]';
COMMENT ON COLUMN conformance.layer IS 'Block of the largest deviation; NULL when it belongs to no block [1]';
COMMENT ON COLUMN conformance.deviation IS 'Largest deviation found, relative to the largest absolute entry of what is compared, token by token where streams are compared. Absolute for attention_rows and attention_causal. For finite the number of entries that are not, for tensors_used of tensors used nowhere, for library_code of model classes that the repository brings. NULL when not checked [1]';
COMMENT ON COLUMN conformance.tolerance IS 'Largest deviation that passes in this number format [1]';
COMMENT ON COLUMN conformance.is_met IS 'Whether the property holds. NULL when it could not be checked. NULL also when tensors are used nowhere, or code of a configuration or tokenizer was not run: nobody can tell whether the model needs them [-]';
COMMENT ON COLUMN conformance.reason IS 'Why it could not be checked, or what was found; NULL when it holds [-]';

CREATE TABLE not_measured (
    run_id          VARCHAR NOT NULL,
    model_id        VARCHAR NOT NULL,
    measured_table  VARCHAR NOT NULL,
    quantity        VARCHAR NOT NULL,
    reason          VARCHAR NOT NULL,
    PRIMARY KEY (run_id, measured_table, quantity)
);
COMMENT ON TABLE not_measured IS 'One row per run and quantity that could not be measured, with the reason: why rows are missing or NULL. Where nothing of a table is defined for the model, quantity reads "every row". Under model, also the stored tensors that are used nowhere (tensor NAME) and the matrices that hold one number throughout (matrix NAME). Under prompt, the prompts that were too long for the model and were left out or cut, as asked for.';
COMMENT ON COLUMN not_measured.run_id IS 'Unit of measurement; see run [-]';
COMMENT ON COLUMN not_measured.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN not_measured.measured_table IS 'Table whose rows or values are missing [-]';
COMMENT ON COLUMN not_measured.quantity IS 'Which of them, for example site block_mid; under prompt a prompt_id [-]';
COMMENT ON COLUMN not_measured.reason IS 'Why, in a sentence [-]';

CREATE TABLE own_quantity (
    run_id              VARCHAR NOT NULL,
    model_id            VARCHAR NOT NULL,
    measure             VARCHAR NOT NULL,
    unit                VARCHAR NOT NULL,
    description         VARCHAR NOT NULL,
    level               VARCHAR NOT NULL CHECK (level IN ('token', 'prompt', 'head', 'vector')),
    source              VARCHAR NOT NULL,
    definition_sha256   VARCHAR NOT NULL,
    PRIMARY KEY (run_id, measure)
);
COMMENT ON TABLE own_quantity IS 'One row per run and quantity that is not built in: what a function of one''s own measures, in which unit. Its numbers are in own_value, its vectors in own_vector.';
COMMENT ON COLUMN own_quantity.run_id IS 'Unit of measurement; see run [-]';
COMMENT ON COLUMN own_quantity.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN own_quantity.measure IS 'Name under which it was registered [-]';
COMMENT ON COLUMN own_quantity.unit IS 'Unit of its numbers; 1 for a pure number [-]';
COMMENT ON COLUMN own_quantity.description IS 'What it is, as whoever registered it says [-]';
COMMENT ON COLUMN own_quantity.level IS 'What each number is of: token, prompt or head; vector where vectors of tokens are kept [-]';
COMMENT ON COLUMN own_quantity.source IS 'Module and name of the function [-]';
COMMENT ON COLUMN own_quantity.definition_sha256 IS 'Hash of the function''s source text, its parameters, where it is taken, and the version that was given, if one was [-]';

CREATE TABLE own_value (
    run_id      VARCHAR NOT NULL,
    model_id    VARCHAR NOT NULL,
    prompt_id   VARCHAR NOT NULL,
    measure     VARCHAR NOT NULL,
    layer       INTEGER NOT NULL CHECK (layer >= 0),
    site        VARCHAR NOT NULL CHECK (site IN ('embedding', 'block_input', 'block_mid', 'block_output', 'final_norm')),
    place       INTEGER NOT NULL CHECK (place >= 0),
    value       DOUBLE,
    PRIMARY KEY (run_id, prompt_id, measure, layer, site, place)
);
COMMENT ON TABLE own_value IS 'a number that a registered function returned.';
COMMENT ON COLUMN own_value.run_id IS 'Unit of measurement; see run [-]';
COMMENT ON COLUMN own_value.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN own_value.prompt_id IS 'Prompt; see prompt [-]';
COMMENT ON COLUMN own_value.measure IS 'Name of the quantity; own_quantity says what it is and its unit [-]';
COMMENT ON COLUMN own_value.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN own_value.site IS 'Where, as in residual_norm; block_input of every block [-]';
COMMENT ON COLUMN own_value.place IS 'Level token: position in the unpadded prompt. Level head: the query head. Level prompt: 0 [1]';
COMMENT ON COLUMN own_value.value IS 'The number; NULL where the function returned one that is not defined [see own_quantity.unit]';

CREATE TABLE own_vector (
    run_id      VARCHAR NOT NULL,
    model_id    VARCHAR NOT NULL,
    prompt_id   VARCHAR NOT NULL,
    measure     VARCHAR NOT NULL,
    layer       INTEGER NOT NULL CHECK (layer >= 0),
    site        VARCHAR NOT NULL CHECK (site IN ('embedding', 'block_input', 'block_mid', 'block_output', 'final_norm')),
    position    INTEGER NOT NULL CHECK (position >= 0),
    file        VARCHAR NOT NULL,
    tensor      VARCHAR NOT NULL,
    tensor_row  INTEGER NOT NULL CHECK (tensor_row >= 0),
    PRIMARY KEY (run_id, prompt_id, measure, layer, site, position)
);
COMMENT ON TABLE own_vector IS 'One row per model, prompt, quantity of vectors, layer, site and token: where its vector lies, in a safetensors file beside the Parquet files.';
COMMENT ON COLUMN own_vector.run_id IS 'Unit of measurement; see run [-]';
COMMENT ON COLUMN own_vector.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN own_vector.prompt_id IS 'Prompt; see prompt [-]';
COMMENT ON COLUMN own_vector.measure IS 'Name of the quantity; see own_quantity [-]';
COMMENT ON COLUMN own_vector.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN own_vector.site IS 'Where, as in own_value [-]';
COMMENT ON COLUMN own_vector.position IS 'Token position in the unpadded prompt [1]';
COMMENT ON COLUMN own_vector.file IS 'Path of the file within the directory of measurements; the run file has its hash [-]';
COMMENT ON COLUMN own_vector.tensor IS 'Name of the tensor in it, (rows, width) [-]';
COMMENT ON COLUMN own_vector.tensor_row IS 'Row of the tensor that is the vector [1]';

CREATE TABLE caveat (
    caveat_id    VARCHAR NOT NULL,
    title        VARCHAR NOT NULL,
    explanation  VARCHAR NOT NULL,
    PRIMARY KEY (caveat_id)
);
COMMENT ON TABLE caveat IS 'One row per known defect of the published notebooks, B1 to B16.';
COMMENT ON COLUMN caveat.caveat_id IS 'B1 to B16 [-]';
COMMENT ON COLUMN caveat.title IS 'The defect in a few words [-]';
COMMENT ON COLUMN caveat.explanation IS 'What goes wrong and what it does to the numbers [-]';

CREATE TABLE metric (
    metric      VARCHAR NOT NULL,
    symbol      VARCHAR,
    unit        VARCHAR NOT NULL,
    definition  VARCHAR NOT NULL,
    PRIMARY KEY (metric)
);
COMMENT ON TABLE metric IS 'One row per quantity: what a metric name means, in measured views and published values alike.';
COMMENT ON COLUMN metric.metric IS 'Name used in every table and view [-]';
COMMENT ON COLUMN metric.symbol IS 'Short symbol, as in the definitions [-]';
COMMENT ON COLUMN metric.unit IS 'Unit [-]';
COMMENT ON COLUMN metric.definition IS 'Formula in words; x_l is the residual stream after block l, e the input of block 0 [-]';

CREATE TABLE claim (
    claim_id   INTEGER NOT NULL,
    statement  VARCHAR NOT NULL,
    place      VARCHAR NOT NULL,
    PRIMARY KEY (claim_id)
);
COMMENT ON TABLE claim IS 'One row per statement that is judged. It stands in the paper, its readme, forum post or summary; a few stand in no document. Column verdict.stated_by tells them apart.';
COMMENT ON COLUMN claim.claim_id IS 'Number of the claim [-]';
COMMENT ON COLUMN claim.statement IS 'The statement: the words of the document in quotation marks, formulas in plain letters; see claim_quotation [-]';
COMMENT ON COLUMN claim.place IS 'Where it stands [-]';

CREATE TABLE claim_quotation (
    claim_id   INTEGER NOT NULL,
    document   VARCHAR NOT NULL,
    place      VARCHAR NOT NULL,
    quotation  VARCHAR NOT NULL,
    PRIMARY KEY (claim_id, document, place, quotation)
);
COMMENT ON TABLE claim_quotation IS 'One row per claim and passage of a document that states it, letter by letter; what the author does not state has no row.';
COMMENT ON COLUMN claim_quotation.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_quotation.document IS 'Name of the document: paper, forum_post, plain_language_summary, repository_readme or zenodo_description [-]';
COMMENT ON COLUMN claim_quotation.place IS 'Section, figure or line of the document [-]';
COMMENT ON COLUMN claim_quotation.quotation IS 'The words, with the markup of the document [-]';

CREATE TABLE claim_meaning (
    claim_id  INTEGER NOT NULL,
    meaning   VARCHAR NOT NULL,
    PRIMARY KEY (claim_id)
);
COMMENT ON TABLE claim_meaning IS 'One row per claim: what it says in one plain line, for readers who do not have the paper.';
COMMENT ON COLUMN claim_meaning.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_meaning.meaning IS 'What the claim says, in plain words; not what was found [-]';

CREATE TABLE claim_line (
    claim_id  INTEGER NOT NULL,
    part      VARCHAR NOT NULL,
    measure   VARCHAR NOT NULL,
    value     DOUBLE NOT NULL,
    low       DOUBLE,
    high      DOUBLE,
    PRIMARY KEY (claim_id, part, measure)
);
COMMENT ON TABLE claim_line IS 'One row per part of a claim and measure: a value to set beside the estimates of its readings. The claim names this value, or the value divides what the claim says from its opposite.';
COMMENT ON COLUMN claim_line.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_line.part IS 'What the claim asserts there, as its checks call it [-]';
COMMENT ON COLUMN claim_line.measure IS 'Estimate that the value is set beside, as tables name it: r, share, ratio and so on; p is the p of the test [-]';
COMMENT ON COLUMN claim_line.value IS 'The value, of a share as a share [1]';
COMMENT ON COLUMN claim_line.low IS 'Lower end of the margin that still counts as the value; empty where there is none [1]';
COMMENT ON COLUMN claim_line.high IS 'Upper end of that margin [1]';

CREATE TABLE claim_family (
    claim_id  INTEGER NOT NULL,
    family    VARCHAR NOT NULL,
    PRIMARY KEY (claim_id)
);
COMMENT ON TABLE claim_family IS 'One row per claim: the family of claims about one law or section, declared before any p was looked at. `thermoscope claims --adjusted` adjusts the p of each claim''s quoted check within it. No column here has that p: verdict.p_holm is adjusted within one claim.';
COMMENT ON COLUMN claim_family.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_family.family IS 'The law or section whose claims would each be reported as evidence for it [-]';

CREATE TABLE claim_quantity (
    claim_id  INTEGER NOT NULL,
    rests_on  VARCHAR NOT NULL CHECK (rests_on IN ('network', 'descent', 'architecture', 'record')),
    quantity  VARCHAR NOT NULL,
    about     VARCHAR NOT NULL,
    reason    VARCHAR NOT NULL CHECK (length(reason) > 0),
    PRIMARY KEY (claim_id)
);
COMMENT ON TABLE claim_quantity IS 'One row per claim: the quantity it rests on, from which claim_property computes what it is a property of.';
COMMENT ON COLUMN claim_quantity.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_quantity.rests_on IS 'network: a quantity of networks. descent: the same of a network and of one trained from it. architecture: the shape alone. record: counts, dates, files, figures [-]';
COMMENT ON COLUMN claim_quantity.quantity IS 'Quantities of gauge_quantity, comma-separated; empty when it rests on none [-]';
COMMENT ON COLUMN claim_quantity.about IS 'Labs, suites or models it is about, comma-separated; empty for all whose figure is published [-]';
COMMENT ON COLUMN claim_quantity.reason IS 'Why it is or is not free, and what would make a free quantity say something about training [-]';

CREATE TABLE claim_weight (
    claim_id  INTEGER NOT NULL,
    weight    VARCHAR NOT NULL,
    repeats   INTEGER,
    PRIMARY KEY (claim_id)
);
COMMENT ON TABLE claim_weight IS 'One row per claim: how much the paper rests on it, and which claim states the same finding before it. Central: it states a law of the paper, its explanation or its ranking. Supporting: another result, which would speak for a central claim. Side: counts, captions, provenance, wording.';
COMMENT ON COLUMN claim_weight.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_weight.weight IS 'central, supporting or side [-]';
COMMENT ON COLUMN claim_weight.repeats IS 'Number of the claim before it that states the same finding, which counts once among central ones. Each is judged by its own words, so their verdicts can differ. NULL for a finding of its own [-]';

CREATE TABLE verdict (
    claim_id    INTEGER NOT NULL,
    statement   VARCHAR NOT NULL,
    category    VARCHAR,
    stated_by   VARCHAR NOT NULL CHECK (stated_by IN ('author', 'file', 'audit')),
    family      VARCHAR,
    is_central  BOOLEAN NOT NULL,
    verdict     VARCHAR NOT NULL CHECK (verdict IN ('reproduced', 'depends on the reading', 'contradicted', 'undecided', 'no data')),
    reading     VARCHAR,
    property    VARCHAR,
    check_id    VARCHAR NOT NULL,
    measure     VARCHAR,
    estimate    DOUBLE,
    conf_low    DOUBLE,
    conf_high   DOUBLE,
    p_value     DOUBLE CHECK (p_value BETWEEN 0 AND 1),
    p_holm      DOUBLE CHECK (p_holm BETWEEN 0 AND 1),
    n_models    INTEGER NOT NULL CHECK (n_models >= 0),
    n_suites    INTEGER NOT NULL CHECK (n_suites >= 0),
    PRIMARY KEY (claim_id)
);
COMMENT ON TABLE verdict IS 'One row per claim: the verdict on it, and the numbers of the check that is quoted first. Made by `thermoscope claims --write` from the shipped data and not computed when asked. Every check is in verdict_check; how often the rule errs is in verdict_rate.';
COMMENT ON COLUMN verdict.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN verdict.statement IS 'The statement, as quoted [-]';
COMMENT ON COLUMN verdict.category IS 'What it states: law, printed number or record; NULL where none is declared [-]';
COMMENT ON COLUMN verdict.stated_by IS 'Who states it: author (in a document of the author), file (in a result file alone) or audit. Claims of the paper are those of the author [-]';
COMMENT ON COLUMN verdict.family IS 'Family of claims about one law or section, see claim_family. p_holm is not adjusted within it [-]';
COMMENT ON COLUMN verdict.is_central IS 'True where it states a law of the paper, its explanation or its ranking, and no earlier claim states the same finding. See claim_weight [-]';
COMMENT ON COLUMN verdict.verdict IS 'reproduced, depends on the reading, contradicted, undecided or no data [-]';
COMMENT ON COLUMN verdict.reading IS 'How it depends on the reading, and what holds or fails beside it; NULL where there is neither [-]';
COMMENT ON COLUMN verdict.property IS 'What its quantity is a property of; see claim_property [-]';
COMMENT ON COLUMN verdict.check_id IS 'The check whose numbers follow, quoted first. It may hold where another check of the claim does not, so a contradicted claim can stand beside a small p. See verdict_check.holds for each check [-]';
COMMENT ON COLUMN verdict.measure IS 'What the estimate is: r, share, ratio and so on; NULL where it has no short name [-]';
COMMENT ON COLUMN verdict.estimate IS 'Estimate of the check; NULL where there is none [see measure]';
COMMENT ON COLUMN verdict.conf_low IS 'Lower end of its 95 % interval; NULL where there is none [see measure]';
COMMENT ON COLUMN verdict.conf_high IS 'Upper end of its 95 % interval [see measure]';
COMMENT ON COLUMN verdict.p_value IS 'p of that check, as in verdict_check; it is not a p of the verdict. NULL where nothing is tested [1]';
COMMENT ON COLUMN verdict.p_holm IS 'The same adjusted over the tests of this claim alone, as in verdict_check [1]';
COMMENT ON COLUMN verdict.n_models IS 'Models that entered the check [1]';
COMMENT ON COLUMN verdict.n_suites IS 'Training suites of these models [1]';

CREATE TABLE verdict_check (
    claim_id    INTEGER NOT NULL,
    check_id    VARCHAR NOT NULL,
    term        VARCHAR NOT NULL,
    condition   VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL,
    decides     BOOLEAN NOT NULL,
    has_data    BOOLEAN NOT NULL,
    holds       BOOLEAN,
    measure     VARCHAR,
    estimate    DOUBLE,
    conf_low    DOUBLE,
    conf_high   DOUBLE,
    p_value     DOUBLE CHECK (p_value BETWEEN 0 AND 1),
    p_holm      DOUBLE CHECK (p_holm BETWEEN 0 AND 1),
    n_models    INTEGER NOT NULL CHECK (n_models >= 0),
    n_suites    INTEGER NOT NULL CHECK (n_suites >= 0),
    method      VARCHAR,
    PRIMARY KEY (claim_id, check_id)
);
COMMENT ON TABLE verdict_check IS 'a part of the claim under one reading, with its numbers, from which verdict follows. Made by `thermoscope claims --write`. Checks that move no verdict are here too (decides is False), as are those of statements that are not the author''s (stated_by in verdict). Some checks repeat the test of another, in the same claim or in another one. Tests of the author, each once: SELECT DISTINCT method, estimate, p_value, n_models FROM raw.verdict_check SEMI JOIN main.claim USING (claim_id) WHERE p_holm IS NOT NULL.';
COMMENT ON COLUMN verdict_check.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN verdict_check.check_id IS 'Name of the check in its claim [-]';
COMMENT ON COLUMN verdict_check.term IS 'What the claim asserts there [-]';
COMMENT ON COLUMN verdict_check.condition IS 'How the words were read: definition, models, files [-]';
COMMENT ON COLUMN verdict_check.kind IS 'Kind of statement, which names the rule that decided it [-]';
COMMENT ON COLUMN verdict_check.decides IS 'True where it moves the verdict; False where it is shown alone [-]';
COMMENT ON COLUMN verdict_check.has_data IS 'False where the evidence is missing [-]';
COMMENT ON COLUMN verdict_check.holds IS 'What it counts for beside the other checks; NULL where the data cannot tell [-]';
COMMENT ON COLUMN verdict_check.measure IS 'What the estimate is: r, share, ratio and so on; NULL where it has no short name [-]';
COMMENT ON COLUMN verdict_check.estimate IS 'The quantity that the decision rests on; NULL where there is none [see measure]';
COMMENT ON COLUMN verdict_check.conf_low IS 'Lower end of its 95 % interval; NULL where there is none [see measure]';
COMMENT ON COLUMN verdict_check.conf_high IS 'Upper end of its 95 % interval [see measure]';
COMMENT ON COLUMN verdict_check.p_value IS 'Probability of a deviation at least as large if there is nothing to find, before it is adjusted; NULL where nothing is tested [1]';
COMMENT ON COLUMN verdict_check.p_holm IS 'p_value adjusted by Holm''s method over the tests of this claim that move its verdict. NULL where p_value is and where decides is False. Checks of one method, estimate, p_value and number of rows are one test. At .05 or more, a difference that would hold, or fail at a p_value below .05, counts as undecided. A stated reading that holds is exempt [1]';
COMMENT ON COLUMN verdict_check.n_models IS 'Models that entered [1]';
COMMENT ON COLUMN verdict_check.n_suites IS 'Training suites of these models [1]';
COMMENT ON COLUMN verdict_check.method IS 'How the estimate was computed; NULL for a plain comparison [-]';

CREATE TABLE verdict_rate (
    claim_id      INTEGER NOT NULL,
    truth         VARCHAR NOT NULL,
    wrong_labels  BOOLEAN NOT NULL,
    verdict       VARCHAR NOT NULL,
    probability   DOUBLE NOT NULL,
    n_papers      INTEGER NOT NULL,
    PRIMARY KEY (claim_id, truth, wrong_labels, verdict)
);
COMMENT ON TABLE verdict_rate IS 'How often the verdict rule says it of simulated papers with the models of the real one (python -m tests.proofs.verdict_rates).';
COMMENT ON COLUMN verdict_rate.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN verdict_rate.truth IS 'What determines the gains of the simulated papers: heritage, depth, recipe or nothing [-]';
COMMENT ON COLUMN verdict_rate.wrong_labels IS 'Whether the papers print numbers of head density as those of depth [-]';
COMMENT ON COLUMN verdict_rate.verdict IS 'One of the five verdicts [-]';
COMMENT ON COLUMN verdict_rate.probability IS 'Share of the papers with this verdict [-]';
COMMENT ON COLUMN verdict_rate.n_papers IS 'Simulated papers of this truth [-]';

CREATE TABLE rule_rate (
    layout        VARCHAR NOT NULL,
    n_models      INTEGER NOT NULL,
    n_suites      INTEGER NOT NULL,
    world         VARCHAR NOT NULL,
    share         DOUBLE NOT NULL,
    form          VARCHAR NOT NULL,
    statement     VARCHAR NOT NULL,
    truth         VARCHAR NOT NULL,
    rule          VARCHAR NOT NULL,
    share_yes     DOUBLE NOT NULL,
    yes_error     DOUBLE NOT NULL,
    share_no      DOUBLE NOT NULL,
    no_error      DOUBLE NOT NULL,
    n_papers      INTEGER NOT NULL,
    PRIMARY KEY (layout, n_models, n_suites, world, share, form, statement, rule)
);
COMMENT ON TABLE rule_rate IS 'One row per layout, planted world, statement and rule: how often the rule says yes and no of simulated papers. Made by tests.proofs.tournament of commit f09af0a5; of lists of models by python -m tests.proofs.settling.';
COMMENT ON COLUMN rule_rate.layout IS 'Models of the simulated papers. present: those of the paper. as found: its suites repeated, by labs of their own. balanced: two suites a lab, heads apart from depth and size. Else the list of that name in data/study [-]';
COMMENT ON COLUMN rule_rate.n_models IS 'Models of each paper [-]';
COMMENT ON COLUMN rule_rate.n_suites IS 'Suites of each paper [-]';
COMMENT ON COLUMN rule_rate.world IS 'What determines the gains of the papers: a component alone, or a combination; see analysis.delia2026.tournament.criterion [-]';
COMMENT ON COLUMN rule_rate.share IS 'Largest share of the variance that a component is planted with [1]';
COMMENT ON COLUMN rule_rate.form IS 'Form of the draws: normal, heavy-tailed (Student t, 3 degrees of freedom) or outlier (one model four residual deviations off) [-]';
COMMENT ON COLUMN rule_rate.statement IS 'Which source is said to explain more than which [-]';
COMMENT ON COLUMN rule_rate.truth IS 'Whether what is planted makes the statement true: yes, no (the reverse is true) or tie [-]';
COMMENT ON COLUMN rule_rate.rule IS 'How a paper is judged; see analysis.delia2026.tournament.criterion [-]';
COMMENT ON COLUMN rule_rate.share_yes IS 'Share of the papers for which the rule says yes [-]';
COMMENT ON COLUMN rule_rate.yes_error IS 'Monte Carlo standard error of share_yes [-]';
COMMENT ON COLUMN rule_rate.share_no IS 'Share of the papers for which the rule says that the reverse holds [-]';
COMMENT ON COLUMN rule_rate.no_error IS 'Monte Carlo standard error of share_no [-]';
COMMENT ON COLUMN rule_rate.n_papers IS 'Simulated papers [-]';

CREATE TABLE calibrated_quantile (
    statement  VARCHAR NOT NULL,
    rule       VARCHAR NOT NULL,
    answer     VARCHAR NOT NULL CHECK (answer IN ('yes', 'no')),
    level      DOUBLE NOT NULL CHECK (level > 0 AND level < 1),
    quantile   DOUBLE NOT NULL,
    world      VARCHAR NOT NULL,
    form       VARCHAR NOT NULL,
    PRIMARY KEY (statement, rule, answer, level)
);
COMMENT ON TABLE calibrated_quantile IS 'One row per statement on the hierarchy, statistic, answer and level: a value of the statistic. In any world in which the answer is false, the statistic passes this value in no more than that share of simulated papers. Made by python -m tests.proofs.calibration. The value at level 0.05 is the cut-off.';
COMMENT ON COLUMN calibrated_quantile.statement IS 'Which source is said to explain more than which [-]';
COMMENT ON COLUMN calibrated_quantile.rule IS 'The statistic; see analysis.delia2026.tournament.calibration [-]';
COMMENT ON COLUMN calibrated_quantile.answer IS 'yes (the statement; the statistic must be larger) or no (the reverse; smaller) [-]';
COMMENT ON COLUMN calibrated_quantile.level IS 'Rate of false answers in the least favourable world [1]';
COMMENT ON COLUMN calibrated_quantile.quantile IS 'Value of the statistic [1]';
COMMENT ON COLUMN calibrated_quantile.world IS 'The least favourable world: what is planted there [-]';
COMMENT ON COLUMN calibrated_quantile.form IS 'Form of its residuals and shares [-]';

CREATE TABLE calibrated_rate (
    family     VARCHAR NOT NULL,
    world      VARCHAR NOT NULL,
    share      DOUBLE NOT NULL,
    form       VARCHAR NOT NULL,
    statement  VARCHAR NOT NULL,
    truth      VARCHAR NOT NULL CHECK (truth IN ('yes', 'no', 'tie')),
    rule       VARCHAR NOT NULL,
    share_yes  DOUBLE NOT NULL,
    share_no   DOUBLE,
    against    VARCHAR,
    n_papers   INTEGER NOT NULL,
    PRIMARY KEY (family, world, share, form, statement, rule)
);
COMMENT ON TABLE calibrated_rate IS 'One row per family of simulated papers, world, statement and rule: how often the calibrated rule says yes and no (python -m tests.proofs.calibration).';
COMMENT ON COLUMN calibrated_rate.family IS 'calibration: worlds that set the cut-offs, with fresh papers. validation: worlds that did not set them. validation before: the same, judged by the cut-offs of calibration alone. curve: one source with a growing share [-]';
COMMENT ON COLUMN calibrated_rate.world IS 'What is planted in the papers [-]';
COMMENT ON COLUMN calibrated_rate.share IS 'Largest share of the variance that a source is planted with [1]';
COMMENT ON COLUMN calibrated_rate.form IS 'Form of residuals and shares: normal, heavy-tailed, outlier, sampled (levels are a sample, shares are of what they are drawn from) and others [-]';
COMMENT ON COLUMN calibrated_rate.statement IS 'Which source is said to explain more than which [-]';
COMMENT ON COLUMN calibrated_rate.truth IS 'Whether what is planted makes the statement true: yes, no (the reverse is true) or tie [-]';
COMMENT ON COLUMN calibrated_rate.rule IS 'The statistic that judges; bound is the Neyman-Pearson test that knows all shares and signs [-]';
COMMENT ON COLUMN calibrated_rate.share_yes IS 'Share of the papers for which the rule says yes [1]';
COMMENT ON COLUMN calibrated_rate.share_no IS 'Share of the papers for which the rule says that the reverse holds; NULL for the bound [1]';
COMMENT ON COLUMN calibrated_rate.against IS 'For the bound: the false world that is hardest to tell from this one; NULL for others [-]';
COMMENT ON COLUMN calibrated_rate.n_papers IS 'Simulated papers [-]';

CREATE TABLE claim_test_rate (
    claim_id   INTEGER NOT NULL,
    test       VARCHAR NOT NULL,
    truth      VARCHAR NOT NULL,
    share_yes  DOUBLE NOT NULL,
    yes_error  DOUBLE NOT NULL,
    n_papers   INTEGER NOT NULL,
    PRIMARY KEY (claim_id, test, truth)
);
COMMENT ON TABLE claim_test_rate IS 'One row per claim, single test and planted truth: how often the test says yes. It judges simulated papers with the models of the real one. Made by tests.proofs.claim_tests of commit f09af0a5.';
COMMENT ON COLUMN claim_test_rate.claim_id IS 'Number of the claim; see claim [-]';
COMMENT ON COLUMN claim_test_rate.test IS 'What judges a paper; see analysis.delia2026.tournament.of_claims [-]';
COMMENT ON COLUMN claim_test_rate.truth IS 'What determines the gains of the simulated papers; see verdict_rate [-]';
COMMENT ON COLUMN claim_test_rate.share_yes IS 'Share of the papers for which the test says yes [-]';
COMMENT ON COLUMN claim_test_rate.yes_error IS 'Monte Carlo standard error of share_yes [-]';
COMMENT ON COLUMN claim_test_rate.n_papers IS 'Simulated papers of this truth [-]';

CREATE TABLE quoted_number (
    claim_id  INTEGER NOT NULL,
    place     VARCHAR NOT NULL,
    quantity  VARCHAR NOT NULL,
    subject   VARCHAR NOT NULL,
    printed   VARCHAR NOT NULL,
    unit      VARCHAR NOT NULL,
    accuracy  DOUBLE CHECK (accuracy > 0),
    PRIMARY KEY (claim_id, place, quantity, subject, printed)
);
COMMENT ON TABLE quoted_number IS 'One row per number (or name) that the paper prints or draws, with its place.';
COMMENT ON COLUMN quoted_number.claim_id IS 'Claim it belongs to; see claim [-]';
COMMENT ON COLUMN quoted_number.place IS 'Section, figure or document [-]';
COMMENT ON COLUMN quoted_number.quantity IS 'A metric, or what else is quoted [-]';
COMMENT ON COLUMN quoted_number.subject IS 'Model (its model_id), lab, suite or whatever it is about; empty when about none [-]';
COMMENT ON COLUMN quoted_number.printed IS 'As printed, because the number of decimals is part of it; empty where a figure shows its subject without a number [see unit]';
COMMENT ON COLUMN quoted_number.unit IS 'Unit of the number [-]';
COMMENT ON COLUMN quoted_number.accuracy IS 'Half-width within which it was read off a figure; NULL when it is printed [see unit]';

CREATE TABLE digitised_point (
    figure    VARCHAR NOT NULL,
    point     INTEGER NOT NULL CHECK (point > 0),
    model_id  VARCHAR NOT NULL,
    metric    VARCHAR NOT NULL,
    layer     INTEGER CHECK (layer >= 0),
    value     DOUBLE NOT NULL,
    unit      VARCHAR NOT NULL,
    caveats   VARCHAR NOT NULL,
    PRIMARY KEY (figure, point)
);
COMMENT ON TABLE digitised_point IS 'One row per point read off a figure of the paper that no result file explains. The reading is as exact as a plot allows, about 1 %.';
COMMENT ON COLUMN digitised_point.figure IS 'Figure of the paper [-]';
COMMENT ON COLUMN digitised_point.point IS 'Number of the point in its figure, from 1 [1]';
COMMENT ON COLUMN digitised_point.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN digitised_point.metric IS 'What the figure plots; see metric [-]';
COMMENT ON COLUMN digitised_point.layer IS 'Block, from 0; NULL when about the whole model [1]';
COMMENT ON COLUMN digitised_point.value IS 'The value as read [see unit]';
COMMENT ON COLUMN digitised_point.unit IS 'Unit of value [-]';
COMMENT ON COLUMN digitised_point.caveats IS 'Defects that touch the point, comma-separated; see caveat; empty when none is known [-]';

CREATE TABLE stated_number (
    stated_id  INTEGER NOT NULL,
    place      VARCHAR NOT NULL,
    quantity   VARCHAR NOT NULL,
    printed    VARCHAR NOT NULL,
    unit       VARCHAR NOT NULL,
    accuracy   DOUBLE CHECK (accuracy > 0),
    query      VARCHAR NOT NULL,
    through    VARCHAR NOT NULL,
    reason     VARCHAR NOT NULL,
    PRIMARY KEY (stated_id)
);
COMMENT ON TABLE stated_number IS 'One row per number that the paper, or our notes on its files, states, with the query that gives it.';
COMMENT ON COLUMN stated_number.stated_id IS 'Number of the row, in the order of the paper and then of the notes [-]';
COMMENT ON COLUMN stated_number.place IS 'Section, figure or document [-]';
COMMENT ON COLUMN stated_number.quantity IS 'What the number is [-]';
COMMENT ON COLUMN stated_number.printed IS 'The number as stated [see unit]';
COMMENT ON COLUMN stated_number.unit IS 'Unit of the number [-]';
COMMENT ON COLUMN stated_number.accuracy IS 'Half-width within which it was read off a figure; NULL when it is printed [see unit]';
COMMENT ON COLUMN stated_number.query IS 'Query over tables and views whose first row gives it; empty when it cannot be computed [-]';
COMMENT ON COLUMN stated_number.through IS 'Function of analysis.delia2026.transition.stated that the first row goes through; empty when it is the number itself [-]';
COMMENT ON COLUMN stated_number.reason IS 'Why it cannot be computed, or not from the figures alone, or why it differs; empty otherwise [-]';

CREATE TABLE training_recipe (
    model_id    VARCHAR NOT NULL,
    field       VARCHAR NOT NULL,
    value       VARCHAR NOT NULL,
    number      DOUBLE,
    unit        VARCHAR NOT NULL,
    repository  VARCHAR NOT NULL,
    path        VARCHAR NOT NULL,
    revision    VARCHAR NOT NULL,
    quoted      VARCHAR NOT NULL,
    PRIMARY KEY (model_id, field)
);
COMMENT ON TABLE training_recipe IS 'A fact that no source states has no row.';
COMMENT ON COLUMN training_recipe.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN training_recipe.field IS 'What is stated: peak_learning_rate, weight_decay, inner_rule (how matrices start), ... [-]';
COMMENT ON COLUMN training_recipe.value IS 'The value in words or digits [see unit]';
COMMENT ON COLUMN training_recipe.number IS 'The value as a number; NULL when it is a word, or when no source gives one [see unit]';
COMMENT ON COLUMN training_recipe.unit IS 'Unit of number [-]';
COMMENT ON COLUMN training_recipe.repository IS 'Public repository that states it, owner/name [-]';
COMMENT ON COLUMN training_recipe.path IS 'File or issue in that repository [-]';
COMMENT ON COLUMN training_recipe.revision IS 'Commit at which the file was read; date of an issue [-]';
COMMENT ON COLUMN training_recipe.quoted IS 'The words that state it, or from which it is reckoned [-]';

CREATE TABLE gauge_quantity (
    quantity            VARCHAR NOT NULL,
    made_of             VARCHAR NOT NULL,
    explanation         VARCHAR NOT NULL,
    partner_layer_norm  VARCHAR NOT NULL,
    partner_rms_norm    VARCHAR NOT NULL,
    PRIMARY KEY (quantity)
);
COMMENT ON TABLE gauge_quantity IS 'One row per quantity whose invariance was worked out, under changes of the weights that leave every logit as it is; collect/gauge/quantity.py holds their queries.';
COMMENT ON COLUMN gauge_quantity.quantity IS 'A metric, a column of a table or view, or what collect/gauge/quantity.py calls it [-]';
COMMENT ON COLUMN gauge_quantity.made_of IS 'Ingredients that determine it, comma-separated; see gauge_lemma [-]';
COMMENT ON COLUMN gauge_quantity.explanation IS 'Why these determine it: the first line of the proof [-]';
COMMENT ON COLUMN gauge_quantity.partner_layer_norm IS 'Quantity to use in its place in networks with LayerNorm: no change moves it, or only by a factor common to all layers. Its own name where it is that itself; empty where there is none and it is a convention [-]';
COMMENT ON COLUMN gauge_quantity.partner_rms_norm IS 'The same in networks with RMSNorm [-]';

CREATE TABLE gauge_lemma (
    ingredient      VARCHAR NOT NULL,
    transformation  VARCHAR NOT NULL,
    norm_kind       VARCHAR NOT NULL CHECK (norm_kind IN ('LayerNorm', 'RMSNorm')),
    is_kept         BOOLEAN NOT NULL,
    reason          VARCHAR NOT NULL,
    PRIMARY KEY (ingredient, transformation, norm_kind)
);
COMMENT ON TABLE gauge_lemma IS 'One row per ingredient of quantities, transformation and kind of norm: whether the transformation leaves it as it is, and why.';
COMMENT ON COLUMN gauge_lemma.ingredient IS 'logits, attention_map, lens (final norm and head on the stream), stream_lengths, stream_angles (lengths up to one factor), feature_sizes, feature_places, norm_output or sublayer_input. centred_lengths and centred_angles: the same two without the mean over features. reader: what reads the stream; reader_shares: its norms up to one factor; folded_reader: with the gain in front. fused_rows: rows of a fused matrix taken for W_V. writer, query_key_coordinates, value_coordinates, circuit or circuit_shares. The circuit is C W_O W_V diag(g) C, where C takes out the mean under LayerNorm [-]';
COMMENT ON COLUMN gauge_lemma.transformation IS 'A family of changes of the weights that leave every logit as it is; its algebra is in collect/gauge [-]';
COMMENT ON COLUMN gauge_lemma.norm_kind IS 'As in model [-]';
COMMENT ON COLUMN gauge_lemma.is_kept IS 'False when it changes in some layout with this norm [-]';
COMMENT ON COLUMN gauge_lemma.reason IS 'Why it is kept, or how it changes: the second line of the proof [-]';

CREATE TABLE gauge_profile (
    model_id   VARCHAR NOT NULL,
    gauge      VARCHAR NOT NULL,
    layer      INTEGER NOT NULL CHECK (layer >= -1),
    shift      DOUBLE NOT NULL,
    norm       DOUBLE NOT NULL CHECK (norm >= 0),
    norm_centred DOUBLE NOT NULL CHECK (norm_centred >= 0),
    log_gain   DOUBLE,
    log_gain_centred DOUBLE,
    largest_logit_change DOUBLE NOT NULL CHECK (largest_logit_change >= 0),
    PRIMARY KEY (model_id, gauge, layer)
);
COMMENT ON TABLE gauge_profile IS 'the stream of one network in several coordinates with the same logits, written by tests/proofs/gauge_profiles.py of commit f09af0a5.';
COMMENT ON COLUMN gauge_profile.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN gauge_profile.gauge IS 'trained (the weights as they are), shrinking, flat or growing [-]';
COMMENT ON COLUMN gauge_profile.layer IS 'Block whose output this is; -1 for the input of block 0 [1]';
COMMENT ON COLUMN gauge_profile.shift IS 'Multiple of ones that was added to the stream there, after its mean was taken out; 0 as trained [activation units]';
COMMENT ON COLUMN gauge_profile.norm IS 'Geometric mean over prompts of the norm at the last token [activation units]';
COMMENT ON COLUMN gauge_profile.norm_centred IS 'The same of the norm without the mean over features [activation units]';
COMMENT ON COLUMN gauge_profile.log_gain IS 'Mean over prompts of the log gain of the block at the last token; NULL before block 0 [nat]';
COMMENT ON COLUMN gauge_profile.log_gain_centred IS 'The same of the centred stream [nat]';
COMMENT ON COLUMN gauge_profile.largest_logit_change IS 'Largest change of a logit against the trained weights over the largest logit, over all tokens of the prompts, in float64 [1]';

CREATE TABLE layer_scale_profile (
    model_id     VARCHAR NOT NULL,
    gauge        VARCHAR NOT NULL CHECK (gauge IN ('stored', 'level', 'folded')),
    layer        INTEGER NOT NULL CHECK (layer >= -1),
    layer_scale  DOUBLE,
    norm         DOUBLE NOT NULL CHECK (norm >= 0),
    norm_net     DOUBLE NOT NULL CHECK (norm_net >= 0),
    log_gain     DOUBLE,
    logit_change DOUBLE NOT NULL CHECK (logit_change >= 0),
    logit_change_one_epsilon DOUBLE NOT NULL CHECK (logit_change_one_epsilon >= 0),
    logit_change_float32     DOUBLE NOT NULL CHECK (logit_change_float32 >= 0),
    PRIMARY KEY (model_id, gauge, layer)
);
COMMENT ON TABLE layer_scale_profile IS 'The stream of one tiny random Gemma 4, whose blocks multiply it by stored numbers. Other gauges have other numbers and the same logits. Written by tests/proofs/gemma4_scalars.py.';
COMMENT ON COLUMN layer_scale_profile.model_id IS 'Name of the network, which no file holds: its seed is in the program [-]';
COMMENT ON COLUMN layer_scale_profile.gauge IS 'stored (the numbers as they are), level (numbers that keep the length after block 0) or folded (numbers of one) [-]';
COMMENT ON COLUMN layer_scale_profile.layer IS 'Block whose output this is; -1 for the input of block 0 [1]';
COMMENT ON COLUMN layer_scale_profile.layer_scale IS 'Number by which the block multiplies the stream; NULL before block 0 [1]';
COMMENT ON COLUMN layer_scale_profile.norm IS 'Geometric mean over prompts of the norm at the last token [activation units]';
COMMENT ON COLUMN layer_scale_profile.norm_net IS 'norm over the product of the numbers up to there [activation units]';
COMMENT ON COLUMN layer_scale_profile.log_gain IS 'Mean over prompts of the log gain of the block at the last token; NULL before block 0 [nat]';
COMMENT ON COLUMN layer_scale_profile.logit_change IS 'Largest difference of a logit from that with the stored numbers, relative to the largest logit, over all tokens of the prompts. Computed in float64, each norm with the epsilon that the change asks for [1]';
COMMENT ON COLUMN layer_scale_profile.logit_change_one_epsilon IS 'The same with the one epsilon that a checkpoint can hold for all norms [1]';
COMMENT ON COLUMN layer_scale_profile.logit_change_float32 IS 'The same when the changed network runs in float32, against the stored numbers in float64; that of stored is the rounding of float32 itself [1]';

CREATE TABLE published_file (
    file          VARCHAR NOT NULL,
    sha256        VARCHAR NOT NULL,
    n_bytes       BIGINT NOT NULL,
    notebook      VARCHAR,
    experiment    VARCHAR NOT NULL,
    prompt_set    VARCHAR,
    dtype         VARCHAR,
    duplicates    VARCHAR,
    caveats       VARCHAR NOT NULL,
    PRIMARY KEY (file)
);
COMMENT ON TABLE published_file IS 'One row per raw result file of the paper''s repository.';
COMMENT ON COLUMN published_file.file IS 'File name [-]';
COMMENT ON COLUMN published_file.sha256 IS 'Hash of the file as imported [-]';
COMMENT ON COLUMN published_file.n_bytes IS 'Size [bytes]';
COMMENT ON COLUMN published_file.notebook IS 'Notebook or script that wrote it; NULL when none in the repository does [-]';
COMMENT ON COLUMN published_file.experiment IS 'What the file is about [-]';
COMMENT ON COLUMN published_file.prompt_set IS 'Prompt set used; see prompt; NULL when no prompt was involved [-]';
COMMENT ON COLUMN published_file.dtype IS 'Number format of the forward pass: fp16, bf16, fp32, nf4; NULL when none ran [-]';
COMMENT ON COLUMN published_file.duplicates IS 'File that holds the same measurements in another format; count only one of the two [-]';
COMMENT ON COLUMN published_file.caveats IS 'Defects that touch the file, comma-separated; see caveat; empty when none is known [-]';

CREATE TABLE published_value (
    file        VARCHAR NOT NULL,
    path        VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    statistic   VARCHAR NOT NULL CHECK (statistic IN ('value', 'mean', 'sd', 'n', 'min', 'max', 'p_value', 'correlation', 'other')),
    model_id    VARCHAR,
    prompt_set  VARCHAR,
    prompt_id   VARCHAR,
    layer       INTEGER CHECK (layer >= 0),
    dtype       VARCHAR,
    value       DOUBLE,
    text        VARCHAR,
    unit        VARCHAR NOT NULL,
    caveats     VARCHAR NOT NULL,
    PRIMARY KEY (file, path)
);
COMMENT ON TABLE published_value IS 'Empty as shipped: `thermoscope collect published` imports it, and raw_value has the numbers that are shipped.';
COMMENT ON COLUMN published_value.file IS 'File the value stands in; see published_file [-]';
COMMENT ON COLUMN published_value.path IS 'Where in the file: a JSON path such as $.models[0].rho, or row and column of a CSV such as $[3].Last_Gain [-]';
COMMENT ON COLUMN published_value.metric IS 'What was measured, for example gain_last_block; see metric; unclassified when the importer has no rule for it [-]';
COMMENT ON COLUMN published_value.statistic IS 'Whether the value is a single measurement or a summary, and which [-]';
COMMENT ON COLUMN published_value.model_id IS 'Checkpoint it is about; see model; NULL when about none or several [-]';
COMMENT ON COLUMN published_value.prompt_set IS 'Prompt set; see prompt [-]';
COMMENT ON COLUMN published_value.prompt_id IS 'Prompt it was measured on; NULL for a summary over prompts [-]';
COMMENT ON COLUMN published_value.layer IS 'Block it belongs to; NULL when about the whole model [1]';
COMMENT ON COLUMN published_value.dtype IS 'Number format of the forward pass [-]';
COMMENT ON COLUMN published_value.value IS 'The number; NaN where the file says NaN; NULL for a label [see unit]';
COMMENT ON COLUMN published_value.text IS 'The value as written when it is a label, or a number stored as text [-]';
COMMENT ON COLUMN published_value.unit IS 'Unit of value [-]';
COMMENT ON COLUMN published_value.caveats IS 'Defects that touch this value, comma-separated; see caveat; empty when none is known [-]';

CREATE TABLE published_excerpt (
    file        VARCHAR NOT NULL,
    sha256      VARCHAR NOT NULL CHECK (length(sha256) = 64),
    path        VARCHAR NOT NULL,
    claims      VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    statistic   VARCHAR NOT NULL CHECK (statistic IN ('value', 'mean', 'sd', 'n', 'min', 'max', 'p_value', 'correlation', 'other')),
    model_id    VARCHAR,
    prompt_set  VARCHAR,
    prompt_id   VARCHAR,
    layer       INTEGER CHECK (layer >= 0),
    dtype       VARCHAR,
    value       DOUBLE NOT NULL,
    unit        VARCHAR NOT NULL,
    caveats     VARCHAR NOT NULL,
    PRIMARY KEY (file, path)
);
COMMENT ON TABLE published_excerpt IS 'The values are of a prompt, of a layer, or stated by a file; a fact each, with its source.';
COMMENT ON COLUMN published_excerpt.file IS 'File the value stands in; see published_file [-]';
COMMENT ON COLUMN published_excerpt.sha256 IS 'Hash of the file the value was read from [-]';
COMMENT ON COLUMN published_excerpt.path IS 'Where in the file: a JSON path [-]';
COMMENT ON COLUMN published_excerpt.claims IS 'Claims that the value decides, or in whose checks it is shown, comma-separated; see claim [-]';
COMMENT ON COLUMN published_excerpt.metric IS 'What was measured; see metric [-]';
COMMENT ON COLUMN published_excerpt.statistic IS 'Whether the value is a single measurement or a summary, and which [-]';
COMMENT ON COLUMN published_excerpt.model_id IS 'Checkpoint it is about; see model; NULL when about none or several [-]';
COMMENT ON COLUMN published_excerpt.prompt_set IS 'Prompt set; see prompt [-]';
COMMENT ON COLUMN published_excerpt.prompt_id IS 'Prompt it was measured on; NULL for a summary over prompts [-]';
COMMENT ON COLUMN published_excerpt.layer IS 'Block it belongs to; NULL when about the whole model [1]';
COMMENT ON COLUMN published_excerpt.dtype IS 'Number format of the forward pass [-]';
COMMENT ON COLUMN published_excerpt.value IS 'The number, to the last digit of the file [see unit]';
COMMENT ON COLUMN published_excerpt.unit IS 'Unit of value [-]';
COMMENT ON COLUMN published_excerpt.caveats IS 'Defects that touch this value, comma-separated; see caveat; empty when none is known [-]';

CREATE TABLE published_figure (
    model_id    VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    prompt_set  VARCHAR NOT NULL,
    dtype       VARCHAR NOT NULL,
    file        VARCHAR NOT NULL,
    path        VARCHAR NOT NULL,
    mean        DOUBLE NOT NULL,
    sd          DOUBLE,
    n           INTEGER NOT NULL CHECK (n > 0),
    unit        VARCHAR NOT NULL,
    caveats     VARCHAR NOT NULL,
    PRIMARY KEY (model_id, metric, prompt_set, dtype, file)
);
COMMENT ON TABLE published_figure IS 'the published figure at the level of a model, a fact with its source.';
COMMENT ON COLUMN published_figure.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN published_figure.metric IS 'What was measured; see metric [-]';
COMMENT ON COLUMN published_figure.prompt_set IS 'Prompt set; none when no prompt was involved [-]';
COMMENT ON COLUMN published_figure.dtype IS 'Number format of the forward pass [-]';
COMMENT ON COLUMN published_figure.file IS 'Raw file it comes from; see published_file [-]';
COMMENT ON COLUMN published_figure.path IS 'JSON path of the value, or of the rows it summarises, in that file [-]';
COMMENT ON COLUMN published_figure.mean IS 'Mean over the n measurements, or the single value [see unit]';
COMMENT ON COLUMN published_figure.sd IS 'Standard deviation over the n measurements, divisor n - 1; NULL when n = 1 or the file does not hold it [see unit]';
COMMENT ON COLUMN published_figure.n IS 'Measurements summarised: prompts, or layers for a weight norm [1]';
COMMENT ON COLUMN published_figure.unit IS 'Unit of mean and sd [-]';
COMMENT ON COLUMN published_figure.caveats IS 'Defects that touch the figure, comma-separated; see caveat [-]';

CREATE TABLE published_profile (
    model_id    VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    prompt_set  VARCHAR NOT NULL,
    dtype       VARCHAR NOT NULL,
    file        VARCHAR NOT NULL,
    layer       INTEGER NOT NULL CHECK (layer >= 0),
    value       DOUBLE NOT NULL,
    unit        VARCHAR NOT NULL,
    caveats     VARCHAR NOT NULL,
    PRIMARY KEY (model_id, metric, prompt_set, dtype, file, layer)
);
COMMENT ON TABLE published_profile IS 'a published profile over depth.';
COMMENT ON COLUMN published_profile.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN published_profile.metric IS 'What was measured; see metric [-]';
COMMENT ON COLUMN published_profile.prompt_set IS 'Prompt set [-]';
COMMENT ON COLUMN published_profile.dtype IS 'Number format of the forward pass [-]';
COMMENT ON COLUMN published_profile.file IS 'Raw file it comes from; see published_file [-]';
COMMENT ON COLUMN published_profile.layer IS 'Block, from 0 [1]';
COMMENT ON COLUMN published_profile.value IS 'The value at the layer [see unit]';
COMMENT ON COLUMN published_profile.unit IS 'Unit of value [-]';
COMMENT ON COLUMN published_profile.caveats IS 'Defects that touch the profile, comma-separated; see caveat [-]';

CREATE TABLE reported_source (
    source_id      VARCHAR NOT NULL,
    authors        VARCHAR NOT NULL,
    repository     VARCHAR NOT NULL,
    commit_id      VARCHAR NOT NULL,
    licence        VARCHAR,
    token          VARCHAR NOT NULL,
    pooling        VARCHAR NOT NULL CHECK (pooling IN ('last_token', 'mean_of_lengths', 'mean_of_lengths_without_first', 'length_of_mean')),
    prompts        VARCHAR NOT NULL,
    n_prompts      INTEGER CHECK (n_prompts > 0),
    rendering      VARCHAR NOT NULL CHECK (rendering IN ('plain', 'chat')),
    block          VARCHAR NOT NULL,
    dtype          VARCHAR NOT NULL,
    weights        VARCHAR NOT NULL,
    remark         VARCHAR,
    PRIMARY KEY (source_id)
);
COMMENT ON TABLE reported_source IS 'One row per source of lengths that somebody else measured and published: who, where, and how, as the folder that was handed in says.';
COMMENT ON COLUMN reported_source.source_id IS 'Short name of the source, that of its folder [-]';
COMMENT ON COLUMN reported_source.authors IS 'Who measured [-]';
COMMENT ON COLUMN reported_source.repository IS 'Address at which the lengths were published [-]';
COMMENT ON COLUMN reported_source.commit_id IS 'Commit, or commits, that they were read from [-]';
COMMENT ON COLUMN reported_source.licence IS 'Licence of the lengths, an SPDX identifier. NULL where the source states none: then reported_norm has no row of it, and reported_figure has a few for each model [-]';
COMMENT ON COLUMN reported_source.token IS 'Tokens whose vectors were taken [-]';
COMMENT ON COLUMN reported_source.pooling IS 'What one length is. last_token: of the last token, as in the paper. mean_of_lengths: mean over all tokens, the first included. mean_of_lengths_without_first: the same without the first token. length_of_mean: of the mean of the vectors. Gains of different poolings are different quantities [-]';
COMMENT ON COLUMN reported_source.prompts IS 'What was read [-]';
COMMENT ON COLUMN reported_source.n_prompts IS 'Prompts that each length is a mean over; NULL where the source does not say [1]';
COMMENT ON COLUMN reported_source.rendering IS 'plain, or chat (prompts in the chat template) [-]';
COMMENT ON COLUMN reported_source.block IS 'What the source counts as a layer, and where the length was taken [-]';
COMMENT ON COLUMN reported_source.dtype IS 'Number format of the forward pass, or formats; reported_norm has that of each length [-]';
COMMENT ON COLUMN reported_source.weights IS 'What was done to the weights before: none, or for example norms folded in [-]';
COMMENT ON COLUMN reported_source.remark IS 'What else a reader must know; NULL where nothing is said [-]';

CREATE TABLE reported_norm (
    source_id   VARCHAR NOT NULL,
    model_id    VARCHAR NOT NULL,
    series      VARCHAR NOT NULL,
    layer       INTEGER NOT NULL CHECK (layer >= -1),
    norm        DOUBLE NOT NULL CHECK (norm > 0),
    dtype       VARCHAR NOT NULL,
    file        VARCHAR NOT NULL,
    PRIMARY KEY (source_id, model_id, series, layer)
);
COMMENT ON TABLE reported_norm IS 'Lengths of the stream over depth that others measured, numbered as those of residual_norm are. Not all poolings are the paper''s: join reported_source.';
COMMENT ON COLUMN reported_norm.source_id IS 'Source; see reported_source [-]';
COMMENT ON COLUMN reported_norm.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN reported_norm.series IS 'Which of the source''s series of lengths: a prompt, or a draw of tokens; gains are taken within one [-]';
COMMENT ON COLUMN reported_norm.layer IS 'Block after which the length stands, 0 to n_layers - 1, before the final norm; -1 is the stream before block 0 [1]';
COMMENT ON COLUMN reported_norm.norm IS 'Euclidean length, pooled over tokens as reported_source.pooling says [activation units]';
COMMENT ON COLUMN reported_norm.dtype IS 'Number format of the forward pass [-]';
COMMENT ON COLUMN reported_norm.file IS 'File of the repository that it was read from [-]';

CREATE TABLE reported_figure (
    source_id   VARCHAR NOT NULL,
    model_id    VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    mean        DOUBLE NOT NULL,
    sd          DOUBLE,
    n           INTEGER NOT NULL CHECK (n > 0),
    dtype       VARCHAR NOT NULL,
    file        VARCHAR NOT NULL,
    PRIMARY KEY (source_id, model_id, metric)
);
COMMENT ON TABLE reported_figure IS 'A figure of the model, computed from the source''s lengths when they were imported, a mean over its series.';
COMMENT ON COLUMN reported_figure.source_id IS 'Source; see reported_source [-]';
COMMENT ON COLUMN reported_figure.model_id IS 'Checkpoint; see model [-]';
COMMENT ON COLUMN reported_figure.metric IS 'What was computed, with the source''s pooling in the place of the last token; see metric [-]';
COMMENT ON COLUMN reported_figure.mean IS 'Mean over the series, or the single value [see metric]';
COMMENT ON COLUMN reported_figure.sd IS 'Standard deviation over the series, divisor n - 1; NULL when there is one [see metric]';
COMMENT ON COLUMN reported_figure.n IS 'Series that the mean goes over [1]';
COMMENT ON COLUMN reported_figure.dtype IS 'Number format of the forward pass [-]';
COMMENT ON COLUMN reported_figure.file IS 'Files of the repository that the lengths were read from, comma-separated [-]';

CREATE TABLE study_plan (
    study_run_id         VARCHAR NOT NULL,
    study                VARCHAR NOT NULL,
    block                VARCHAR NOT NULL,
    cell                 VARCHAR NOT NULL,
    seed                 BIGINT NOT NULL CHECK (seed >= 0),
    parent_id            VARCHAR,
    n_layers             INTEGER NOT NULL CHECK (n_layers > 0),
    d_model              INTEGER NOT NULL CHECK (d_model > 0),
    n_steps              INTEGER NOT NULL CHECK (n_steps > 0),
    planned_s            DOUBLE NOT NULL CHECK (planned_s > 0),
    PRIMARY KEY (study_run_id, study)
);
COMMENT ON TABLE study_plan IS 'One row per training run that a design asks for, whether it has been trained or not: what study_run is to be compared with.';
COMMENT ON COLUMN study_plan.study_run_id IS 'Hash of everything that determines the numbers, as in study_run [-]';
COMMENT ON COLUMN study_plan.study IS 'Name of the design [-]';
COMMENT ON COLUMN study_plan.block IS 'Group of runs within the design; not a transformer block, which the word means elsewhere [-]';
COMMENT ON COLUMN study_plan.cell IS 'Levels of all factors, joined by slashes [-]';
COMMENT ON COLUMN study_plan.seed IS 'Seed of the weights [1]';
COMMENT ON COLUMN study_plan.parent_id IS 'study_run_id of the run whose network is to be trained on; NULL for a network drawn anew [-]';
COMMENT ON COLUMN study_plan.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN study_plan.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN study_plan.n_steps IS 'Steps of the schedule [1]';
COMMENT ON COLUMN study_plan.planned_s IS 'Processor time that the run was expected to take [s]';

CREATE TABLE study_run (
    study_run_id         VARCHAR NOT NULL,
    study                VARCHAR NOT NULL,
    block                VARCHAR NOT NULL,
    cell                 VARCHAR NOT NULL,
    seed                 BIGINT NOT NULL CHECK (seed >= 0),
    parent_id            VARCHAR,
    family               VARCHAR NOT NULL,
    n_layers             INTEGER NOT NULL CHECK (n_layers > 0),
    d_model              INTEGER NOT NULL CHECK (d_model > 0),
    n_heads              INTEGER NOT NULL CHECK (n_heads > 0),
    n_parameters         BIGINT NOT NULL CHECK (n_parameters > 0),
    learning_rate        DOUBLE NOT NULL CHECK (learning_rate > 0),
    weight_decay         DOUBLE NOT NULL CHECK (weight_decay >= 0),
    decay_turns          DOUBLE NOT NULL CHECK (decay_turns >= 0),
    equilibrium_scale    DOUBLE,
    n_steps              INTEGER NOT NULL CHECK (n_steps > 0),
    loss_before          DOUBLE NOT NULL,
    loss_after           DOUBLE NOT NULL,
    bigram_loss          DOUBLE NOT NULL,
    trigram_loss         DOUBLE NOT NULL,
    text_sha256          VARCHAR NOT NULL,
    weights_sha256       VARCHAR NOT NULL,
    recipe               VARCHAR NOT NULL,
    schema_version       INTEGER NOT NULL,
    code_version         VARCHAR NOT NULL,
    python_version       VARCHAR NOT NULL,
    torch_version        VARCHAR NOT NULL,
    transformers_version VARCHAR NOT NULL,
    started_at           TIMESTAMP NOT NULL,
    cpu_s                DOUBLE NOT NULL CHECK (cpu_s >= 0),
    PRIMARY KEY (study_run_id)
);
COMMENT ON TABLE study_run IS 'One row per training run of a study: what was trained, for how long, to which loss. Written last, so its presence means the run is complete.';
COMMENT ON COLUMN study_run.study_run_id IS 'Hash of everything that determines the numbers (recipe, texts, parent, what is measured), never of time [-]';
COMMENT ON COLUMN study_run.study IS 'Name of the design [-]';
COMMENT ON COLUMN study_run.block IS 'Group of runs within the design; not a transformer block, which the word means elsewhere [-]';
COMMENT ON COLUMN study_run.cell IS 'Levels of all factors, joined by slashes: what runs with other seeds share [-]';
COMMENT ON COLUMN study_run.seed IS 'Seed of the weights, and of the order of the text unless the recipe says another [1]';
COMMENT ON COLUMN study_run.parent_id IS 'study_run_id of the run whose network was trained on; NULL for a network drawn anew [-]';
COMMENT ON COLUMN study_run.family IS 'Kind of block that the recipe takes, as transformers names it [-]';
COMMENT ON COLUMN study_run.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN study_run.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN study_run.n_heads IS 'Query heads per block [1]';
COMMENT ON COLUMN study_run.n_parameters IS 'Exact number of parameters, tied matrices counted once [1]';
COMMENT ON COLUMN study_run.learning_rate IS 'Peak of the schedule [1]';
COMMENT ON COLUMN study_run.weight_decay IS 'Decay rate of the matrices [1]';
COMMENT ON COLUMN study_run.decay_turns IS 'Sum over the planned steps of learning rate times weight decay, kappa: decay alone would divide a weight by exp of it [1]';
COMMENT ON COLUMN study_run.equilibrium_scale IS 'sqrt(learning rate / (2 decay)), where the entries of a matrix settle under AdamW if given the time; NULL without decay [1]';
COMMENT ON COLUMN study_run.n_steps IS 'Steps taken [1]';
COMMENT ON COLUMN study_run.loss_before IS 'Held-out loss before the first step [nats per byte]';
COMMENT ON COLUMN study_run.loss_after IS 'Held-out loss after the last step [nats per byte]';
COMMENT ON COLUMN study_run.bigram_loss IS 'Held-out loss of a byte bigram model fitted to the same text [nats per byte]';
COMMENT ON COLUMN study_run.trigram_loss IS 'Held-out loss of a byte trigram model fitted to the same text, the yardstick of trained enough [nats per byte]';
COMMENT ON COLUMN study_run.text_sha256 IS 'Hash of the training text, unpacked [-]';
COMMENT ON COLUMN study_run.weights_sha256 IS 'Hash of the names and values of the trained weights [-]';
COMMENT ON COLUMN study_run.recipe IS 'All settings of the recipe, block and training, as JSON; the name of the recipe is in trained_network.recipe [-]';
COMMENT ON COLUMN study_run.schema_version IS 'Version of this file when the row was written [1]';
COMMENT ON COLUMN study_run.code_version IS 'Version of thermoscope, with the git commit where there is one [-]';
COMMENT ON COLUMN study_run.python_version IS 'Python that ran [-]';
COMMENT ON COLUMN study_run.torch_version IS 'torch that ran [-]';
COMMENT ON COLUMN study_run.transformers_version IS 'transformers that ran [-]';
COMMENT ON COLUMN study_run.started_at IS 'When the run began [UTC]';
COMMENT ON COLUMN study_run.cpu_s IS 'Processor time of the run [s]';

CREATE TABLE study_level (
    study_run_id VARCHAR NOT NULL,
    factor       VARCHAR NOT NULL,
    level        VARCHAR NOT NULL,
    PRIMARY KEY (study_run_id, factor)
);
COMMENT ON TABLE study_level IS 'the level the run has. Labels such as the lab that a recipe imitates are factors too.';
COMMENT ON COLUMN study_level.study_run_id IS 'Run; see study_run [-]';
COMMENT ON COLUMN study_level.factor IS 'Factor of the design, or a label of one [-]';
COMMENT ON COLUMN study_level.level IS 'Level as the design names it [-]';

CREATE TABLE study_response (
    study_run_id               VARCHAR NOT NULL,
    step                       INTEGER NOT NULL CHECK (step >= 0),
    tokens                     VARCHAR NOT NULL CHECK (tokens IN ('all', 'without_first')),
    loss                       DOUBLE NOT NULL,
    first_log_gain             DOUBLE NOT NULL,
    first_log_gain_centred     DOUBLE NOT NULL,
    later_log_gain             DOUBLE NOT NULL,
    later_log_gain_centred     DOUBLE NOT NULL,
    equal_writes               DOUBLE NOT NULL,
    equal_writes_centred       DOUBLE NOT NULL,
    last_log_gain              DOUBLE NOT NULL,
    last_log_gain_centred      DOUBLE NOT NULL,
    share_negative             DOUBLE NOT NULL CHECK (share_negative BETWEEN 0 AND 1),
    share_negative_centred     DOUBLE NOT NULL CHECK (share_negative_centred BETWEEN 0 AND 1),
    PRIMARY KEY (study_run_id, step, tokens)
);
COMMENT ON TABLE study_response IS 'the responses of a study, means over the tokens of held-out windows.';
COMMENT ON COLUMN study_response.study_run_id IS 'Run; see study_run [-]';
COMMENT ON COLUMN study_response.step IS 'Steps taken before the measurement; 0 is before the first [1]';
COMMENT ON COLUMN study_response.tokens IS 'all, or without_first (the first token of each window left out) [-]';
COMMENT ON COLUMN study_response.loss IS 'Held-out loss at that checkpoint [nats per byte]';
COMMENT ON COLUMN study_response.first_log_gain IS 'ln(gain) of block 0: of what leaves it over what enters it [1]';
COMMENT ON COLUMN study_response.first_log_gain_centred IS 'The same for norms after removing the mean over the features [1]';
COMMENT ON COLUMN study_response.later_log_gain IS 'Sum of ln(gain) over the blocks after block 0 [1]';
COMMENT ON COLUMN study_response.later_log_gain_centred IS 'The same for centred norms [1]';
COMMENT ON COLUMN study_response.equal_writes IS 'later_log_gain if each later block added an update as long as that of block 0 and orthogonal to the stream. It is ln(1 + (L - 1) |d|^2 / |x|^2) / 2, with x what leaves block 0 and d what it added [1]';
COMMENT ON COLUMN study_response.equal_writes_centred IS 'The same for centred norms [1]';
COMMENT ON COLUMN study_response.last_log_gain IS 'ln(gain) of the last block [nat]';
COMMENT ON COLUMN study_response.last_log_gain_centred IS 'The same for centred norms [nat]';
COMMENT ON COLUMN study_response.share_negative IS 'Share of the blocks after block 0 whose mean ln(gain) is negative [1]';
COMMENT ON COLUMN study_response.share_negative_centred IS 'The same for centred norms [1]';

CREATE TABLE study_profile (
    study_run_id     VARCHAR NOT NULL,
    step             INTEGER NOT NULL CHECK (step >= 0),
    tokens           VARCHAR NOT NULL CHECK (tokens IN ('all', 'without_first')),
    layer            INTEGER NOT NULL CHECK (layer >= 0),
    log_gain         DOUBLE NOT NULL,
    log_gain_sd      DOUBLE NOT NULL CHECK (log_gain_sd >= 0),
    log_gain_centred DOUBLE NOT NULL,
    share_negative   DOUBLE NOT NULL CHECK (share_negative BETWEEN 0 AND 1),
    ratio            DOUBLE NOT NULL CHECK (ratio >= 0),
    cosine           DOUBLE,
    PRIMARY KEY (study_run_id, step, tokens, layer)
);
COMMENT ON TABLE study_profile IS 'how the stream changes there, over the tokens of held-out windows.';
COMMENT ON COLUMN study_profile.study_run_id IS 'Run; see study_run [-]';
COMMENT ON COLUMN study_profile.step IS 'Steps taken before the measurement [1]';
COMMENT ON COLUMN study_profile.tokens IS 'all, or without_first [-]';
COMMENT ON COLUMN study_profile.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN study_profile.log_gain IS 'Mean of ln(norm of the block''s output over norm of its input) [1]';
COMMENT ON COLUMN study_profile.log_gain_sd IS 'Standard deviation of the same over the tokens, divisor n - 1 [1]';
COMMENT ON COLUMN study_profile.log_gain_centred IS 'Mean of the same for centred norms [1]';
COMMENT ON COLUMN study_profile.share_negative IS 'Share of the tokens whose norm falls [1]';
COMMENT ON COLUMN study_profile.ratio IS 'Mean of r, the length of what the block adds over that of its input [1]';
COMMENT ON COLUMN study_profile.cosine IS 'Mean cosine between what the block adds and its input; NULL where a block adds nothing [1]';
