-- The paper: its figures at the level of a model, a quantity a column.

CREATE VIEW main.published_model AS
WITH sets AS (
    SELECT metric,
           prompt_set,
           row_number() OVER (PARTITION BY metric ORDER BY count(DISTINCT model_id) DESC, max(n) DESC, prompt_set) AS set_place
      FROM raw.published_figure
     GROUP BY metric, prompt_set
)
SELECT f.model_id,
       m.lab,
       m.suite,
       m.base_model_id,
       m.n_layers,
       m.d_model,
       m.n_heads,
       m.d_head,
       m.n_parameters,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'gain_penultimate_block')  AS gain_penultimate_block,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'gain_last_block')         AS gain_last_block,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'gain_whole_matrix')       AS gain_whole_matrix,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'gain_with_final_norm')    AS gain_with_final_norm,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'gain_embedding')          AS gain_embedding,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'total_amplification')     AS growth_after_block_0,
       max(f.mean) FILTER (WHERE f.is_sweep AND f.metric = 'gain_penultimate_block')   AS gain_penultimate_block_pythia,
       max(f.mean) FILTER (WHERE f.is_sweep AND f.metric = 'gain_with_final_norm')     AS gain_with_final_norm_pythia,
       max(f.mean) FILTER (WHERE f.is_sweep AND f.metric = 'gain_embedding')           AS gain_embedding_pythia,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'l_star_empirical')        AS l_star_empirical,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'l_star_predicted')        AS l_star_predicted,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'output_entropy')          AS output_entropy,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'weight_spectral_v')       AS v_spectral,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'weight_frobenius_v')      AS v_frobenius,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'weight_spectral_o')       AS o_spectral,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'trace_multi_head')        AS trace_multi_head,
       max(f.mean) FILTER (WHERE f.is_taken AND f.metric = 'trace_first_head')        AS trace_first_head,
       count(DISTINCT f.file) FILTER (WHERE starts_with(f.metric, 'gain'))             AS n_gain_files,
       count(DISTINCT f.file)                                                          AS n_files
  FROM (SELECT g.model_id,
               g.metric,
               g.file,
               g.mean,
               row_number() OVER (PARTITION BY g.model_id, g.metric, g.prompt_set ORDER BY g.n DESC, g.file, g.dtype) AS file_place,
               file_place = 1 AND s.set_place = 1                                 AS is_taken,
               file_place = 1 AND g.prompt_set = 'B_pythia_sweep'                 AS is_sweep
          FROM raw.published_figure AS g
          JOIN sets AS s ON s.metric = g.metric AND s.prompt_set IS NOT DISTINCT FROM g.prompt_set) AS f
  JOIN raw.model AS m USING (model_id)
 GROUP BY f.model_id, m.lab, m.suite, m.base_model_id, m.n_layers, m.d_model, m.n_heads, m.d_head, m.n_parameters;
COMMENT ON VIEW main.published_model IS 'One row per model with figures in the paper''s result files: its published gain by each definition, and the other figures, a quantity a column. Nothing here was measured by this project; models measured here are in model_gain under their own model_id. Fine-tuned models stand beside base models: WHERE base_model_id IS NULL takes base models only. Each column is of one prompt set, the one on which the paper has most models. Columns that end in _pythia are of its file on the Pythia suite. Where several files give one quantity of a model on a set, the file over the most prompts is taken. Ties go to the first by name. Number formats differ between models. Definitions do not stand in for each other: a model without a figure has NULL in the column. Every file, number format, prompt set, spread and caveat: raw.published_figure; by layer: raw.published_profile; by prompt: raw.raw_value.';
COMMENT ON COLUMN main.published_model.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.published_model.lab IS 'Organisation that trained it. Some labs have one model with a gain, whose mean says nothing about the lab: count(gain_penultimate_block) shows which, count(*) also counts models without. A lab can have several suites, and a slope over its models another sign than within a suite: gain_penultimate_block by n_parameters of EleutherAI [-]';
COMMENT ON COLUMN main.published_model.suite IS 'Training suite, for example Pythia [-]';
COMMENT ON COLUMN main.published_model.base_model_id IS 'Model that it was fine-tuned from; NULL for a base model. 3 of the 34 models have it [-]';
COMMENT ON COLUMN main.published_model.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN main.published_model.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN main.published_model.n_heads IS 'Query heads per block [1]';
COMMENT ON COLUMN main.published_model.d_head IS 'Width of one head [1]';
COMMENT ON COLUMN main.published_model.n_parameters IS 'Number of parameters [1]';
COMMENT ON COLUMN main.published_model.gain_penultimate_block IS 'Length at the last token after the last block but one over the length before it, mean over the 5 prompts of set C5_high_rho_hunt. The paper plots it as the gain of a model and compares labs by it. 16 of the 34 models have it; for the others it is NULL. Of these, bloom-3b and opt-350m lie within 1 % of 1, which rounding in half precision can make. Of the Pythia suite it has pythia-6.9b alone: gain_penultimate_block_pythia [ratio]';
COMMENT ON COLUMN main.published_model.gain_last_block IS 'The same of the last block, over the 25 prompts of A_grand_unified. 11 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_whole_matrix IS 'Frobenius norm over all tokens after the last block over before it, on the one prompt of E1_4model_and_mistral. 5 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_with_final_norm IS 'Length at the last token after the final norm over before the last block, on the prompts of gain_penultimate_block. 16 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_embedding IS 'Length at the last token after block 0 over its input, on the same prompts. 16 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.growth_after_block_0 IS 'Length at the last token after the last block over after block 0: the product of the gains between them. 11 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_penultimate_block_pythia IS 'gain_penultimate_block of the 8 Pythia models, over the 25 prompts of B_pythia_sweep. 8 of the 34 models have it, the others NULL. Of these, pythia-1.4b and pythia-6.9b lie within 1 % of 1. Other prompts give pythia-6.9b another gain, so compare it with no other column [ratio]';
COMMENT ON COLUMN main.published_model.gain_with_final_norm_pythia IS 'gain_with_final_norm of the same models and prompts. 8 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_embedding_pythia IS 'gain_embedding of the same models and prompts. 8 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.l_star_empirical IS 'Layer of the transition, L*, as the file estimates it. 6 of the 34 models have it, the others NULL [layers]';
COMMENT ON COLUMN main.published_model.l_star_predicted IS 'L* as the paper''s formula predicts it. 6 of the 34 models have it, the others NULL [layers]';
COMMENT ON COLUMN main.published_model.output_entropy IS 'Entropy of the next-token distribution, mean over prompts. 11 of the 34 models have it, the others NULL [nat]';
COMMENT ON COLUMN main.published_model.v_spectral IS 'Largest singular value of the whole W_V, mean over layers. 8 of the 34 models have it, the others NULL [weight units]';
COMMENT ON COLUMN main.published_model.v_frobenius IS 'Frobenius norm of the whole W_V, mean over layers. 3 of the 34 models have it, the others NULL [weight units]';
COMMENT ON COLUMN main.published_model.o_spectral IS 'Largest singular value of the whole W_O, mean over layers. 7 of the 34 models have it, the others NULL [weight units]';
COMMENT ON COLUMN main.published_model.trace_multi_head IS 'Trace of the sheaf Laplacian, sum over heads, mean over layers. 4 of the 34 models have it, the others NULL [weight units squared]';
COMMENT ON COLUMN main.published_model.trace_first_head IS 'The same with the norm of head 0 and the averaged map. 4 of the 34 models have it, the others NULL [weight units squared]';
COMMENT ON COLUMN main.published_model.n_gain_files IS 'Result files that have a gain of the model [1]';
COMMENT ON COLUMN main.published_model.n_files IS 'Result files that have any figure of the model [1]';
