-- Partners: for every quantity the one to read in its place, and the primary definitions beside the raw ones.

CREATE VIEW gauge_partner AS
SELECT quantity,
       norm_kind,
       CASE WHEN bool_and(is_invariant) THEN 'invariant'
            WHEN any_value(coalesce(partner, '')) <> '' THEN 'partner'
            ELSE 'convention'
       END AS standing,
       CASE WHEN bool_and(is_invariant) THEN quantity
            ELSE coalesce(nullif(any_value(partner), ''), 'convention')
       END AS partner,
       coalesce(string_agg(transformation, ' ' ORDER BY transformation) FILTER (WHERE NOT is_invariant), '') AS moved_by
  FROM gauge_invariance
 GROUP BY quantity, norm_kind;
COMMENT ON VIEW gauge_partner IS 'One row per quantity and kind of norm: whether it is a property of what the network computes. If it is not: which quantity is, or that there is none and it is a convention of a parametrisation.';
COMMENT ON COLUMN gauge_partner.standing IS 'invariant: no change of the weights that leaves the logits moves it. partner: another quantity is, and is the primary one. convention: of how the weights are written; nothing stands in its place [-]';
COMMENT ON COLUMN gauge_partner.partner IS 'The quantity to read: its own name where it is invariant, else the partner. No change moves the partner, or only by a factor common to all layers. The word convention where there is none [-]';
COMMENT ON COLUMN gauge_partner.moved_by IS 'Transformations that move it, separated by spaces; see gauge_lemma [-]';

CREATE VIEW prompt_gain_centred AS
WITH profile AS (
    SELECT g.run_id,
           g.model_id,
           g.prompt_id,
           max(g.log_gain_centred) FILTER (WHERE g.layer = m.n_layers - 1) AS gain_last_block,
           max(g.log_gain_centred) FILTER (WHERE g.layer = m.n_layers - 2) AS gain_penultimate_block,
           max(g.log_gain_centred) FILTER (WHERE g.layer = 0)              AS gain_embedding,
           CASE WHEN count(g.log_gain_centred) = m.n_layers THEN avg(g.log_gain_centred) END AS gain_geometric_mean,
           count(g.log_gain_centred) FILTER (WHERE g.layer > 0) = m.n_layers - 1 AS has_body,
           CASE WHEN has_body THEN avg(g.log_gain_centred) FILTER (WHERE g.layer > 0) END AS gain_body,
           CASE WHEN has_body THEN max(g.log_gain_centred) FILTER (WHERE g.layer > 0) END AS gain_maximum,
           CASE WHEN has_body THEN sum(g.log_gain_centred) FILTER (WHERE g.layer > 0) END AS total_amplification
      FROM last_token_gain AS g
      JOIN model AS m USING (model_id)
     GROUP BY g.run_id, g.model_id, g.prompt_id, m.n_layers
), matrices AS (
    SELECT s.run_id,
           s.model_id,
           s.prompt_id,
           ln(nullif(sqrt(sum(s.norm_centred * s.norm_centred) FILTER (WHERE s.layer = m.n_layers - 1)), 0))
             - ln(nullif(sqrt(sum(s.norm_centred * s.norm_centred) FILTER (WHERE s.layer = m.n_layers - 2)), 0)) AS gain_whole_matrix,
           ln(nullif(sqrt(sum(s.norm_centred * s.norm_centred) FILTER (WHERE s.layer = m.n_layers - 1 AND s.position > 0)), 0))
             - ln(nullif(sqrt(sum(s.norm_centred * s.norm_centred) FILTER (WHERE s.layer = m.n_layers - 2 AND s.position > 0)), 0)) AS gain_without_first
      FROM stream AS s
      JOIN model AS m USING (model_id)
     WHERE s.layer >= m.n_layers - 2
     GROUP BY s.run_id, s.model_id, s.prompt_id
)
UNPIVOT (SELECT * EXCLUDE (has_body) FROM profile)
     ON gain_last_block, gain_penultimate_block, gain_embedding, gain_geometric_mean,
        gain_body, gain_maximum, total_amplification
   INTO NAME metric VALUE log_gain_centred
 UNION ALL
UNPIVOT matrices
     ON gain_whole_matrix, gain_without_first
   INTO NAME metric VALUE log_gain_centred;
COMMENT ON VIEW prompt_gain_centred IS 'prompt_gain of the stream without its mean over features, which LayerNorm never sees.';
COMMENT ON COLUMN prompt_gain_centred.metric IS 'Definition of gain whose centred partner this is; see metric [-]';
COMMENT ON COLUMN prompt_gain_centred.log_gain_centred IS 'Natural logarithm of the centred gain [nat]';

CREATE VIEW primary_gain AS
SELECT g.run_id,
       g.model_id,
       g.prompt_id,
       m.norm_kind,
       g.metric,
       CASE m.norm_kind WHEN 'LayerNorm' THEN c.log_gain_centred ELSE g.log_gain END AS log_gain_primary,
       g.log_gain                                                       AS log_gain_published,
       c.log_gain_centred
  FROM prompt_gain AS g
  JOIN prompt_gain_centred AS c USING (run_id, model_id, prompt_id, metric)
  JOIN model AS m USING (model_id);
COMMENT ON VIEW primary_gain IS 'The gain is a property of what the network computes; beside it stands the published one. LayerNorm removes the mean over features, so there the centred gain is the primary one. RMSNorm removes nothing, and a rotation of the stream moves the centred gain and keeps the raw one, so there the raw gain is.';
COMMENT ON COLUMN primary_gain.norm_kind IS 'As in model [-]';
COMMENT ON COLUMN primary_gain.metric IS 'Definition of gain; see metric. gain_with_final_norm and gain_embedding_whole_matrix have no centred form of their own [-]';
COMMENT ON COLUMN primary_gain.log_gain_primary IS 'log_gain_centred under LayerNorm, log_gain_published under RMSNorm [nat]';
COMMENT ON COLUMN primary_gain.log_gain_published IS 'The definition as published, of the raw stream; under LayerNorm it depends on how the weights are written [nat]';

CREATE VIEW primary_sign AS
SELECT g.run_id,
       g.model_id,
       g.norm_kind,
       g.metric,
       exp(avg(g.log_gain_primary))                  AS gain_primary,
       exp(avg(g.log_gain_published))                AS gain_published,
       exp(avg(g.log_gain_centred))                  AS gain_centred,
       avg(exp(g.log_gain_primary))                  AS gain_mean_primary,
       stddev_samp(exp(g.log_gain_primary))          AS gain_sd_primary,
       gain_sign(avg(g.log_gain_primary), 0)         AS sign_primary,
       gain_sign(avg(g.log_gain_published), 0)       AS sign_published,
       gain_sign(avg(g.log_gain_centred), 0)         AS sign_centred,
       count(*)                                      AS n_prompts
  FROM primary_gain AS g
 GROUP BY g.run_id, g.model_id, g.norm_kind, g.metric;
COMMENT ON VIEW primary_sign IS 'Whether the model dampens or expands by the primary gain, by the published one and by the centred one; geometric means over prompts.';
COMMENT ON COLUMN primary_sign.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN primary_sign.norm_kind IS 'As in model [-]';
COMMENT ON COLUMN primary_sign.gain_primary IS 'Geometric mean over prompts of the primary gain; see primary_gain [ratio]';
COMMENT ON COLUMN primary_sign.gain_published IS 'The same of the raw stream [ratio]';
COMMENT ON COLUMN primary_sign.gain_centred IS 'The same of the stream without its mean over features [ratio]';
COMMENT ON COLUMN primary_sign.gain_mean_primary IS 'Mean of the primary ratios over prompts, as gain_mean of model_gain is of the published ones [ratio]';
COMMENT ON COLUMN primary_sign.gain_sd_primary IS 'Standard deviation of the primary ratios over prompts, divisor n - 1 [ratio]';
COMMENT ON COLUMN primary_sign.sign_primary IS 'dampen below 1, expand above it [-]';
COMMENT ON COLUMN primary_sign.sign_published IS 'As sign_primary, of gain_published [-]';
COMMENT ON COLUMN primary_sign.sign_centred IS 'As sign_primary, of gain_centred [-]';

CREATE VIEW centred_update AS
SELECT u.run_id,
       u.model_id,
       u.prompt_id,
       u.layer,
       u.part,
       u.position,
       u.norm_centred / nullif(before.norm_centred, 0) AS ratio_centred,
       (after.norm_centred * after.norm_centred - before.norm_centred * before.norm_centred
          - CAST(u.norm_centred AS DOUBLE) * u.norm_centred)
         / nullif(2 * before.norm_centred * u.norm_centred, 0) AS cosine_centred
  FROM residual_update AS u
  JOIN stream AS before
    ON before.run_id = u.run_id AND before.model_id = u.model_id AND before.prompt_id = u.prompt_id AND before.position = u.position
   AND before.layer = u.layer - 1
  JOIN stream AS after
    ON after.run_id = u.run_id AND after.model_id = u.model_id AND after.prompt_id = u.prompt_id AND after.position = u.position
   AND after.layer = u.layer
 WHERE u.part = 'block';
COMMENT ON VIEW centred_update IS 'One row per model, prompt, block and token: ratio and cosine of residual_update (part block) for the stream without its mean over features. They are the primary ones under LayerNorm. The cosine follows from three lengths, of x, u and x + u.';
COMMENT ON COLUMN centred_update.ratio_centred IS '|update| / |stream before|, both centred [ratio]';
COMMENT ON COLUMN centred_update.cosine_centred IS 'Cosine of update and stream before, both centred [1]';
