-- The paper: its figures at the level of a model, a quantity a column.

CREATE VIEW main.published_model AS
SELECT f.model_id,
       m.lab,
       m.suite,
       m.base_model_id,
       m.n_layers,
       m.d_model,
       m.n_heads,
       m.d_head,
       m.n_parameters,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'gain_penultimate_block')  AS gain_penultimate_block,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'gain_last_block')         AS gain_last_block,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'gain_whole_matrix')       AS gain_whole_matrix,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'gain_with_final_norm')    AS gain_with_final_norm,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'gain_embedding')          AS gain_embedding,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'total_amplification')     AS growth_after_block_0,
       max(f.file) FILTER (WHERE f.place = 1 AND f.metric = 'gain_penultimate_block')  AS penultimate_block_file,
       max(f.file) FILTER (WHERE f.place = 1 AND f.metric = 'gain_last_block')         AS last_block_file,
       max(f.file) FILTER (WHERE f.place = 1 AND f.metric = 'gain_whole_matrix')       AS whole_matrix_file,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'l_star_empirical')        AS l_star_empirical,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'l_star_predicted')        AS l_star_predicted,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'output_entropy')          AS output_entropy,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'weight_spectral_v')       AS v_spectral,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'weight_frobenius_v')      AS v_frobenius,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'weight_spectral_o')       AS o_spectral,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'trace_multi_head')        AS trace_multi_head,
       max(f.mean) FILTER (WHERE f.place = 1 AND f.metric = 'trace_first_head')        AS trace_first_head,
       count(DISTINCT f.file) FILTER (WHERE starts_with(f.metric, 'gain'))             AS n_gain_files,
       count(DISTINCT f.file)                                                          AS n_files
  FROM (SELECT model_id,
               metric,
               file,
               mean,
               row_number() OVER (PARTITION BY model_id, metric ORDER BY n DESC, file, prompt_set, dtype) AS place
          FROM raw.published_figure) AS f
  JOIN raw.model AS m USING (model_id)
 GROUP BY f.model_id, m.lab, m.suite, m.base_model_id, m.n_layers, m.d_model, m.n_heads, m.d_head, m.n_parameters;
COMMENT ON VIEW main.published_model IS 'One row per model with figures in the paper''s result files: its published gain by each definition, and the other figures, a quantity a column. Nothing here was measured by this project; models measured here are in model_gain under their own model_id. Fine-tuned models stand beside base models: WHERE base_model_id IS NULL takes base models only. Where several files give one quantity of a model, the file over the most prompts is taken; ties go to the first by name. Files differ: compare models whose gains have one file (penultimate_block_file, last_block_file, whole_matrix_file), or take one in raw.published_figure. Definitions do not stand in for each other: a model without a figure has NULL in the column. Every file, number format, prompt set, spread and caveat: raw.published_figure; by layer: raw.published_profile; by prompt: raw.raw_value.';
COMMENT ON COLUMN main.published_model.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.published_model.lab IS 'Organisation that trained it. Some labs have one model, whose mean says nothing about the lab: count(*) shows which [-]';
COMMENT ON COLUMN main.published_model.suite IS 'Training suite, for example Pythia [-]';
COMMENT ON COLUMN main.published_model.base_model_id IS 'Model that it was fine-tuned from; NULL for a base model. 3 of the 34 models have it [-]';
COMMENT ON COLUMN main.published_model.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN main.published_model.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN main.published_model.n_heads IS 'Query heads per block [1]';
COMMENT ON COLUMN main.published_model.d_head IS 'Width of one head [1]';
COMMENT ON COLUMN main.published_model.n_parameters IS 'Number of parameters [1]';
COMMENT ON COLUMN main.published_model.gain_penultimate_block IS 'Length at the last token after the last block but one over the length before it, mean over prompts. The paper plots it as the gain of a model. Only 23 of the 34 models have it; for the others it is NULL. Of these, pythia-1.4b, pythia-6.9b, bloom-3b and opt-350m lie within 1 % of 1, which rounding in half precision can make. For pythia-6.9b it is 0.994, from the file over 25 prompts. It is 0.987 in the one file that the paper compares 16 models in and the report''s first page draws. That file is high_rho_hunt_NO_FINAL_LN_20260105_184728.json in raw.published_figure [ratio]';
COMMENT ON COLUMN main.published_model.gain_last_block IS 'The same of the last block; 11 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_whole_matrix IS 'Frobenius norm over all tokens after the last block over before it, mean over prompts; 5 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_with_final_norm IS 'Length at the last token after the final norm over before the last block; 23 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.gain_embedding IS 'Length at the last token after block 0 over its input; 23 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.growth_after_block_0 IS 'Length at the last token after the last block over after block 0: the product of the gains between them. 11 of the 34 models have it, the others NULL [ratio]';
COMMENT ON COLUMN main.published_model.penultimate_block_file IS 'Result file of gain_penultimate_block, gain_with_final_norm and gain_embedding; 23 of the 34 models have it, the others NULL [-]';
COMMENT ON COLUMN main.published_model.last_block_file IS 'Result file of gain_last_block and growth_after_block_0; 11 of the 34 models have it, the others NULL [-]';
COMMENT ON COLUMN main.published_model.whole_matrix_file IS 'Result file of gain_whole_matrix; 5 of the 34 models have it, the others NULL [-]';
COMMENT ON COLUMN main.published_model.l_star_empirical IS 'Layer of the transition, L*, as the file estimates it; 7 of the 34 models have it, the others NULL [layers]';
COMMENT ON COLUMN main.published_model.l_star_predicted IS 'L* as the paper''s formula predicts it; 6 of the 34 models have it, the others NULL [layers]';
COMMENT ON COLUMN main.published_model.output_entropy IS 'Entropy of the next-token distribution, mean over prompts; 11 of the 34 models have it, the others NULL [nat]';
COMMENT ON COLUMN main.published_model.v_spectral IS 'Largest singular value of the whole W_V, mean over layers; 8 of the 34 models have it, the others NULL [weight units]';
COMMENT ON COLUMN main.published_model.v_frobenius IS 'Frobenius norm of the whole W_V, mean over layers; 3 of the 34 models have it, the others NULL [weight units]';
COMMENT ON COLUMN main.published_model.o_spectral IS 'Largest singular value of the whole W_O, mean over layers; 7 of the 34 models have it, the others NULL [weight units]';
COMMENT ON COLUMN main.published_model.trace_multi_head IS 'Trace of the sheaf Laplacian, sum over heads, mean over layers; 4 of the 34 models have it, the others NULL [weight units squared]';
COMMENT ON COLUMN main.published_model.trace_first_head IS 'The same with the norm of head 0 and the averaged map; 4 of the 34 models have it, the others NULL [weight units squared]';
COMMENT ON COLUMN main.published_model.n_gain_files IS 'Result files that have a gain of the model [1]';
COMMENT ON COLUMN main.published_model.n_files IS 'Result files that have any figure of the model [1]';
