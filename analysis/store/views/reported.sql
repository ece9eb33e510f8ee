-- Lengths that others measured and published: by block, and a source and model a row.

CREATE VIEW reported_block AS
SELECT source_id,
       model_id,
       series,
       layer,
       norm,
       norm / lag(norm) OVER depth             AS gain,
       ln(norm) - ln(lag(norm) OVER depth)     AS log_gain
  FROM reported_norm
WINDOW depth AS (PARTITION BY source_id, model_id, series ORDER BY layer);
COMMENT ON VIEW reported_block IS 'How much each block lengthens the stream, by the source''s own pooling of tokens: take one pooling of reported_source.';
COMMENT ON COLUMN reported_block.gain IS 'Length after the block over before it; NULL where the length before it is not reported [ratio]';
COMMENT ON COLUMN reported_block.log_gain IS 'Its natural logarithm [nat]';

CREATE VIEW reported_gain AS
SELECT f.source_id,
       f.model_id,
       m.lab,
       m.suite,
       m.base_model_id,
       m.norm_position,
       m.n_layers,
       head_density(m.n_heads, m.d_head)                                   AS rho,
       log10(m.n_parameters)                                               AS log_parameters,
       gain_bound(m.n_layers)                                              AS bound,
       s.token,
       s.pooling,
       s.rendering,
       any_value(f.dtype)                                                  AS dtype,
       max(f.n) * any_value(s.n_prompts)                                            AS n_prompts,
       max(f.mean) FILTER (WHERE f.metric = 'gain_last_block')             AS gain_last_block,
       max(f.mean) FILTER (WHERE f.metric = 'gain_penultimate_block')      AS gain_penultimate_block,
       max(f.mean) FILTER (WHERE f.metric = 'gain_body')                   AS gain_body,
       max(f.mean) FILTER (WHERE f.metric = 'gain_inner')                  AS gain_inner,
       max(f.mean) FILTER (WHERE f.metric = 'gain_maximum')                AS gain_maximum,
       max(f.mean) FILTER (WHERE f.metric = 'gain_embedding')              AS gain_embedding,
       s.repository,
       s.commit_id,
       s.licence
  FROM reported_figure AS f
  JOIN reported_source AS s USING (source_id)
  JOIN model AS m USING (model_id)
 GROUP BY ALL;
COMMENT ON VIEW reported_gain IS 'One row per source and model that others measured: its gains, a definition a column, and how they were taken. Gains of different poolings are different quantities; only those of last_token are comparable with the paper''s. A model that several sources hold has several rows.';
COMMENT ON COLUMN reported_gain.rho IS 'Head density, n_heads over d_head; NULL where the shape of the heads is not known [1]';
COMMENT ON COLUMN reported_gain.log_parameters IS 'Decimal logarithm of the parameter count; NULL where it is not known [1]';
COMMENT ON COLUMN reported_gain.bound IS 'Largest gain of a block that eq. (3) of the paper allows, 10^(1/n_layers) [ratio]';
COMMENT ON COLUMN reported_gain.n_prompts IS 'Prompts that the figures are of; NULL where the source does not say [1]';
COMMENT ON COLUMN reported_gain.gain_last_block IS 'Length after the last block over before it; NULL where the source has no length there [ratio]';
COMMENT ON COLUMN reported_gain.gain_penultimate_block IS 'The same of the last block but one, what the paper plots as the gain of a model [ratio]';
COMMENT ON COLUMN reported_gain.gain_body IS 'Geometric mean of the gains of all blocks but block 0; NULL where one is missing [ratio]';
COMMENT ON COLUMN reported_gain.gain_inner IS 'Geometric mean of the gains of the blocks between the first and the last [ratio]';
COMMENT ON COLUMN reported_gain.gain_maximum IS 'Largest gain of a block after block 0: mean over series of each one''s largest [ratio]';
COMMENT ON COLUMN reported_gain.gain_embedding IS 'Length after block 0 over before it; NULL where the source has no length there [ratio]';
