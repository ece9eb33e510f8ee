-- Profiles: every quantity that an estimator of L* has been applied to, one number per layer.

CREATE VIEW depth_profile AS
SELECT run_id, model_id, layer, metric, trace AS value, n_prompts
  FROM trace_profile
 UNION ALL
SELECT run_id, model_id, layer, 'locality', locality, n_prompts
  FROM attention_profile
 UNION ALL
SELECT run_id, model_id, layer, 'gain_sublayer_' || part, avg(expansion), count(expansion)
  FROM expansion
 GROUP BY run_id, model_id, layer, part
 UNION ALL
SELECT run_id, model_id, layer, metric, avg(value), count(value)
  FROM legacy_value
 WHERE run_id NOT IN (SELECT run_id FROM perturbed_run)
 GROUP BY run_id, model_id, layer, metric;
COMMENT ON VIEW depth_profile IS 'mean over prompts of each trace, of locality, of the expansion of the sub-layers and of legacy values. A NaN spreads, so that no layer is named from a profile with a hole; a prompt that has no value (NULL) does not enter.';
COMMENT ON COLUMN depth_profile.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN depth_profile.metric IS 'A column of layer_trace, locality, gain_sublayer_attention or gain_sublayer_mixer, gain_sublayer_ffn, or a metric of legacy_value [-]';
COMMENT ON COLUMN depth_profile.value IS 'Mean over prompts [see metric]';
