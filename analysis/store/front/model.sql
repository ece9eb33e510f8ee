-- Models: who made them and how they are shaped, measured or published.

CREATE VIEW main.model AS
SELECT m.model_id,
       m.lab,
       m.suite,
       m.lab IS NOT DISTINCT FROM 'thermoscope'                                   AS is_trained_here,
       m.family,
       m.base_model_id,
       m.year,
       m.n_layers,
       m.d_model,
       m.n_heads,
       m.n_kv_heads,
       m.d_head,
       m.d_ffn,
       m.n_vocabulary,
       m.n_context,
       m.n_parameters,
       head_density(m.n_heads, m.d_head)                                          AS head_density,
       m.norm_kind,
       m.norm_position,
       m.positional_scheme,
       m.is_parallel,
       m.is_tied,
       m.training_step,
       m.training_tokens,
       m.title,
       m.licence,
       m.quantisation,
       p.model_id IS NOT NULL                                                     AS is_published,
       r.model_id IS NOT NULL                                                     AS is_measured,
       o.model_id IS NOT NULL                                                     AS is_reported,
       coalesce(r.n_prompt_sets, 0)                                               AS n_prompt_sets,
       CASE WHEN r.model_id IS NULL THEN why_no_run(p.model_id IS NOT NULL, o.model_id IS NOT NULL) END AS reason
  FROM raw.model AS m
  LEFT JOIN (SELECT DISTINCT model_id FROM raw.published_figure) AS p USING (model_id)
  LEFT JOIN (SELECT DISTINCT model_id FROM raw.reported_figure) AS o USING (model_id)
  LEFT JOIN (SELECT model_id, count(DISTINCT prompt_set) AS n_prompt_sets
               FROM raw.run
              WHERE perturbation IS NULL
              GROUP BY model_id) AS r USING (model_id);
COMMENT ON VIEW main.model IS 'One row per model: who made it and how it is shaped. It was measured here, published or measured by others (is_measured, is_published, is_reported), or is only named in the paper''s files. Models of the paper have the lab that trained them; names that begin with local/ are public models measured here. Networks that were trained by collect train are here too, where the opened store has some: is_trained_here marks them. They are no sample of a lab''s models: take either kind alone. Which quantities a model has: coverage. Every run: raw.run. Revisions that were measured: raw.revision, empty where none was.';
COMMENT ON COLUMN main.model.model_id IS 'Hub identifier, or the name of a local checkpoint [-]';
COMMENT ON COLUMN main.model.lab IS 'Organisation that trained the model; thermoscope is not a lab: it names the small networks trained here (is_trained_here). Many labs have one model, whose mean says nothing about the lab. count of the column, such as count(n_parameters), shows which; count(*) also counts models where it is NULL. NULL when the checkpoint does not say [-]';
COMMENT ON COLUMN main.model.suite IS 'Training suite: models trained together with one recipe, for example Pythia; of networks trained here the optimiser. NULL where none is stated, as of public models measured here, whose files name none: two of these can be siblings all the same [-]';
COMMENT ON COLUMN main.model.is_trained_here IS 'True for a small network trained here, False for a model of others [-]';
COMMENT ON COLUMN main.model.family IS 'Architecture: model_type of the transformers configuration [-]';
COMMENT ON COLUMN main.model.base_model_id IS 'Model that this one was fine-tuned from; it need not be in the table. NULL for a base model, where none is named, and for public models measured here, whose files state none: model_id or title may tell [-]';
COMMENT ON COLUMN main.model.year IS 'Year of first public release [year]';
COMMENT ON COLUMN main.model.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN main.model.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN main.model.n_heads IS 'Query heads per block, H; NULL where blocks have no heads or not all the same, or where it is not known [1]';
COMMENT ON COLUMN main.model.n_kv_heads IS 'Key and value heads per block, fewer than n_heads where query heads share them. NULL where heads have none of their own or where it is not known [1]';
COMMENT ON COLUMN main.model.d_head IS 'Width of one head, as the model has it; NULL where n_kv_heads is [1]';
COMMENT ON COLUMN main.model.d_ffn IS 'Inner width of the feed-forward layer; NULL where no block has such a layer or where it is not known [1]';
COMMENT ON COLUMN main.model.n_vocabulary IS 'Rows of the token embedding; NULL where it is not known [1]';
COMMENT ON COLUMN main.model.n_context IS 'Longest input the configuration admits; NULL where it names none or where it is not known [tokens]';
COMMENT ON COLUMN main.model.n_parameters IS 'Exact number of parameters, tied matrices counted once; NULL when unknown. Of a GGUF file, all that it holds: an output matrix stored beside the embedding counts. The released model may tie the two, as Qwen2.5 does [1]';
COMMENT ON COLUMN main.model.head_density IS 'rho = n_heads / d_head, section 5.4 of the paper; NULL where one of the two is. The paper''s own variant: raw.density [1]';
COMMENT ON COLUMN main.model.norm_kind IS 'Normalisation layer of the blocks: LayerNorm or RMSNorm [-]';
COMMENT ON COLUMN main.model.norm_position IS 'Where the norm sits: pre, post, sandwich or output [-]';
COMMENT ON COLUMN main.model.positional_scheme IS 'How positions enter: learned, sinusoidal, rotary, alibi or none; NULL where it is not known [-]';
COMMENT ON COLUMN main.model.is_parallel IS 'True when attention and feed-forward read the same stream; NULL where blocks are not made of these two or where it is not known [-]';
COMMENT ON COLUMN main.model.is_tied IS 'True when input and output embeddings are one matrix in the checkpoint; a GGUF file may hold two of a released model that ties them. NULL where there is no output embedding or where it is not known [-]';
COMMENT ON COLUMN main.model.training_step IS 'Optimiser steps taken when the checkpoint was saved; NULL but for revisions that you measure (collect run --revision) and whose name or files say it [1]';
COMMENT ON COLUMN main.model.training_tokens IS 'Tokens trained on by then; NULL but for revisions that you measure and whose files say it [tokens]';
COMMENT ON COLUMN main.model.title IS 'What the header of a GGUF file calls the model; NULL for other checkpoints [-]';
COMMENT ON COLUMN main.model.licence IS 'Licence that the header of a GGUF file states; NULL where it states none and for other checkpoints [-]';
COMMENT ON COLUMN main.model.quantisation IS 'Mix of number formats that a quantised file was made in, for example Q4_K_M; NULL where all weights are plain floating numbers [-]';
COMMENT ON COLUMN main.model.is_published IS 'True where the paper''s files have a figure of it; see published_model [-]';
COMMENT ON COLUMN main.model.is_reported IS 'True where others measured it and published its lengths; see raw.reported_gain [-]';
COMMENT ON COLUMN main.model.is_measured IS 'True where it was measured here; see coverage for what [-]';
COMMENT ON COLUMN main.model.n_prompt_sets IS 'Prompt sets of its runs in the opened store; 0 where it has none [1]';
COMMENT ON COLUMN main.model.reason IS 'Why it was not measured here; NULL where it was [-]';
