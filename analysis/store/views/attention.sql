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
         WHERE run_id NOT IN (SELECT run_id FROM perturbed_run)
         GROUP BY run_id, model_id, prompt_id, layer) AS h
  LEFT JOIN attention_mean AS a USING (run_id, model_id, prompt_id, layer);
COMMENT ON VIEW attention_layer IS 'One row per model, prompt and layer: the shape of attention, heads taken together, with each definition of attention entropy.';
COMMENT ON COLUMN attention_layer.row_entropy IS 'Mean entropy of a row, over rows and heads [nat]';
COMMENT ON COLUMN attention_layer.relative_entropy IS 'The same over ln n. A causal map that spreads evenly stays below 1, for row i can reach ln(i + 1) only. NULL for one token [1]';
COMMENT ON COLUMN attention_layer.first_head_entropy IS 'Mean entropy of a row of head 0, as notebook 15 [nat]';
COMMENT ON COLUMN attention_layer.mean_map_entropy IS 'Mean entropy of a row of the map averaged over heads, as notebook 14 [nat]';
COMMENT ON COLUMN attention_layer.flat_map_entropy IS 'Entropy of the averaged map taken as one distribution over n^2 pairs, as notebook 18 [nat]';
COMMENT ON COLUMN attention_layer.sink_share IS 'Share of the mass on the first token, the first token''s own included. An even spread over the tokens that each may see gives H_n / n, about (ln n + .58) / n, where rows sum to one [1]';
COMMENT ON COLUMN attention_layer.off_diagonal IS 'Mass off the diagonal over n - 1, the most there can be: 0 when tokens attend to themselves only, 1 when they never do. NULL for one token [1]';
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
COMMENT ON COLUMN attention_profile.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN attention_profile.relative_entropy IS 'Mean entropy of a row over ln n [1]';
COMMENT ON COLUMN attention_profile.sink_share IS 'Share of the mass on the first token; an even spread gives H_n / n [1]';
COMMENT ON COLUMN attention_profile.off_diagonal IS 'Mass off the diagonal over the most there can be [1]';
COMMENT ON COLUMN attention_profile.sink_share_off_diagonal IS 'Share of the mass off the diagonal that goes to the first token [1]';
COMMENT ON COLUMN attention_profile.distance IS 'Mean distance looked back [tokens]';
COMMENT ON COLUMN attention_profile.locality IS 'Locality of the map averaged over heads [1]';
