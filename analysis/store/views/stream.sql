-- The stream: how long its vectors are, what the parts of a block add, which tokens are massive.

CREATE VIEW stream AS
SELECT run_id,
       model_id,
       prompt_id,
       position,
       is_special,
       CASE site WHEN 'block_input' THEN -1 ELSE layer END AS layer,
       norm,
       norm_centred
  FROM residual_norm
 WHERE (site = 'block_output' OR (site = 'block_input' AND layer = 0))
   AND run_id NOT IN (SELECT run_id FROM perturbed_run);
COMMENT ON VIEW stream IS 'One row per model, prompt, token and depth: the residual stream before the final norm. Layer -1 is the input of block 0.';
COMMENT ON COLUMN stream.layer IS 'Block whose output this is; -1 for the input of block 0 [1]';

CREATE VIEW stream_length AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       arg_max(norm, position)                                     AS last_token,
       sqrt(sum(norm * norm))                                      AS whole_matrix,
       sqrt(sum(norm * norm) FILTER (WHERE position > 0))          AS without_first,
       avg(norm)                                                   AS token_mean,
       median(norm) FILTER (WHERE position > 0 AND NOT is_special) AS body_median,
       max(norm)                                                   AS largest,
       median(norm)                                                AS token_median
  FROM stream
 GROUP BY run_id, model_id, prompt_id, layer;
COMMENT ON VIEW stream_length IS 'One row per model, prompt and depth: the length of the stream under each way to reduce the tokens to one number. Layer -1 is the input of block 0. A row for each token is in stream.';
COMMENT ON COLUMN stream_length.last_token IS 'Norm at the last token [activation units]';
COMMENT ON COLUMN stream_length.whole_matrix IS 'Frobenius norm over all tokens, position 0 included (caveat B4) [activation units]';
COMMENT ON COLUMN stream_length.without_first IS 'Frobenius norm over all tokens but the one at position 0; NULL where none is left [activation units]';
COMMENT ON COLUMN stream_length.token_mean IS 'Mean of the tokens'' norms [activation units]';
COMMENT ON COLUMN stream_length.body_median IS 'Median of the tokens'' norms without position 0 and special tokens; NULL where none is left [activation units]';
COMMENT ON COLUMN stream_length.largest IS 'Largest of the tokens'' norms; over token_median it shows a massive activation [activation units]';
COMMENT ON COLUMN stream_length.token_median IS 'Median of all tokens'' norms [activation units]';

CREATE VIEW update_profile AS
SELECT run_id,
       model_id,
       layer,
       part,
       avg(log_ratio_last)         AS log_ratio_last,
       avg(cosine_last)            AS cosine_last,
       avg(log_ratio_body)         AS log_ratio_body,
       avg(cosine_body)            AS cosine_body,
       count(*)                    AS n_prompts
  FROM (SELECT u.run_id,
               u.model_id,
               u.prompt_id,
               u.layer,
               u.part,
               avg(ln(nullif(u.ratio, 0))) FILTER (WHERE t.is_last) AS log_ratio_last,
               avg(u.cosine)               FILTER (WHERE t.is_last) AS cosine_last,
               avg(ln(nullif(u.ratio, 0))) FILTER (WHERE t.is_body) AS log_ratio_body,
               avg(u.cosine)               FILTER (WHERE t.is_body) AS cosine_body
          FROM residual_update AS u
          JOIN token AS t USING (run_id, model_id, prompt_id, position)
         GROUP BY u.run_id, u.model_id, u.prompt_id, u.layer, u.part) AS prompts
 GROUP BY run_id, model_id, layer, part;
COMMENT ON VIEW update_profile IS 'How large the update is against the stream it is added to, and which way it points. Mean over prompts of each prompt''s mean.';
COMMENT ON COLUMN update_profile.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN update_profile.log_ratio_last IS 'Mean of ln(|update| / |stream|) at the last token [nat]';
COMMENT ON COLUMN update_profile.cosine_last IS 'Mean cosine of update and stream at the last token; below 0 the part writes against the stream [1]';
COMMENT ON COLUMN update_profile.log_ratio_body IS 'The same log ratio over the body tokens; see token [nat]';
COMMENT ON COLUMN update_profile.cosine_body IS 'The same cosine over the body tokens [1]';

CREATE VIEW expansion AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       part,
       avg(norm) / nullif(avg(input_norm), 0) AS expansion
  FROM residual_update
 WHERE part <> 'block'
   AND input_norm IS NOT NULL
   AND run_id NOT IN (SELECT run_id FROM perturbed_run)
 GROUP BY run_id, model_id, prompt_id, layer, part;
COMMENT ON VIEW expansion IS 'Mean length of what it adds over mean length of what it reads after its norm, over all tokens. Notebooks 11 and 12 measure it (metrics gain_sublayer_attention and gain_sublayer_ffn). It is not a gain of the stream.';
COMMENT ON COLUMN expansion.expansion IS 'mean_t |update| / mean_t |normalised input| [ratio]';

CREATE VIEW massive_activation AS
SELECT n.run_id,
       n.model_id,
       n.prompt_id,
       n.layer,
       n.position,
       n.is_special,
       n.norm,
       n.norm / l.token_median AS times_median,
       n.top_share,
       n.top_feature
  FROM residual_norm AS n
  JOIN stream_length AS l USING (run_id, model_id, prompt_id, layer)
 WHERE n.site = 'block_output'
   AND n.norm > 10 * l.token_median;
COMMENT ON VIEW massive_activation IS 'One row per model, prompt, layer and token whose stream is more than ten times as long as the median token of its prompt there. A prompt of two tokens has none: the median lies half way between them.';
COMMENT ON COLUMN massive_activation.times_median IS 'Norm over the median norm of the prompt''s tokens at the layer [ratio]';

CREATE VIEW outlier_token AS
SELECT a.run_id,
       a.model_id,
       a.prompt_id,
       a.position,
       bool_or(a.is_special)                     AS is_special,
       min(a.layer)                              AS first_layer,
       max(a.layer)                              AS last_layer,
       count(*)                                  AS n_layers_massive,
       max(a.times_median)                       AS times_median,
       arg_max(a.layer, a.times_median)          AS largest_layer,
       arg_max(a.top_feature, a.times_median)    AS top_feature,
       arg_max(a.top_share, a.times_median)      AS top_share
  FROM massive_activation AS a
 GROUP BY a.run_id, a.model_id, a.prompt_id, a.position;
COMMENT ON VIEW outlier_token IS 'One row per run, prompt and token that is massive after at least one block; see massive_activation. It says after which blocks that begins and ends, and how far the token stands out. One such token, mostly the first, can decide the sign of gain_whole_matrix; gain_without_first leaves the first out. Its text is not recorded: the model''s tokenizer gives it from prompt.text, and run.tokens_sha256 tells whether the tokens are those that were measured.';
COMMENT ON COLUMN outlier_token.first_layer IS 'First block after which the token is massive [1]';
COMMENT ON COLUMN outlier_token.last_layer IS 'Last block after which the token is massive; the blocks between need not all be [1]';
COMMENT ON COLUMN outlier_token.n_layers_massive IS 'Blocks after which the token is massive [count]';
COMMENT ON COLUMN outlier_token.times_median IS 'Largest norm over the median norm of the prompt''s tokens at the same layer [ratio]';
COMMENT ON COLUMN outlier_token.largest_layer IS 'Block after which that is reached [1]';
COMMENT ON COLUMN outlier_token.top_feature IS 'Feature of the largest magnitude there [1]';
COMMENT ON COLUMN outlier_token.top_share IS 'Share of the squared norm that this feature carries there [1]';
