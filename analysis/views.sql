-- Derived quantities: the paper's equations and every variant of them, as views and macros.
--
-- Executed after collect/schema.sql. Equations are macros named as in the paper; a comment says
-- where each stands. Norms are lengths of one token's vector in the residual stream: e is the
-- input of block 0, x_l the output of block l, N the final norm, L = n_layers.

-- Runs: which of several measurements of one model a summary uses, and how they conformed.

CREATE VIEW primary_run AS
SELECT run_id,
       model_id,
       kind,
       prompt_set
  FROM (SELECT run_id,
               model_id,
               kind,
               prompt_set,
               row_number() OVER (
                   PARTITION BY model_id, kind, prompt_set
                       ORDER BY CASE dtype_compute WHEN 'float64' THEN 0
                                                   WHEN 'float32' THEN 1
                                                   WHEN 'bfloat16' THEN 2
                                                   ELSE 3
                                END,
                                run_id
               ) AS place
          FROM run
         WHERE is_conforming
           AND (kind = 'weights' OR (rendering = 'plain' AND special_tokens = 'default'))) AS ranked
 WHERE place = 1;
COMMENT ON VIEW primary_run IS 'One row per model, kind and prompt set: the one run that summaries over models use. It conforms, its prompts are plain and tokenised as the tokenizer does, and of several number formats it is the widest. Join it on run_id so that a model measured in two ways is not averaged over them.';

CREATE VIEW weights_of_run AS
SELECT run_id,
       model_id,
       weights_run_id,
       is_conforming
  FROM (SELECT asked.run_id,
               asked.model_id,
               weights.run_id                               AS weights_run_id,
               asked.is_conforming AND weights.is_conforming AS is_conforming,
               row_number() OVER (
                   PARTITION BY asked.run_id
                       ORDER BY weights.is_conforming DESC, weights.run_id
               ) AS place
          FROM run AS asked
          JOIN run AS weights
            ON weights.model_id = asked.model_id
           AND weights.weights_sha256 = asked.weights_sha256
           AND weights.config_sha256 = asked.config_sha256
         WHERE asked.kind = 'prompts'
           AND weights.kind = 'weights') AS ranked
 WHERE place = 1;
COMMENT ON VIEW weights_of_run IS 'One row per run over prompts whose weights were measured too: the run that measured the very same weights, by their hash.';
COMMENT ON COLUMN weights_of_run.weights_run_id IS 'run_id in weight_norm and matrix_norm [-]';
COMMENT ON COLUMN weights_of_run.is_conforming IS 'True when both runs conform [-]';

CREATE VIEW conformance_summary AS
SELECT property,
       tolerance,
       n_runs,
       n_models,
       n_met,
       n_failed,
       n_unchecked,
       worst_deviation,
       worst.model_id  AS worst_model_id,
       worst.layer     AS worst_layer
  FROM (SELECT property,
               tolerance,
               count(*)                                                          AS n_runs,
               count(DISTINCT model_id)                                          AS n_models,
               count(*) FILTER (WHERE is_met)                                    AS n_met,
               count(*) FILTER (WHERE NOT is_met)                                AS n_failed,
               count(*) FILTER (WHERE is_met IS NULL)                            AS n_unchecked,
               max(deviation)                                                    AS worst_deviation,
               first({'model_id': model_id, 'layer': layer}
                     ORDER BY deviation DESC, model_id, layer)
                   FILTER (WHERE deviation <> 0)                                 AS worst
          FROM conformance
         GROUP BY property, tolerance) AS checked;
COMMENT ON VIEW conformance_summary IS 'One row per property and tolerance, which belongs to a number format: how many runs met it, and the worst deviation.';
COMMENT ON COLUMN conformance_summary.n_unchecked IS 'Runs in which it could not be checked; conformance says why [1]';
COMMENT ON COLUMN conformance_summary.worst_deviation IS 'Largest deviation of any run [see conformance]';
COMMENT ON COLUMN conformance_summary.worst_model_id IS 'Model of that run; NULL when no run deviates [-]';
COMMENT ON COLUMN conformance_summary.worst_layer IS 'Block where it was found; NULL when it belongs to no block [1]';

CREATE VIEW token AS
SELECT n.run_id,
       n.model_id,
       n.prompt_id,
       n.position,
       n.is_special,
       n.position = t.n_tokens - 1            AS is_last,
       n.position > 0 AND NOT n.is_special    AS is_body
  FROM residual_norm AS n
  JOIN next_token AS t USING (run_id, prompt_id)
 WHERE n.site = 'block_output'
   AND n.layer = 0;
COMMENT ON VIEW token IS 'One row per model, prompt and token: which tokens a mean takes.';
COMMENT ON COLUMN token.is_last IS 'The last token, the position the paper uses [-]';
COMMENT ON COLUMN token.is_body IS 'Neither at position 0, where many models keep a sink, nor added by the tokenizer [-]';

-- Gains: the paper's equation (2) and every published variant of it.

CREATE MACRO gain_bound(n_layers) AS pow(10.0, 1.0 / n_layers);
COMMENT ON MACRO gain_bound IS 'G_max = 10^(1/L), eq. (3) of the paper: the claimed largest gain per block [ratio]';

CREATE MACRO head_density(n_heads, d_head) AS n_heads / CAST(d_head AS DOUBLE);
COMMENT ON MACRO head_density IS 'rho = H / d_head, section 5.4 of the paper [1]';

CREATE MACRO head_density_published(n_heads, d_model) AS n_heads / CAST(d_model // n_heads AS DOUBLE);
COMMENT ON MACRO head_density_published IS 'rho = H / (d_model // H), as the notebooks compute it; differs from head_density where d_head is not d_model / H [1]';

CREATE MACRO gain_sign(log_gain, band) AS
    CASE WHEN log_gain < -band THEN 'dampen'
         WHEN log_gain > band THEN 'expand'
         ELSE 'neutral'
     END;
COMMENT ON MACRO gain_sign IS 'dampen, neutral or expand: the sign of a log gain outside a neutral band around 0; band 0 is the paper''s strict rule [-]';

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
 WHERE site = 'block_output'
    OR (site = 'block_input' AND layer = 0);
COMMENT ON VIEW stream IS 'One row per model, prompt, token and depth: the residual stream before the final norm. Layer -1 is the input of block 0.';
COMMENT ON COLUMN stream.layer IS 'Block whose output this is; -1 for the input of block 0 [1]';

CREATE VIEW block_gain AS
SELECT after.run_id,
       after.model_id,
       after.prompt_id,
       after.layer,
       after.position,
       after.is_special,
       after.norm / before.norm                     AS gain,
       ln(after.norm) - ln(before.norm)             AS log_gain,
       ln(nullif(after.norm_centred, 0)) - ln(nullif(before.norm_centred, 0)) AS log_gain_centred
  FROM stream AS after
  JOIN stream AS before
    ON before.run_id = after.run_id
   AND before.prompt_id = after.prompt_id
   AND before.position = after.position
   AND before.layer = after.layer - 1
 WHERE before.norm > 0
   AND after.norm > 0;
COMMENT ON VIEW block_gain IS 'One row per model, prompt, layer and token: eq. (2) of the paper, the norm after a block over the norm before it. Log gains add up over depth.';
COMMENT ON COLUMN block_gain.gain IS '|x_l| / |x_{l-1}| [ratio]';
COMMENT ON COLUMN block_gain.log_gain IS 'ln |x_l| - ln |x_{l-1}|; the sum over layers is ln |x_{L-1}| - ln |e| exactly [nat]';
COMMENT ON COLUMN block_gain.log_gain_centred IS 'The same with the mean over features removed; NULL where nothing is left [nat]';

CREATE VIEW last_token_gain AS
SELECT g.run_id,
       g.model_id,
       g.prompt_id,
       g.layer,
       g.gain,
       g.log_gain,
       g.log_gain_centred
  FROM block_gain AS g
  JOIN next_token AS t
    ON t.run_id = g.run_id
   AND t.prompt_id = g.prompt_id
   AND t.n_tokens - 1 = g.position;
COMMENT ON VIEW last_token_gain IS 'One row per model, prompt and layer: block_gain at the last token, the position the paper uses.';

CREATE VIEW final_norm_gain AS
SELECT final.run_id,
       final.model_id,
       final.prompt_id,
       final.norm / before.norm AS gain
  FROM residual_norm AS final
  JOIN next_token AS t
    ON t.run_id = final.run_id
   AND t.prompt_id = final.prompt_id
   AND t.n_tokens - 1 = final.position
  JOIN stream AS before
    ON before.run_id = final.run_id
   AND before.prompt_id = final.prompt_id
   AND before.position = final.position
   AND before.layer = final.layer - 1
 WHERE final.site = 'final_norm'
   AND before.norm > 0;
COMMENT ON VIEW final_norm_gain IS 'One row per model and prompt: |N(x_{L-1})| / |x_{L-2}| at the last token, which is what hidden_states[-1] / hidden_states[-2] gives.';

CREATE VIEW stream_length AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       arg_max(norm, position)                                     AS last_token,
       sqrt(sum(norm * norm))                                      AS whole_matrix,
       avg(norm)                                                   AS token_mean,
       median(norm) FILTER (WHERE position > 0 AND NOT is_special) AS body_median,
       max(norm)                                                   AS largest,
       median(norm)                                                AS token_median
  FROM stream
 GROUP BY run_id, model_id, prompt_id, layer;
COMMENT ON VIEW stream_length IS 'One row per model, prompt and depth: the length of the stream under each way to reduce the tokens to one number. Layer -1 is the input of block 0.';
COMMENT ON COLUMN stream_length.last_token IS 'Norm at the last token [activation units]';
COMMENT ON COLUMN stream_length.whole_matrix IS 'Frobenius norm over all tokens, position 0 included (caveat B4) [activation units]';
COMMENT ON COLUMN stream_length.token_mean IS 'Mean of the tokens'' norms [activation units]';
COMMENT ON COLUMN stream_length.body_median IS 'Median of the tokens'' norms without position 0 and special tokens; NULL where none is left [activation units]';
COMMENT ON COLUMN stream_length.largest IS 'Largest of the tokens'' norms; over token_median it shows a massive activation [activation units]';
COMMENT ON COLUMN stream_length.token_median IS 'Median of all tokens'' norms [activation units]';

CREATE VIEW length_gain AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       reduction,
       length / nullif(before, 0) AS gain
  FROM (SELECT run_id,
               model_id,
               prompt_id,
               layer,
               reduction,
               length,
               lag(length) OVER (PARTITION BY run_id, prompt_id, reduction ORDER BY layer) AS before
          FROM (UNPIVOT (SELECT run_id, model_id, prompt_id, layer, last_token, whole_matrix, token_mean, body_median
                           FROM stream_length)
                     ON last_token, whole_matrix, token_mean, body_median
                   INTO NAME reduction VALUE length) AS lengths) AS pairs
 WHERE layer >= 0;
COMMENT ON VIEW length_gain IS 'One row per model, prompt, block and reduction of the tokens: gain of the length that stream_length gives.';
COMMENT ON COLUMN length_gain.reduction IS 'last_token, whole_matrix, token_mean or body_median; see stream_length [-]';
COMMENT ON COLUMN length_gain.gain IS 'Length after the block over length before it [ratio]';

CREATE VIEW matrix_gain AS
SELECT run_id, model_id, prompt_id, layer, gain
  FROM length_gain
 WHERE reduction = 'whole_matrix';
COMMENT ON VIEW matrix_gain IS 'One row per model, prompt and block: ratio of Frobenius norms over all tokens. Dominated by the first token where it is large (caveat B4).';
COMMENT ON COLUMN matrix_gain.gain IS '|X_l|_F / |X_{l-1}|_F [ratio]';

CREATE MACRO matrix_gain_from(first) AS TABLE
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       length / lag(length) OVER (PARTITION BY run_id, prompt_id ORDER BY layer) AS gain
  FROM (SELECT run_id, model_id, prompt_id, layer, sqrt(sum(norm * norm)) AS length
          FROM stream
         WHERE position >= first
         GROUP BY run_id, model_id, prompt_id, layer) AS matrices;
COMMENT ON MACRO TABLE matrix_gain_from IS 'FROM matrix_gain_from(k): matrix_gain with the first k tokens left out; NULL at layer -1 [ratio]';

CREATE VIEW embedding_gain AS
SELECT looked_up.run_id,
       looked_up.model_id,
       looked_up.prompt_id,
       after.whole_matrix / nullif(looked_up.length, 0) AS gain
  FROM (SELECT run_id, model_id, prompt_id, sqrt(sum(norm * norm)) AS length
          FROM residual_norm
         WHERE site = 'embedding'
         GROUP BY run_id, model_id, prompt_id) AS looked_up
  JOIN stream_length AS after USING (run_id, prompt_id)
 WHERE after.layer = 0;
COMMENT ON VIEW embedding_gain IS 'One row per model and prompt: |X_0|_F over the Frobenius norm of what the embedding module returns, before positions and norms are added (caveat B12). Not a gain where the two differ in width.';

CREATE VIEW prompt_gain AS
WITH profile AS (
    SELECT g.run_id,
           g.model_id,
           g.prompt_id,
           m.n_layers,
           max(g.gain)     FILTER (WHERE g.layer = m.n_layers - 1) AS gain_last_block,
           max(g.gain)     FILTER (WHERE g.layer = m.n_layers - 2) AS gain_penultimate_block,
           max(g.gain)     FILTER (WHERE g.layer = 0)              AS gain_embedding,
           exp(avg(g.log_gain))                                    AS gain_geometric_mean,
           exp(avg(g.log_gain) FILTER (WHERE g.layer > 0))         AS gain_body,
           max(g.gain)     FILTER (WHERE g.layer > 0)              AS gain_maximum,
           exp(sum(g.log_gain) FILTER (WHERE g.layer > 0))         AS total_amplification
      FROM last_token_gain AS g
      JOIN model AS m USING (model_id)
     GROUP BY g.run_id, g.model_id, g.prompt_id, m.n_layers
), long AS (
    UNPIVOT (SELECT * EXCLUDE (n_layers) FROM profile)
         ON gain_last_block, gain_penultimate_block, gain_embedding, gain_geometric_mean,
            gain_body, gain_maximum, total_amplification
       INTO NAME metric VALUE gain
)
SELECT run_id, model_id, prompt_id, metric, gain, ln(gain) AS log_gain
  FROM long
 UNION ALL
SELECT run_id, model_id, prompt_id, 'gain_with_final_norm', gain, ln(gain)
  FROM final_norm_gain
 UNION ALL
SELECT run_id, model_id, prompt_id, 'gain_embedding_whole_matrix', gain, ln(gain)
  FROM embedding_gain
 UNION ALL
SELECT g.run_id, g.model_id, g.prompt_id, 'gain_whole_matrix', g.gain, ln(g.gain)
  FROM matrix_gain AS g
  JOIN model AS m USING (model_id)
 WHERE g.layer = m.n_layers - 1;
COMMENT ON VIEW prompt_gain IS 'One row per model, prompt and definition of gain: every variant side by side; see metric for the formulas.';
COMMENT ON COLUMN prompt_gain.metric IS 'Definition of gain; see metric [-]';
COMMENT ON COLUMN prompt_gain.gain IS 'The gain [ratio]';
COMMENT ON COLUMN prompt_gain.log_gain IS 'Its natural logarithm [nat]';

CREATE VIEW model_gain AS
SELECT g.run_id,
       g.model_id,
       p.prompt_set,
       g.metric,
       avg(g.gain)             AS gain_mean,
       stddev_samp(g.gain)     AS gain_sd,
       stddev_pop(g.gain)      AS gain_sd_population,
       avg(g.log_gain)         AS log_gain_mean,
       stddev_samp(g.log_gain) AS log_gain_sd,
       count(*)                AS n_prompts
  FROM prompt_gain AS g
  JOIN prompt AS p USING (prompt_id)
 GROUP BY g.run_id, g.model_id, p.prompt_set, g.metric;
COMMENT ON VIEW model_gain IS 'One row per run (a model on a prompt set, in one rendering and number format) and definition of gain: mean and standard deviation over prompts.';
COMMENT ON COLUMN model_gain.gain_mean IS 'Mean of the ratios over prompts, as published [ratio]';
COMMENT ON COLUMN model_gain.gain_sd IS 'Standard deviation over prompts, divisor n - 1 [ratio]';
COMMENT ON COLUMN model_gain.gain_sd_population IS 'The same with divisor n, as notebooks 4 to 7 compute it [ratio]';
COMMENT ON COLUMN model_gain.log_gain_mean IS 'Mean of the log ratios; exp of it is the geometric mean [nat]';

-- Updates: what the parts of a block add to the stream, and which tokens are massive.

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
          JOIN token AS t USING (run_id, prompt_id, position)
         GROUP BY u.run_id, u.model_id, u.prompt_id, u.layer, u.part) AS prompts
 GROUP BY run_id, model_id, layer, part;
COMMENT ON VIEW update_profile IS 'One row per run, layer and part of the block: how large the update is against the stream it is added to, and which way it points. Mean over prompts of each prompt''s mean.';
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
 GROUP BY run_id, model_id, prompt_id, layer, part;
COMMENT ON VIEW expansion IS 'One row per model, prompt, layer and sub-layer: mean length of what it adds over mean length of what it reads after its norm, over all tokens, as notebooks 11 and 12 (metrics gain_sublayer_attention and gain_sublayer_ffn). It is no gain of the stream.';
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
  JOIN stream_length AS l USING (run_id, prompt_id, layer)
 WHERE n.site = 'block_output'
   AND n.norm > 10 * l.token_median;
COMMENT ON VIEW massive_activation IS 'One row per model, prompt, layer and token whose stream is more than ten times as long as the median token of its prompt there. A prompt of two tokens has none: the median lies half way between them.';
COMMENT ON COLUMN massive_activation.times_median IS 'Norm over the median norm of the prompt''s tokens at the layer [ratio]';

-- Attention: where a layer looks, from the sufficient statistics of its maps.

CREATE VIEW attention_layer AS
SELECT h.run_id,
       h.model_id,
       h.prompt_id,
       h.layer,
       h.n_tokens,
       h.entropy / h.n_tokens                                   AS row_entropy,
       h.entropy / h.n_tokens / nullif(ln(h.n_tokens), 0)       AS relative_entropy,
       h.first_head_entropy / h.n_tokens                        AS first_head_entropy,
       a.entropy / a.n_tokens                                   AS mean_map_entropy,
       (a.entropy + a.mass * ln(a.n_tokens)) / a.n_tokens       AS flat_map_entropy,
       h.first_column / h.mass                                  AS sink_share,
       (h.mass - h.diagonal) / nullif(h.n_tokens - 1, 0)        AS off_diagonal,
       (h.first_column - 1) / nullif(h.mass - h.diagonal, 0)    AS sink_share_off_diagonal,
       h.distance / h.mass                                      AS distance,
       1 - a.distance / a.mass / nullif(a.n_tokens - 1, 0)      AS locality,
       a.n_small / (CAST(a.n_tokens AS DOUBLE) * a.n_tokens)    AS sparsity
  FROM (SELECT run_id,
               model_id,
               prompt_id,
               layer,
               any_value(n_tokens)                    AS n_tokens,
               avg(mass)                              AS mass,
               avg(diagonal)                          AS diagonal,
               avg(first_column)                      AS first_column,
               avg(entropy)                           AS entropy,
               max(entropy) FILTER (WHERE head = 0)   AS first_head_entropy,
               avg(distance)                          AS distance
          FROM attention
         GROUP BY run_id, model_id, prompt_id, layer) AS h
  LEFT JOIN attention_mean AS a USING (run_id, prompt_id, layer);
COMMENT ON VIEW attention_layer IS 'One row per model, prompt and layer: the shape of attention, heads taken together, with each definition of attention entropy.';
COMMENT ON COLUMN attention_layer.row_entropy IS 'Mean entropy of a row, over rows and heads [nat]';
COMMENT ON COLUMN attention_layer.relative_entropy IS 'The same over ln n; a causal map that spreads evenly stays below 1, for row i can reach ln(i + 1) only; NULL for one token [1]';
COMMENT ON COLUMN attention_layer.first_head_entropy IS 'Mean entropy of a row of head 0, as notebook 15 [nat]';
COMMENT ON COLUMN attention_layer.mean_map_entropy IS 'Mean entropy of a row of the map averaged over heads, as notebook 14 [nat]';
COMMENT ON COLUMN attention_layer.flat_map_entropy IS 'Entropy of the averaged map taken as one distribution over n^2 pairs, as notebook 18 [nat]';
COMMENT ON COLUMN attention_layer.sink_share IS 'Share of the mass on the first token, the first token''s own included; at least 1/n where rows sum to one [1]';
COMMENT ON COLUMN attention_layer.off_diagonal IS 'Mass off the diagonal over n - 1, the most there can be: 0 when tokens attend to themselves only, 1 when never; NULL for one token [1]';
COMMENT ON COLUMN attention_layer.sink_share_off_diagonal IS 'Share of the mass off the diagonal that goes to the first token; exact where rows sum to one [1]';
COMMENT ON COLUMN attention_layer.distance IS 'Mean distance looked back [tokens]';
COMMENT ON COLUMN attention_layer.locality IS '1 less the mean distance of the averaged map over n - 1, as notebook 18; NULL for one token [1]';
COMMENT ON COLUMN attention_layer.sparsity IS 'Share of the averaged map below 0.01, masked entries counted, as notebook 14: at least (n - 1) / 2n [1]';

CREATE VIEW attention_profile AS
SELECT run_id,
       model_id,
       layer,
       avg(relative_entropy)            AS relative_entropy,
       avg(sink_share)                  AS sink_share,
       avg(off_diagonal)                AS off_diagonal,
       avg(sink_share_off_diagonal)     AS sink_share_off_diagonal,
       avg(distance)                    AS distance,
       avg(locality)                    AS locality,
       count(*)                         AS n_prompts
  FROM attention_layer
 GROUP BY run_id, model_id, layer;
COMMENT ON VIEW attention_profile IS 'One row per run and layer: attention_layer averaged over prompts.';
COMMENT ON COLUMN attention_profile.relative_entropy IS 'Mean entropy of a row over ln n [1]';
COMMENT ON COLUMN attention_profile.sink_share IS 'Share of the mass on the first token [1]';
COMMENT ON COLUMN attention_profile.off_diagonal IS 'Mass off the diagonal over the most there can be [1]';
COMMENT ON COLUMN attention_profile.sink_share_off_diagonal IS 'Share of the mass off the diagonal that goes to the first token [1]';
COMMENT ON COLUMN attention_profile.distance IS 'Mean distance looked back [tokens]';
COMMENT ON COLUMN attention_profile.locality IS 'Locality of the map averaged over heads [1]';

-- Weights: norms of the heads' own matrices, each distinct matrix once.

CREATE VIEW head_norm AS
SELECT run_id,
       model_id,
       layer,
       matrix,
       is_folded,
       slicing,
       kv_head,
       min(head)                                          AS head,
       count(*)                                           AS n_sharing,
       max(sigma_max)                                     AS sigma_max,
       max(frobenius)                                     AS frobenius,
       pow(max(frobenius) / nullif(max(sigma_max), 0), 2) AS stable_rank
  FROM weight_norm
 GROUP BY run_id, model_id, layer, matrix, is_folded, slicing, kv_head,
          CASE WHEN matrix IN ('K', 'V') AND slicing = 'correct' THEN NULL ELSE head END;
COMMENT ON VIEW head_norm IS 'One row per model, layer, matrix, variant and distinct matrix: weight_norm with a key or value matrix that several query heads share counted once.';
COMMENT ON COLUMN head_norm.head IS 'First query head that uses the matrix [1]';
COMMENT ON COLUMN head_norm.n_sharing IS 'Query heads that use it [1]';
COMMENT ON COLUMN head_norm.stable_rank IS '(frobenius / sigma_max)^2, between 1 and the rank [1]';

CREATE VIEW layer_head AS
SELECT run_id,
       model_id,
       layer,
       matrix,
       is_folded,
       slicing,
       median(sigma_max)    AS sigma_max,
       max(sigma_max)       AS sigma_max_largest,
       median(frobenius)    AS frobenius,
       median(stable_rank)  AS stable_rank,
       count(*)             AS n_matrices
  FROM head_norm
 GROUP BY run_id, model_id, layer, matrix, is_folded, slicing;
COMMENT ON VIEW layer_head IS 'One row per model, layer, matrix and variant: the median over the layer''s distinct head matrices. The primary object is matrix = ''OV'', is_folded, slicing = ''correct''.';
COMMENT ON COLUMN layer_head.sigma_max IS 'Median largest singular value [weight units]';
COMMENT ON COLUMN layer_head.sigma_max_largest IS 'That of the head where it is largest [weight units]';
COMMENT ON COLUMN layer_head.frobenius IS 'Median Frobenius norm [weight units]';
COMMENT ON COLUMN layer_head.stable_rank IS 'Median stable rank [1]';
COMMENT ON COLUMN layer_head.n_matrices IS 'Distinct matrices [1]';

-- The trace of the sheaf Laplacian: the primary definition and every published one.

CREATE VIEW layer_trace AS
WITH value_norm AS (
    SELECT run_id,
           layer,
           head,
           max(frobenius) FILTER (WHERE NOT is_folded AND slicing = 'correct')    AS correct,
           max(frobenius) FILTER (WHERE is_folded AND slicing = 'correct')        AS folded,
           coalesce(
               max(frobenius) FILTER (WHERE NOT is_folded AND slicing = 'contiguous'),
               max(frobenius) FILTER (WHERE NOT is_folded AND slicing = 'correct')
           )                                                                      AS contiguous
      FROM weight_norm
     WHERE matrix = 'V'
     GROUP BY run_id, layer, head
), whole_norm AS (
    SELECT run_id,
           layer,
           max(sigma_max) FILTER (WHERE slicing = 'correct')                      AS sigma_max,
           coalesce(
               max(sigma_max) FILTER (WHERE slicing = 'contiguous'),
               max(sigma_max) FILTER (WHERE slicing = 'correct')
           )                                                                      AS sigma_max_contiguous,
           coalesce(
               max(frobenius) FILTER (WHERE slicing = 'contiguous'),
               max(frobenius) FILTER (WHERE slicing = 'correct')
           )                                                                      AS frobenius_contiguous
      FROM matrix_norm
     WHERE matrix = 'V'
     GROUP BY run_id, layer
), heads AS (
    SELECT a.run_id,
           a.model_id,
           a.prompt_id,
           a.layer,
           r.is_conforming,
           r.weights_run_id,
           any_value(a.n_tokens)                                                  AS n_tokens,
           count(*)                                                               AS n_heads,
           sum((a.mass - a.diagonal) * pow(v.correct, 2))                         AS trace_multi_head,
           sum((a.mass - a.n_tokens) * pow(v.correct, 2))                         AS trace_equation_4,
           sum((a.mass - a.diagonal) * pow(v.contiguous, 2))                      AS trace_multi_head_contiguous,
           CASE WHEN count(v.folded) = count(*)
                THEN sum((a.mass - a.diagonal) * pow(v.folded, 2))
           END                                                                    AS trace_folded,
           sum(a.mass - a.diagonal)                                               AS attention_factor,
           sum(pow(v.correct, 2))                                                 AS weight_factor,
           CASE WHEN count(v.folded) = count(*) THEN sum(pow(v.folded, 2)) END    AS weight_factor_folded,
           max(v.correct) FILTER (WHERE a.head = 0)                               AS first_head,
           max(v.contiguous) FILTER (WHERE a.head = 0)                            AS first_head_contiguous
      FROM attention AS a
      JOIN weights_of_run AS r USING (run_id)
      JOIN value_norm AS v
        ON v.run_id = r.weights_run_id
       AND v.layer = a.layer
       AND v.head = a.head
     GROUP BY a.run_id, a.model_id, a.prompt_id, a.layer, r.is_conforming, r.weights_run_id
)
SELECT h.run_id,
       h.model_id,
       h.prompt_id,
       h.layer,
       h.is_conforming,
       h.n_tokens,
       h.n_heads,
       h.trace_folded,
       h.trace_folded / nullif((h.n_tokens - 1) * h.n_heads, 0)                   AS trace_normalised,
       h.trace_multi_head,
       h.trace_equation_4,
       h.trace_multi_head_contiguous,
       (m.mass - m.diagonal) * pow(h.first_head, 2)                               AS trace_first_head,
       (m.mass - m.diagonal) * pow(h.first_head_contiguous, 2)                    AS trace_first_head_contiguous,
       (m.mass - m.diagonal) * pow(w.frobenius_contiguous, 2)                     AS trace_mean_map_contiguous,
       abs(m.mass - m.n_tokens) * pow(w.frobenius_contiguous, 2)                  AS trace_equation_4_mean_map,
       pow(w.sigma_max, 2)                                                        AS trace_spectral_proxy,
       pow(w.sigma_max_contiguous, 2)                                             AS trace_spectral_proxy_contiguous,
       h.attention_factor,
       h.weight_factor,
       h.weight_factor_folded
  FROM heads AS h
  LEFT JOIN attention_mean AS m USING (run_id, prompt_id, layer)
  LEFT JOIN whole_norm AS w
    ON w.run_id = h.weights_run_id
   AND w.layer = h.layer;
COMMENT ON VIEW layer_trace IS 'One row per model, prompt and layer: trace of the sheaf Laplacian, by the primary definition and by each one that was published. Columns that end in _contiguous read the last third of a fused matrix as V where the model has such rows (caveat B2), as the notebooks do, and V itself elsewhere.';
COMMENT ON COLUMN layer_trace.is_conforming IS 'True when both the run and the run that measured its weights conform [-]';
COMMENT ON COLUMN layer_trace.n_tokens IS 'Rows of the map, n [tokens]';
COMMENT ON COLUMN layer_trace.n_heads IS 'Query heads, H [1]';
COMMENT ON COLUMN layer_trace.trace_folded IS 'The primary definition: sum over heads of (sum A - trace A) |W_V diag(gain)|_F^2, with the gain of the norm in front of attention multiplied in; NULL where the model has none of its own, see not_measured [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_normalised IS 'trace_folded over (n - 1) H, the most that the attention factor can be; NULL for one token [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_multi_head IS 'Sum over heads of (sum A - trace A) |W_V|_F^2, which is what the code is meant to compute [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_equation_4 IS 'Sum over heads of (sum A - n) |W_V|_F^2, eq. (4) as printed: rows of a softmax sum to one, so this is rounding (caveat B5) [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_multi_head_contiguous IS 'trace_multi_head with the contiguous slices as heads, as script 20 computed it [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_first_head IS '(sum A - trace A) of the map averaged over heads times |W_V|_F^2 of head 0 [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_first_head_contiguous IS 'The same with the contiguous slice, as script 20 computed it (traces_full) [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_mean_map_contiguous IS '(sum A - trace A) of the averaged map times |W_V|_F^2 of the whole matrix, as notebook 18 [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_equation_4_mean_map IS '|sum A - n| of the averaged map times |W_V|_F^2 of the whole contiguous matrix, as notebook 17: rounding (caveat B5) [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_spectral_proxy IS 'Squared spectral norm of the whole W_V, the proxy of Fig. 8; no attention in it [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_spectral_proxy_contiguous IS 'The same of the contiguous slice [weight units squared]';
COMMENT ON COLUMN layer_trace.attention_factor IS 'Sum over heads of sum A - trace A, at most (n - 1) H [1]';
COMMENT ON COLUMN layer_trace.weight_factor IS 'Sum over heads of |W_V|_F^2 [weight units squared]';
COMMENT ON COLUMN layer_trace.weight_factor_folded IS 'Sum over heads of |W_V diag(gain)|_F^2 [weight units squared]';

CREATE VIEW trace_profile AS
SELECT run_id,
       model_id,
       layer,
       metric,
       avg(trace)  AS trace,
       count(*)    AS n_prompts
  FROM (UNPIVOT (SELECT run_id,
                        model_id,
                        prompt_id,
                        layer,
                        trace_folded,
                        trace_normalised,
                        trace_multi_head,
                        trace_equation_4,
                        trace_multi_head_contiguous,
                        trace_first_head,
                        trace_first_head_contiguous,
                        trace_mean_map_contiguous,
                        trace_equation_4_mean_map,
                        trace_spectral_proxy,
                        trace_spectral_proxy_contiguous
                   FROM layer_trace)
              ON COLUMNS('^trace_')
            INTO NAME metric VALUE trace) AS traces
 GROUP BY run_id, model_id, layer, metric;
COMMENT ON VIEW trace_profile IS 'One row per run, layer and definition of the trace: the mean over prompts, which every estimator of L* starts from.';
COMMENT ON COLUMN trace_profile.metric IS 'Definition: a column of layer_trace [-]';
COMMENT ON COLUMN trace_profile.trace IS 'Mean over prompts [weight units squared]';

-- Geometry: how the vectors of tokens, and of prompts, lie to each other over depth.

CREATE VIEW geometry_profile AS
SELECT t.run_id,
       t.model_id,
       t.layer,
       t.site,
       t.mean_cosine,
       t.mean_cosine_body,
       t.uniformity,
       t.effective_rank,
       t.relative_rank,
       t.embedding_correlation,
       t.n_prompts,
       p.mean_cosine     AS prompt_cosine,
       p.uniformity      AS prompt_uniformity,
       p.effective_rank  AS prompt_rank
  FROM (SELECT run_id,
               model_id,
               layer,
               site,
               avg(mean_cosine)                                             AS mean_cosine,
               avg(mean_cosine_body)                                        AS mean_cosine_body,
               avg(uniformity)                                              AS uniformity,
               avg(effective_rank)                                          AS effective_rank,
               avg(effective_rank / least(n_tokens, m.d_model))             AS relative_rank,
               avg(embedding_correlation)                                   AS embedding_correlation,
               count(*)                                                     AS n_prompts
          FROM token_geometry
          JOIN model AS m USING (model_id)
         GROUP BY run_id, model_id, layer, site) AS t
  LEFT JOIN prompt_geometry AS p USING (run_id, layer, site);
COMMENT ON VIEW geometry_profile IS 'One row per run, layer and site: geometry of the tokens of a prompt, mean over prompts, and geometry of the prompts'' last tokens among each other.';
COMMENT ON COLUMN geometry_profile.mean_cosine IS 'Anisotropy within a prompt: mean cosine over pairs of tokens [1]';
COMMENT ON COLUMN geometry_profile.mean_cosine_body IS 'The same without position 0 [1]';
COMMENT ON COLUMN geometry_profile.uniformity IS 'ln of the mean over pairs of exp(-2 |u_i - u_j|^2); 0 when all point one way [nat]';
COMMENT ON COLUMN geometry_profile.effective_rank IS 'exp of the entropy of the normalised singular values of the token matrix [1]';
COMMENT ON COLUMN geometry_profile.relative_rank IS 'effective_rank over the smaller of tokens and width, the most it can be [1]';
COMMENT ON COLUMN geometry_profile.embedding_correlation IS 'Correlation over features with the input of block 0, mean over tokens [1]';
COMMENT ON COLUMN geometry_profile.prompt_cosine IS 'Anisotropy across prompts: mean cosine over pairs of last tokens [1]';
COMMENT ON COLUMN geometry_profile.prompt_uniformity IS 'Uniformity across prompts [nat]';
COMMENT ON COLUMN geometry_profile.prompt_rank IS 'Effective rank of the matrix of last tokens, one row per prompt [1]';

-- Evidence: measured and published gains side by side, with the design of each model.

CREATE VIEW gain_definition AS
SELECT metric, symbol, definition
  FROM metric
 WHERE metric IN ('gain_block', 'gain_last_block', 'gain_penultimate_block', 'gain_with_final_norm',
                  'gain_whole_matrix', 'gain_embedding', 'gain_geometric_mean', 'gain_body',
                  'gain_maximum');
COMMENT ON VIEW gain_definition IS 'One row per definition of gain: what the metric of prompt_gain, model_gain and gain_by_model means.';

CREATE VIEW published_gain AS
SELECT f.model_id,
       f.prompt_set,
       f.metric,
       f.dtype,
       f.file,
       f.mean AS gain_mean,
       f.sd   AS gain_sd,
       f.n    AS n_prompts,
       f.caveats
  FROM published_figure AS f
 WHERE f.metric IN (SELECT metric FROM gain_definition)
 UNION ALL
SELECT p.model_id,
       p.prompt_set,
       'gain_maximum',
       p.dtype,
       p.file,
       max(p.value),
       NULL,
       f.n,
       p.caveats
  FROM published_profile AS p
  JOIN published_figure AS f
    ON f.model_id = p.model_id
   AND f.file = p.file
   AND f.metric = 'gain_penultimate_block'
 WHERE p.metric = 'gain_block'
   AND p.layer > 0
 GROUP BY p.model_id, p.prompt_set, p.dtype, p.file, p.caveats, f.n
 UNION ALL
SELECT f.model_id,
       f.prompt_set,
       'gain_body',
       f.dtype,
       f.file,
       pow(f.mean, 1.0 / (m.n_layers - 1)),
       NULL,
       f.n,
       f.caveats
  FROM published_figure AS f
  JOIN model AS m USING (model_id)
 WHERE f.metric = 'total_amplification';
COMMENT ON VIEW published_gain IS 'One row per model, definition of gain and file: the published figures; the largest block gain of each published profile, which is a maximum of means over prompts where the measured one is a mean of maxima (last block missing there, caveat B1); and gain_body as the (L-1)-th root of the mean total amplification.';

CREATE VIEW gain_evidence AS
SELECT 'measured'                                   AS source,
       g.model_id,
       g.prompt_set,
       g.metric,
       r.dtype_compute                              AS dtype,
       g.run_id                                     AS file,
       g.gain_mean,
       g.gain_sd,
       g.n_prompts,
       r.rendering,
       r.is_conforming,
       ''                                           AS caveats
  FROM model_gain AS g
  JOIN run AS r USING (run_id)
 UNION ALL
SELECT 'published',
       model_id,
       prompt_set,
       metric,
       dtype,
       file,
       gain_mean,
       gain_sd,
       n_prompts,
       'plain',
       NULL,
       caveats
  FROM published_gain;
COMMENT ON VIEW gain_evidence IS 'One row per source, model, prompt set, definition of gain and file: everything known about gains at the level of models. The file of a measured gain is its run_id; a model measured in several ways has several.';
COMMENT ON COLUMN gain_evidence.rendering IS 'plain or chat, as in run; all published prompts are plain [-]';
COMMENT ON COLUMN gain_evidence.is_conforming IS 'As in run; NULL for published figures, whose models nobody checked [-]';

CREATE VIEW gain_by_model AS
SELECT e.source,
       e.model_id,
       m.lab,
       m.suite,
       m.family,
       m.base_model_id,
       m.norm_position,
       e.prompt_set,
       e.metric,
       e.dtype,
       e.file,
       e.gain_mean,
       e.gain_sd,
       e.n_prompts,
       e.rendering,
       e.is_conforming,
       ln(e.gain_mean)                      AS log_gain,
       gain_sign(ln(e.gain_mean), 0)        AS sign_strict,
       gain_sign(ln(e.gain_mean), 0.01)     AS sign_banded,
       m.n_layers,
       m.n_heads,
       m.d_head,
       m.d_model,
       head_density(m.n_heads, m.d_head)    AS rho,
       log10(m.n_parameters)                AS log_parameters,
       gain_bound(m.n_layers)               AS bound,
       e.caveats
  FROM gain_evidence AS e
  JOIN model AS m USING (model_id);
COMMENT ON VIEW gain_by_model IS 'gain_evidence with the model''s lab, suite, geometry and scale: the frame most analyses start from.';
COMMENT ON COLUMN gain_by_model.rendering IS 'plain or chat, as in run; all published prompts are plain [-]';
COMMENT ON COLUMN gain_by_model.is_conforming IS 'As in run; NULL for published figures, whose models nobody checked [-]';
COMMENT ON COLUMN gain_by_model.sign_strict IS 'dampen when the mean gain is below 1, else expand [-]';
COMMENT ON COLUMN gain_by_model.sign_banded IS 'neutral when |ln gain| is below 0.01, the size of rounding in half precision [-]';
COMMENT ON COLUMN gain_by_model.log_parameters IS 'Decimal logarithm of the parameter count [1]';
COMMENT ON COLUMN gain_by_model.bound IS 'gain_bound(n_layers) [ratio]';

CREATE VIEW density AS
SELECT model_id,
       head_density(n_heads, d_head)              AS rho,
       head_density_published(n_heads, d_model)   AS rho_published,
       head_density(n_kv_heads, d_head)           AS rho_kv
  FROM model;
COMMENT ON VIEW density IS 'One row per model: head density in three definitions.';
COMMENT ON COLUMN density.rho IS 'H / d_head, d_head as the model has it [1]';
COMMENT ON COLUMN density.rho_published IS 'H / (d_model // H), as the notebooks compute it [1]';
COMMENT ON COLUMN density.rho_kv IS 'Key and value heads over d_head [1]';

-- Profiles: every quantity that an estimator of L* has been applied to, one number per layer.

CREATE VIEW depth_profile AS
SELECT run_id, model_id, layer, metric, trace AS value, n_prompts
  FROM trace_profile
 UNION ALL
SELECT run_id, model_id, layer, 'locality', locality, n_prompts
  FROM attention_profile
 UNION ALL
SELECT run_id, model_id, layer, 'gain_sublayer_' || part, avg(expansion), count(*)
  FROM expansion
 GROUP BY run_id, model_id, layer, part
 UNION ALL
SELECT run_id, model_id, layer, metric, avg(value), count(*)
  FROM legacy_value
 GROUP BY run_id, model_id, layer, metric;
COMMENT ON VIEW depth_profile IS 'One row per run, layer and quantity: mean over prompts of each trace, of locality, of the expansion of the sub-layers and of legacy values. A NaN spreads, so that no layer is named from a profile with a hole.';
COMMENT ON COLUMN depth_profile.metric IS 'A column of layer_trace, locality, gain_sublayer_attention, gain_sublayer_ffn, or a metric of legacy_value [-]';
COMMENT ON COLUMN depth_profile.value IS 'Mean over prompts [see metric]';
