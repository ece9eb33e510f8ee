-- Gains: the paper's equation (2) and every published variant of it.

CREATE MACRO main.gain_bound(n_layers) AS pow(10.0, 1.0 / n_layers);
COMMENT ON MACRO main.gain_bound IS 'G_max = 10^(1/L), eq. (3) of the paper: the claimed largest gain per block [ratio]';

CREATE MACRO main.head_density(n_heads, d_head) AS n_heads / CAST(d_head AS DOUBLE);
COMMENT ON MACRO main.head_density IS 'rho = H / d_head, section 5.4 of the paper [1]';

CREATE MACRO main.head_density_published(n_heads, d_model) AS n_heads / CAST(d_model // n_heads AS DOUBLE);
COMMENT ON MACRO main.head_density_published IS 'rho = H / (d_model // H), as the notebooks compute it; differs from head_density where d_head is not d_model / H [1]';

CREATE MACRO main.gain_sign(log_gain, band) AS
    CASE WHEN log_gain < -band THEN 'dampen'
         WHEN log_gain <= band THEN 'neutral'
         WHEN log_gain > band AND log_gain <= CAST('Infinity' AS DOUBLE) THEN 'expand' -- NaN sorts above it
     END;
COMMENT ON MACRO main.gain_sign IS 'dampen, neutral or expand: the sign of a log gain outside a neutral band around 0. Band 0 is the paper''s strict rule. NULL where the log gain is NULL or NaN, or the band NULL [-]';

CREATE MACRO main.rounding_band() AS 0.01;
COMMENT ON MACRO main.rounding_band IS 'Log gain that rounding in half precision can make: the neutral band of sign_banded [nat]';

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
   AND before.model_id = after.model_id
   AND before.prompt_id = after.prompt_id
   AND before.position = after.position
   AND before.layer = after.layer - 1
 WHERE before.norm > 0
   AND after.norm > 0;
COMMENT ON VIEW block_gain IS 'One row per model, prompt, layer and token: eq. (2) of the paper, the norm after a block over the norm before it. Log gains add up over depth.';
COMMENT ON COLUMN block_gain.layer IS 'Block, 0 to n_layers - 1; block 0 reads the embedding, and gain_body leaves it out [1]';
COMMENT ON COLUMN block_gain.gain IS '|x_l| / |x_{l-1}| [ratio]';
COMMENT ON COLUMN block_gain.log_gain IS 'ln |x_l| - ln |x_{l-1}|; the sum over layers is ln |x_{L-1}| - ln |e| exactly [nat]';
COMMENT ON COLUMN block_gain.log_gain_centred IS 'The same with the mean over features removed: the primary one under LayerNorm, see function_gain; NULL where nothing is left [nat]';

-- Reads the stream once, and only its last tokens meet each other; block_gain joins all of it twice.
CREATE VIEW last_token_gain AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       norm / before                                AS gain,
       ln(norm) - ln(before)                        AS log_gain,
       ln(nullif(norm_centred, 0)) - ln(nullif(before_centred, 0)) AS log_gain_centred
  FROM (SELECT s.run_id,
               s.model_id,
               s.prompt_id,
               s.layer,
               s.norm,
               s.norm_centred,
               lag(s.layer)        OVER depth AS layer_before,
               lag(s.norm)         OVER depth AS before,
               lag(s.norm_centred) OVER depth AS before_centred
          FROM stream AS s
          JOIN prompt_length AS t
            ON t.run_id = s.run_id
           AND t.model_id = s.model_id
           AND t.prompt_id = s.prompt_id
           AND t.n_tokens - 1 = s.position
        WINDOW depth AS (PARTITION BY s.run_id, s.model_id, s.prompt_id ORDER BY s.layer)) AS pairs
 WHERE layer_before = layer - 1
   AND before > 0
   AND norm > 0;
COMMENT ON VIEW last_token_gain IS 'One row per model, prompt and layer: block_gain at the last token, the position the paper uses.';
COMMENT ON COLUMN last_token_gain.layer IS 'Block, 0 to n_layers - 1; block 0 reads the embedding, and gain_body leaves it out [1]';
COMMENT ON COLUMN last_token_gain.gain IS 'As in block_gain [ratio]';
COMMENT ON COLUMN last_token_gain.log_gain IS 'As in block_gain [nat]';
COMMENT ON COLUMN last_token_gain.log_gain_centred IS 'As in block_gain [nat]';

CREATE VIEW final_norm_gain AS
SELECT final.run_id,
       final.model_id,
       final.prompt_id,
       final.norm / before.norm AS gain
  FROM residual_norm AS final
  JOIN prompt_length AS t
    ON t.run_id = final.run_id
   AND t.model_id = final.model_id
   AND t.prompt_id = final.prompt_id
   AND t.n_tokens - 1 = final.position
  JOIN stream AS before
    ON before.run_id = final.run_id
   AND before.model_id = final.model_id
   AND before.prompt_id = final.prompt_id
   AND before.position = final.position
   AND before.layer = final.layer - 1
 WHERE final.site = 'final_norm'
   AND before.norm > 0;
COMMENT ON VIEW final_norm_gain IS 'One row per model and prompt: |N(x_{L-1})| / |x_{L-2}| at the last token, which is what hidden_states[-1] / hidden_states[-2] gives.';
COMMENT ON COLUMN final_norm_gain.gain IS 'The ratio of the two norms [ratio]';

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
               lag(length) OVER (PARTITION BY run_id, model_id, prompt_id, reduction ORDER BY layer) AS before
          FROM (UNPIVOT (SELECT run_id, model_id, prompt_id, layer, last_token, whole_matrix, without_first,
                                token_mean, body_median
                           FROM stream_length)
                     ON last_token, whole_matrix, without_first, token_mean, body_median
                   INTO NAME reduction VALUE length) AS lengths) AS pairs
 WHERE layer >= 0;
COMMENT ON VIEW length_gain IS 'gain of the length that stream_length gives.';
COMMENT ON COLUMN length_gain.layer IS 'Block, 0 to n_layers - 1; block 0 reads the embedding, and gain_body leaves it out [1]';
COMMENT ON COLUMN length_gain.reduction IS 'last_token, whole_matrix, without_first, token_mean or body_median; see stream_length [-]';
COMMENT ON COLUMN length_gain.gain IS 'Length after the block over length before it [ratio]';

-- Not by way of length_gain, whose medians cost more than all the rest.
CREATE VIEW matrix_gain AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       length / nullif(before, 0)   AS gain,
       others / nullif(others_before, 0) AS gain_without_first
  FROM (SELECT run_id,
               model_id,
               prompt_id,
               layer,
               whole_matrix              AS length,
               without_first             AS others,
               lag(whole_matrix)  OVER depth AS before,
               lag(without_first) OVER depth AS others_before
          FROM stream_length
        WINDOW depth AS (PARTITION BY run_id, model_id, prompt_id ORDER BY layer)) AS pairs
 WHERE layer >= 0;
COMMENT ON VIEW matrix_gain IS 'One row per model, prompt and block: ratio of Frobenius norms over all tokens. Dominated by the first token where it is large (caveat B4).';
COMMENT ON COLUMN matrix_gain.layer IS 'Block, 0 to n_layers - 1; block 0 reads the embedding, and gain_body leaves it out [1]';
COMMENT ON COLUMN matrix_gain.gain IS '|X_l|_F / |X_{l-1}|_F [ratio]';
COMMENT ON COLUMN matrix_gain.gain_without_first IS 'The same over all tokens but the one at position 0; NULL for a prompt of one token [ratio]';

CREATE MACRO main.matrix_gain_from(first) AS TABLE
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       length / nullif(lag(length) OVER (PARTITION BY run_id, model_id, prompt_id ORDER BY layer), 0) AS gain
  FROM (SELECT run_id, model_id, prompt_id, layer, sqrt(sum(norm * norm)) AS length
          FROM raw.stream
         WHERE position >= first
         GROUP BY run_id, model_id, prompt_id, layer) AS matrices;
COMMENT ON MACRO TABLE main.matrix_gain_from IS 'FROM matrix_gain_from(k): matrix_gain with the first k tokens left out; NULL at layer -1 [ratio]';

CREATE VIEW embedding_gain AS
SELECT looked_up.run_id,
       looked_up.model_id,
       looked_up.prompt_id,
       after.whole_matrix / nullif(looked_up.length, 0) AS gain
  FROM (SELECT run_id, model_id, prompt_id, sqrt(sum(norm * norm)) AS length
          FROM residual_norm
         WHERE site = 'embedding'
         GROUP BY run_id, model_id, prompt_id) AS looked_up
  JOIN stream_length AS after USING (run_id, model_id, prompt_id)
 WHERE after.layer = 0;
COMMENT ON VIEW embedding_gain IS 'One row per model and prompt: |X_0|_F over the Frobenius norm of what the embedding module returns, before positions and norms are added (caveat B12). Not a gain where the two differ in width.';
COMMENT ON COLUMN embedding_gain.gain IS 'The ratio of the two Frobenius norms [ratio]';

CREATE VIEW prompt_gain AS
WITH profile AS (
    SELECT g.run_id,
           g.model_id,
           g.prompt_id,
           m.n_layers,
           max(g.gain)     FILTER (WHERE g.layer = m.n_layers - 1) AS gain_last_block,
           max(g.gain)     FILTER (WHERE g.layer = m.n_layers - 2) AS gain_penultimate_block,
           max(g.gain)     FILTER (WHERE g.layer = 0)              AS gain_embedding,
           CASE WHEN count(*) = m.n_layers THEN exp(avg(g.log_gain)) END AS gain_geometric_mean,
           count(*)        FILTER (WHERE g.layer > 0) = m.n_layers - 1   AS has_body,
           CASE WHEN has_body THEN exp(avg(g.log_gain) FILTER (WHERE g.layer > 0)) END AS gain_body,
           CASE WHEN has_body THEN max(g.gain)         FILTER (WHERE g.layer > 0)  END AS gain_maximum,
           CASE WHEN has_body THEN exp(sum(g.log_gain) FILTER (WHERE g.layer > 0)) END AS total_amplification
      FROM last_token_gain AS g
      JOIN model AS m USING (model_id)
     GROUP BY g.run_id, g.model_id, g.prompt_id, m.n_layers
), long AS (
    UNPIVOT (SELECT * EXCLUDE (n_layers, has_body) FROM profile)
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
SELECT run_id, model_id, prompt_id, metric, gain, ln(gain)
  FROM (UNPIVOT (SELECT g.run_id, g.model_id, g.prompt_id, g.gain AS gain_whole_matrix, g.gain_without_first
                   FROM matrix_gain AS g
                   JOIN model AS m USING (model_id)
                  WHERE g.layer = m.n_layers - 1)
             ON gain_whole_matrix, gain_without_first
           INTO NAME metric VALUE gain) AS matrices
 WHERE gain > 0;
COMMENT ON VIEW prompt_gain IS 'every variant side by side; see metric for the formulas. Gains are of the raw stream, as published. Under LayerNorm they depend on how the weights are written, which no prediction does; primary_gain has the centred gain beside them. A gain over several blocks is missing where the stream vanishes before or after one of them.';
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
COMMENT ON VIEW model_gain IS 'mean and standard deviation over prompts. A run is a model on a prompt set, in one rendering and number format.';
COMMENT ON COLUMN model_gain.log_gain_sd IS 'Standard deviation of the log ratios over prompts, divisor n - 1 [nat]';
COMMENT ON COLUMN model_gain.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN model_gain.gain_mean IS 'Mean of the ratios over prompts, as published [ratio]';
COMMENT ON COLUMN model_gain.gain_sd IS 'Standard deviation over prompts, divisor n - 1 [ratio]';
COMMENT ON COLUMN model_gain.gain_sd_population IS 'The same with divisor n, as notebooks 4 to 7 compute it [ratio]';
COMMENT ON COLUMN model_gain.log_gain_mean IS 'Mean of the log ratios; exp of it is the geometric mean [nat]';
