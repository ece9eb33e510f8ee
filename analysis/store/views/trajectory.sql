-- Trajectories: one model at several steps of its training.

CREATE VIEW run_revision AS
SELECT r.run_id,
       r.model_id,
       r.kind,
       r.prompt_set,
       r.rendering,
       r.special_tokens,
       r.dtype_compute,
       r.device,
       r.is_conforming,
       coalesce(v.revision_name, r.revision_name)                             AS revision_name,
       coalesce(v.revision, r.revision)                                       AS revision,
       CASE WHEN v.model_id IS NULL THEN m.training_step ELSE v.training_step END     AS training_step,
       CASE WHEN v.model_id IS NULL THEN m.training_tokens ELSE v.training_tokens END AS training_tokens,
       s.n_steps
  FROM run AS r
  JOIN model AS m USING (model_id)
  LEFT JOIN revision AS v
    ON v.model_id = r.model_id
   AND v.weights_sha256 = r.weights_sha256
   AND v.config_sha256 = r.config_sha256
  LEFT JOIN (SELECT model_id, weights_sha256, config_sha256, count(DISTINCT training_step) AS n_steps
               FROM revision
              GROUP BY model_id, weights_sha256, config_sha256) AS s
    ON s.model_id = r.model_id
   AND s.weights_sha256 = r.weights_sha256
   AND s.config_sha256 = r.config_sha256
 WHERE r.run_id NOT IN (SELECT run_id FROM perturbed_run);
COMMENT ON VIEW run_revision IS 'One row per run and revision whose weights it measured: revisions that hold the same weights share a run.';
COMMENT ON COLUMN run_revision.n_steps IS 'Different steps that revisions with these very weights are named for; above 1 some name is wrong; NULL for a local checkpoint alone [1]';

CREATE VIEW gain_trajectory AS
SELECT v.model_id,
       v.training_step,
       v.training_tokens,
       v.revision_name,
       v.revision,
       g.prompt_set,
       g.metric,
       g.gain_mean,
       g.gain_sd,
       g.log_gain_mean,
       g.log_gain_sd,
       g.n_prompts,
       v.dtype_compute,
       v.rendering,
       v.special_tokens,
       v.device,
       v.is_conforming,
       v.n_steps,
       v.run_id
  FROM model_gain AS g
  JOIN run_revision AS v USING (run_id, model_id, prompt_set);
COMMENT ON VIEW gain_trajectory IS 'how the gain goes with training. Filter one number format, rendering and definition; order by training_step.';
COMMENT ON COLUMN gain_trajectory.n_steps IS 'As in run_revision: above 1 the weights cannot be those of every step that they are named for [1]';
