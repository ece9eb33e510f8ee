-- Gains: how much a block lengthens the residual stream, by model and by prompt, a definition a column.

CREATE VIEW main.model_gain AS
SELECT r.model_id,
       m.lab,
       m.suite,
       m.lab IS NOT DISTINCT FROM 'thermoscope'                                   AS is_trained_here,
       m.n_layers,
       m.d_model,
       m.n_heads,
       m.d_head,
       m.n_parameters,
       r.prompt_set,
       coalesce(any_value(g.n_prompts), 0)                                        AS n_prompts,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_last_block')               AS gain_last_block,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_penultimate_block')        AS gain_penultimate_block,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_body')                     AS gain_body,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_maximum')                  AS gain_maximum,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_embedding')                AS gain_embedding,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_with_final_norm')          AS gain_with_final_norm,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_whole_matrix')             AS gain_whole_matrix,
       max(g.gain_mean) FILTER (WHERE g.metric = 'gain_without_first')            AS gain_without_first,
       max(g.gain_mean) FILTER (WHERE g.metric = 'total_amplification')           AS growth_after_block_0,
       CASE WHEN count(g.metric) = 0 THEN 'the opened store lacks the stream of this run; see coverage.reason'
            WHEN count(*) FILTER (WHERE g.metric = 'gain_last_block') = 0
            THEN 'the opened store does not say which token is the last, or the stream vanishes there'
            WHEN m.n_layers < 2 THEN 'a model of one block has no block before the last'
       END                                                                        AS reason
  FROM raw.leading_run AS r
  JOIN raw.model AS m USING (model_id)
  LEFT JOIN raw.model_gain AS g USING (run_id, model_id)
 GROUP BY r.model_id, m.lab, m.suite, m.n_layers, m.d_model, m.n_heads, m.d_head, m.n_parameters, r.prompt_set;
COMMENT ON VIEW main.model_gain IS 'One row per model measured here: its gain by each definition, the mean over the prompts of one set. Above 1 the stream grows (expand), below 1 it shrinks (dampen); direction(gain) says which. The set is the one on which most models were measured, A_grand_unified as shipped, prompts plain and tokenised as the tokenizer does. A model that was not measured on it has its own largest set, named in prompt_set. Networks that were trained by collect train are here too, where the opened store has some: is_trained_here marks them. By prompt: prompt_gain. By block: block. Other runs and definitions, spread over prompts: raw.model_gain. The sign by a gain that a constant added to the stream cannot change: raw.primary_sign. Published and reported models are not here: published_model, raw.reported_gain.';
COMMENT ON COLUMN main.model_gain.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.model_gain.lab IS 'Organisation that trained it; thermoscope is not a lab: it names the small networks trained here (is_trained_here). Some labs have one model, whose mean says nothing about the lab. count of the column, such as count(gain_last_block), shows which; count(*) also counts models where it is NULL [-]';
COMMENT ON COLUMN main.model_gain.suite IS 'Training suite; of networks trained here the optimiser. NULL where none is stated, as of public models measured here, whose files name none: two of these can be siblings all the same [-]';
COMMENT ON COLUMN main.model_gain.is_trained_here IS 'True for a small network trained here, False for a public model [-]';
COMMENT ON COLUMN main.model_gain.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN main.model_gain.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN main.model_gain.n_heads IS 'Query heads per block [1]';
COMMENT ON COLUMN main.model_gain.d_head IS 'Width of one head [1]';
COMMENT ON COLUMN main.model_gain.n_parameters IS 'Number of parameters. Of a GGUF file, all that it holds: an output matrix stored beside the embedding counts. The released model may tie the two, as Qwen2.5 does [1]';
COMMENT ON COLUMN main.model_gain.prompt_set IS 'Prompt set that the means go over [-]';
COMMENT ON COLUMN main.model_gain.n_prompts IS 'Prompts that the means go over [1]';
COMMENT ON COLUMN main.model_gain.gain_last_block IS 'Length at the last token after the last block over before it [ratio]';
COMMENT ON COLUMN main.model_gain.gain_penultimate_block IS 'Length at the last token after the last block but one over before it: what the paper plots as the gain of a model [ratio]';
COMMENT ON COLUMN main.model_gain.gain_body IS 'Geometric mean of the gains of all blocks but block 0, at the last token. Of one prompt, its power n_layers - 1 is growth_after_block_0 [ratio]';
COMMENT ON COLUMN main.model_gain.gain_maximum IS 'Largest gain of a block after block 0, at the last token: mean over prompts of each prompt''s largest [ratio]';
COMMENT ON COLUMN main.model_gain.gain_embedding IS 'Length at the last token after block 0 over its input, the embedding [ratio]';
COMMENT ON COLUMN main.model_gain.gain_with_final_norm IS 'Length at the last token after the final norm over before the last block: what hidden_states[-1] / hidden_states[-2] gives [ratio]';
COMMENT ON COLUMN main.model_gain.gain_whole_matrix IS 'Frobenius norm over all tokens after the last block over before it; decided by the first token where that is massive [ratio]';
COMMENT ON COLUMN main.model_gain.gain_without_first IS 'The same over all tokens but the first [ratio]';
COMMENT ON COLUMN main.model_gain.growth_after_block_0 IS 'Length at the last token after the last block over after block 0: the product of the gains of all blocks but block 0. gain_body is the same by block; network.log_growth is the logarithm, there a mean over tokens [ratio]';
COMMENT ON COLUMN main.model_gain.reason IS 'Why gains are NULL; NULL where none is [-]';

CREATE VIEW main.prompt_gain AS
SELECT r.model_id,
       g.prompt_id,
       p.prompt_set,
       p.category,
       n.n_tokens,
       g.gain_last_block,
       g.gain_penultimate_block,
       g.gain_body,
       g.gain_maximum,
       g.gain_embedding,
       g.gain_with_final_norm,
       g.gain_whole_matrix,
       g.gain_without_first,
       g.growth_after_block_0,
       n.entropy                                                                  AS next_token_entropy,
       n.top_token                                                                AS next_token,
       n.top_probability                                                          AS next_token_probability,
       p.text
  FROM raw.leading_run AS r
  JOIN (SELECT run_id,
               model_id,
               prompt_id,
               max(gain) FILTER (WHERE metric = 'gain_last_block')                AS gain_last_block,
               max(gain) FILTER (WHERE metric = 'gain_penultimate_block')         AS gain_penultimate_block,
               max(gain) FILTER (WHERE metric = 'gain_body')                      AS gain_body,
               max(gain) FILTER (WHERE metric = 'gain_maximum')                   AS gain_maximum,
               max(gain) FILTER (WHERE metric = 'gain_embedding')                 AS gain_embedding,
               max(gain) FILTER (WHERE metric = 'gain_with_final_norm')           AS gain_with_final_norm,
               max(gain) FILTER (WHERE metric = 'gain_whole_matrix')              AS gain_whole_matrix,
               max(gain) FILTER (WHERE metric = 'gain_without_first')             AS gain_without_first,
               max(gain) FILTER (WHERE metric = 'total_amplification')            AS growth_after_block_0
          FROM raw.prompt_gain
         GROUP BY run_id, model_id, prompt_id) AS g USING (run_id, model_id)
  JOIN raw.prompt AS p ON p.prompt_id = g.prompt_id
  LEFT JOIN raw.next_token AS n
    ON n.run_id = r.run_id AND n.model_id = r.model_id AND n.prompt_id = g.prompt_id;
COMMENT ON VIEW main.prompt_gain IS 'One row per model measured here and prompt: the gain by each definition, and the next token that the model predicts. Prompts are those of the set in model_gain, whose mean over them is there, plain and tokenised as the tokenizer does. Prompts of one model are not independent of each other as models are: intervals over models come from model_gain. Intervals over prompts: avg(gain_body), conf_low(gain_body), conf_high(gain_body) GROUP BY model_id. They take prompts as independent, but prompts of one category are alike: for prompts of other categories they are too narrow. Means by category, taken first, give wider ones. Other prompt sets and runs (chat template, start token put in or left out): raw.prompt_gain.';
COMMENT ON COLUMN main.prompt_gain.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.prompt_gain.prompt_id IS 'Prompt: its set and its number in it, which is of one set alone [-]';
COMMENT ON COLUMN main.prompt_gain.prompt_set IS 'Set that the prompt belongs to, that of the model in model_gain [-]';
COMMENT ON COLUMN main.prompt_gain.category IS 'Kind of prompt as its authors named it; NULL when they named none. Gains of one kind are alike, so prompts of a kind are not independent [-]';
COMMENT ON COLUMN main.prompt_gain.n_tokens IS 'Length of the prompt in tokens, those that the tokenizer adds included; NULL where it is not in the opened store [tokens]';
COMMENT ON COLUMN main.prompt_gain.gain_last_block IS 'Length at the last token after the last block over before it [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_penultimate_block IS 'The same of the last block but one: what the paper plots as the gain of a model [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_body IS 'Geometric mean of the gains of all blocks but block 0, at the last token. Its power n_layers - 1 is growth_after_block_0, so its spread over prompts shrinks with depth: compare models by stddev(ln(growth_after_block_0)) [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_maximum IS 'Largest gain of a block after block 0, at the last token [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_embedding IS 'Length at the last token after block 0 over its input, the embedding [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_with_final_norm IS 'Length at the last token after the final norm over before the last block [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_whole_matrix IS 'Frobenius norm over all tokens after the last block over before it; decided by the first token where that is massive [ratio]';
COMMENT ON COLUMN main.prompt_gain.gain_without_first IS 'The same over all tokens but the first; NULL for a prompt of one token [ratio]';
COMMENT ON COLUMN main.prompt_gain.growth_after_block_0 IS 'Length at the last token after the last block over after block 0: gain_body to the power n_layers - 1 [ratio]';
COMMENT ON COLUMN main.prompt_gain.next_token_entropy IS 'Entropy of the distribution of the next token [nat]';
COMMENT ON COLUMN main.prompt_gain.next_token IS 'Most probable next token, as text; NULL where there was no tokenizer [-]';
COMMENT ON COLUMN main.prompt_gain.next_token_probability IS 'Its probability [1]';
COMMENT ON COLUMN main.prompt_gain.text IS 'The prompt, verbatim [-]';
