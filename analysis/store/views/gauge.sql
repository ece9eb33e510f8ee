-- Gauge: which quantities a change of the weights moves that leaves every logit as it is.

CREATE VIEW gauge_invariance AS
SELECT q.quantity,
       l.transformation,
       l.norm_kind,
       bool_and(l.is_kept) AS is_invariant,
       any_value(q.explanation) || ' '
           || string_agg(l.reason, '; ' ORDER BY l.ingredient)
                  FILTER (WHERE l.is_kept = broken.is_kept) || '.' AS proof,
       CASE l.norm_kind WHEN 'LayerNorm' THEN any_value(q.partner_layer_norm)
                        ELSE any_value(q.partner_rms_norm)
       END AS partner
  FROM gauge_quantity AS q
  JOIN gauge_lemma AS l
    ON list_contains(string_split(q.made_of, ','), l.ingredient)
  JOIN (SELECT q.quantity, l.transformation, l.norm_kind, bool_and(l.is_kept) AS is_kept
          FROM gauge_quantity AS q
          JOIN gauge_lemma AS l
            ON list_contains(string_split(q.made_of, ','), l.ingredient)
         GROUP BY q.quantity, l.transformation, l.norm_kind) AS broken
    ON broken.quantity = q.quantity
   AND broken.transformation = l.transformation
   AND broken.norm_kind = l.norm_kind
 GROUP BY q.quantity, l.transformation, l.norm_kind;
COMMENT ON VIEW gauge_invariance IS 'One row per quantity, transformation and kind of norm: whether the transformation leaves the quantity as it is. No transformation here moves a logit. A quantity that is moved is not a function of what the network computes.';
COMMENT ON COLUMN gauge_invariance.is_invariant IS 'True when every ingredient is kept in every layout with this norm [-]';
COMMENT ON COLUMN gauge_invariance.proof IS 'What determines the quantity, and why that is kept or how it changes [-]';
COMMENT ON COLUMN gauge_invariance.partner IS 'Quantity to use in its place; empty where there is none, and it is a convention of how the weights are written [-]';

CREATE VIEW function_gain AS
SELECT g.run_id,
       g.model_id,
       g.prompt_id,
       g.layer,
       m.norm_kind,
       g.log_gain,
       g.log_gain_centred,
       CASE m.norm_kind WHEN 'LayerNorm' THEN g.log_gain_centred ELSE g.log_gain END AS log_gain_of_function
  FROM last_token_gain AS g
  JOIN model AS m USING (model_id);
COMMENT ON VIEW function_gain IS 'One row per model, prompt and block: the published gain beside the one that is a property of what the network computes. LayerNorm removes the mean over features, so there it is the centred one. RMSNorm keeps it: there it is the raw gain, which no rotation and no scale of the stream moves.';
COMMENT ON COLUMN function_gain.log_gain IS 'As in block_gain, of the raw stream [nat]';
COMMENT ON COLUMN function_gain.log_gain_centred IS 'The same with the mean over features removed [nat]';
COMMENT ON COLUMN function_gain.norm_kind IS 'As in model [-]';
COMMENT ON COLUMN function_gain.log_gain_of_function IS 'log_gain_centred under LayerNorm, log_gain under RMSNorm [nat]';

CREATE VIEW gain_freedom AS
SELECT m.model_id,
       m.norm_kind,
       m.norm_position,
       string_agg(DISTINCT f.metric, ' ' ORDER BY f.metric) AS metrics,
       bool_or(m.norm_kind = 'LayerNorm'
               AND (m.norm_position = 'pre'
                    OR (m.norm_position = 'post' AND f.metric = 'gain_penultimate_block'))) AS is_free
  FROM model AS m
  JOIN published_figure AS f USING (model_id)
 WHERE f.metric IN ('gain_last_block', 'gain_penultimate_block')
 GROUP BY m.model_id, m.norm_kind, m.norm_position;
COMMENT ON VIEW gain_freedom IS 'One row per model whose gain of the last or the penultimate block is published: whether a shift gives that gain any value. The shift is along the mean over features and leaves every prediction as it is.';
COMMENT ON COLUMN gain_freedom.norm_kind IS 'As in model [-]';
COMMENT ON COLUMN gain_freedom.norm_position IS 'As in model [-]';
COMMENT ON COLUMN gain_freedom.metrics IS 'The published ones of gain_last_block and gain_penultimate_block, separated by a space [-]';
COMMENT ON COLUMN gain_freedom.is_free IS 'True where norms are LayerNorms in front of each sub-layer. True also where they stand behind it and the gain is that of the penultimate block. In that case the stream can be shifted after every block but the last. What reads the last block, such as the head, has no bias that could undo a shift [-]';

CREATE VIEW mean_share AS
SELECT s.run_id,
       s.model_id,
       m.family,
       s.layer,
       median(1 - pow(s.norm_centred / s.norm, 2)) AS share,
       quantile_cont(1 - pow(s.norm_centred / s.norm, 2), 0.9) AS share_upper,
       count(*) AS n_vectors
  FROM stream AS s
  JOIN model AS m USING (model_id)
 WHERE s.norm > 0
   AND s.position > 0
   AND m.norm_kind = 'LayerNorm'
 GROUP BY s.run_id, s.model_id, m.family, s.layer;
COMMENT ON VIEW mean_share IS 'One row per run of a model with LayerNorm and depth: the share of the stream''s squared norm that lies along the mean over features. Nothing reads that mean. Only tokens after the first are counted. Layer -1 is the input of block 0.';
COMMENT ON COLUMN mean_share.share IS 'Median over tokens of 1 - (norm_centred / norm)^2 [1]';
COMMENT ON COLUMN mean_share.share_upper IS 'Its 90th percentile [1]';
COMMENT ON COLUMN mean_share.n_vectors IS 'Tokens of all prompts [1]';
