-- Derived quantities: the paper's equations and every variant of "gain", as views and macros.
--
-- Executed after collect/schema.sql. Equations are macros named as in the paper; a comment
-- says where each stands. Norms are lengths of one token's vector in the residual stream:
-- e is the input of block 0, x_l the output of block l, N the final norm, L = n_layers.

CREATE MACRO gain_bound(n_layers) AS pow(10.0, 1.0 / n_layers);
COMMENT ON MACRO gain_bound IS 'G_max = 10^(1/L), eq. (3) of the paper: the claimed largest gain per block [ratio]';

CREATE MACRO head_density(n_heads, d_head) AS n_heads / CAST(d_head AS DOUBLE);
COMMENT ON MACRO head_density IS 'rho = H / d_head, section 5.4 of the paper [1]';

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

CREATE VIEW matrix_gain AS
SELECT run_id,
       model_id,
       prompt_id,
       layer,
       length / lag(length) OVER (PARTITION BY run_id, prompt_id ORDER BY layer) AS gain
  FROM (SELECT run_id, model_id, prompt_id, layer, sqrt(sum(norm * norm)) AS length
          FROM stream
         GROUP BY run_id, model_id, prompt_id, layer) AS matrices;
COMMENT ON VIEW matrix_gain IS 'One row per model, prompt and depth: ratio of Frobenius norms over all tokens. Dominated by the first token where it is large (caveat B4).';
COMMENT ON COLUMN matrix_gain.gain IS '|X_l|_F / |X_{l-1}|_F; NULL at layer -1 [ratio]';

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
       avg(g.log_gain)         AS log_gain_mean,
       stddev_samp(g.log_gain) AS log_gain_sd,
       count(*)                AS n_prompts
  FROM prompt_gain AS g
  JOIN prompt AS p USING (prompt_id)
 GROUP BY g.run_id, g.model_id, p.prompt_set, g.metric;
COMMENT ON VIEW model_gain IS 'One row per model, prompt set and definition of gain: mean and standard deviation over prompts.';
COMMENT ON COLUMN model_gain.gain_mean IS 'Mean of the ratios over prompts, as published [ratio]';
COMMENT ON COLUMN model_gain.log_gain_mean IS 'Mean of the log ratios; exp of it is the geometric mean [nat]';

CREATE VIEW layer_trace AS
SELECT a.run_id,
       a.model_id,
       a.prompt_id,
       a.layer,
       sum((a.mass - a.diagonal) * w.frobenius * w.frobenius) AS trace_multi_head,
       sum((a.mass - a.n_tokens) * w.frobenius * w.frobenius) AS trace_equation_4,
       sum(a.mass - a.diagonal)                               AS attention_factor,
       sum(w.frobenius * w.frobenius)                         AS weight_factor,
       any_value(a.n_tokens)                                  AS n_tokens,
       count(*)                                               AS n_heads
  FROM attention AS a
  JOIN weight_norm AS w
    ON w.model_id = a.model_id
   AND w.layer = a.layer
   AND w.head = a.head
   AND w.matrix = 'V'
 GROUP BY a.run_id, a.model_id, a.prompt_id, a.layer;
COMMENT ON VIEW layer_trace IS 'One row per model, prompt and layer: trace of the sheaf Laplacian summed over heads.';
COMMENT ON COLUMN layer_trace.trace_multi_head IS 'Sum over heads of (sum A - trace A) |W_V|_F^2, which is what the code computes [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_equation_4 IS 'Sum over heads of (sum A - n) |W_V|_F^2, eq. (4) as printed: rows of a softmax sum to one, so this is rounding (caveat B5) [weight units squared]';
COMMENT ON COLUMN layer_trace.attention_factor IS 'Sum over heads of sum A - trace A, at most (n - 1) H [1]';
COMMENT ON COLUMN layer_trace.weight_factor IS 'Sum over heads of |W_V|_F^2 [weight units squared]';

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
       ''                                           AS caveats
  FROM model_gain AS g
  JOIN run AS r USING (run_id)
 UNION ALL
SELECT 'published', model_id, prompt_set, metric, dtype, file, gain_mean, gain_sd, n_prompts, caveats
  FROM published_gain;
COMMENT ON VIEW gain_evidence IS 'One row per source, model, prompt set, definition of gain and file: everything known about gains at the level of models.';

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
COMMENT ON COLUMN gain_by_model.sign_strict IS 'dampen when the mean gain is below 1, else expand [-]';
COMMENT ON COLUMN gain_by_model.sign_banded IS 'neutral when |ln gain| is below 0.01, the size of rounding in half precision [-]';
COMMENT ON COLUMN gain_by_model.log_parameters IS 'Decimal logarithm of the parameter count [1]';
COMMENT ON COLUMN gain_by_model.bound IS 'gain_bound(n_layers) [ratio]';
