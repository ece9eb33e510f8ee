-- Derived quantities: the paper's equations and every variant of them, as views and macros.
--
-- Executed after collect/schema.sql. Equations are macros named as in the paper; a comment says
-- where each stands. Norms are lengths of one token's vector in the residual stream: e is the
-- input of block 0, x_l the output of block l, N the final norm, L = n_layers.

-- Runs: which of several measurements of one model a summary uses, and how they conformed.

-- Runs with perturbed weights are measured to state an uncertainty. Every view below leaves them
-- out, unless this macro is made anew: CREATE OR REPLACE MACRO counts_perturbed() AS true.
CREATE MACRO main.counts_perturbed() AS false;
COMMENT ON MACRO main.counts_perturbed IS 'Whether views count runs whose weights had one more rounding error added in [true or false]';

CREATE VIEW perturbed_run AS
SELECT run_id, model_id, kind, prompt_set, perturbation, perturbation_seed
  FROM run
 WHERE perturbation IS NOT NULL
   AND NOT counts_perturbed();
COMMENT ON VIEW perturbed_run IS 'One row per run whose weights had one more rounding error added: what all other views leave out. It is empty, and they count these runs in, after CREATE OR REPLACE MACRO counts_perturbed() AS true.';

CREATE MACRO main.why_no_run(is_published, is_reported) AS
    'no run: its weights are not on the Python package index; ' ||
    CASE WHEN is_published AND is_reported THEN 'published, and measured by others (raw.reported_gain)'
         WHEN is_published THEN 'published only'
         WHEN is_reported THEN 'measured by others only (raw.reported_gain)'
         ELSE 'named in the paper''s files only'
    END;
COMMENT ON MACRO main.why_no_run IS 'Why a model has no run in the opened store, and who has figures of it. Whoever has its weights can measure it: thermoscope collect run [-]';

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
                       ORDER BY step DESC NULLS FIRST,
                                kind = 'prompts' AND NOT list_contains(string_split(quantities, ','), 'stream'),
                                CASE dtype_compute WHEN 'float64' THEN 0
                                                   WHEN 'float32' THEN 1
                                                   WHEN 'bfloat16' THEN 2
                                                   ELSE 3
                                END,
                                device <> 'cpu',
                                run_id
               ) AS place
          FROM run
          LEFT JOIN (SELECT model_id, weights_sha256, config_sha256,
                            CASE WHEN bool_and(training_step IS NOT NULL) THEN max(training_step) END AS step
                       FROM revision
                      GROUP BY model_id, weights_sha256, config_sha256) AS trained
              USING (model_id, weights_sha256, config_sha256)
         WHERE is_conforming
           AND perturbation IS NULL
           AND states_engine IS NULL
           AND (kind = 'weights' OR (rendering = 'plain' AND special_tokens = 'default'))) AS ranked
 WHERE place = 1;
COMMENT ON VIEW primary_run IS 'One row per model, kind and prompt set: the one run that summaries over models use. It conforms, and its prompts are plain and tokenised as the tokenizer does. Of several revisions it is the model as released, which has no training step, or else the last step. Of several runs over prompts it is one that measured the stream. Of several number formats it is the widest, of several devices the processor. None has perturbed weights, or states that another engine wrote. Join it on run_id so that a model measured in two ways is not averaged over them.';

CREATE VIEW leading_run AS
SELECT run_id, model_id, prompt_set, n_prompts
  FROM (SELECT r.run_id,
               r.model_id,
               r.prompt_set,
               p.n_prompts,
               row_number() OVER (
                   PARTITION BY r.model_id
                       ORDER BY s.n_models DESC, p.n_prompts DESC, r.prompt_set
               ) AS place
          FROM primary_run AS r
          JOIN (SELECT prompt_set, count(*) AS n_models
                  FROM primary_run
                 WHERE kind = 'prompts'
                 GROUP BY prompt_set) AS s USING (prompt_set)
          JOIN (SELECT prompt_set, count(*) AS n_prompts FROM prompt GROUP BY prompt_set) AS p USING (prompt_set)
         WHERE r.kind = 'prompts') AS ranked
 WHERE place = 1;
COMMENT ON VIEW leading_run IS 'One row per model measured over prompts: the run that has its one number in model_gain. Of its prompt sets the one on which most models were measured is taken, so that models are compared on the same prompts. Ties go to the set with the most prompts, then to the first by name. Of runs on that set it is the one of primary_run.';
COMMENT ON COLUMN leading_run.n_prompts IS 'Prompts of the set [1]';

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
           AND weights.perturbation_seed IS NOT DISTINCT FROM asked.perturbation_seed
         WHERE asked.run_id NOT IN (SELECT run_id FROM perturbed_run)
           AND asked.kind = 'prompts'
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
         WHERE run_id NOT IN (SELECT run_id FROM perturbed_run)
           AND run_id NOT IN (SELECT run_id FROM run WHERE states_engine IS NOT NULL)
         GROUP BY property, tolerance) AS checked;
COMMENT ON VIEW conformance_summary IS 'One row per property and tolerance, which belongs to a number format: how many runs met it, and the worst deviation. Runs whose states another engine wrote are left out.';
COMMENT ON COLUMN conformance_summary.n_runs IS 'Runs in which it was asked for [1]';
COMMENT ON COLUMN conformance_summary.n_models IS 'Models of these runs [1]';
COMMENT ON COLUMN conformance_summary.n_met IS 'Runs that met it [1]';
COMMENT ON COLUMN conformance_summary.n_failed IS 'Runs that failed it [1]';
COMMENT ON COLUMN conformance_summary.n_unchecked IS 'Runs in which it could not be checked; conformance says why [1]';
COMMENT ON COLUMN conformance_summary.worst_deviation IS 'Largest deviation of any run [see conformance]';
COMMENT ON COLUMN conformance_summary.worst_model_id IS 'Model of that run; NULL when no run deviates [-]';
COMMENT ON COLUMN conformance_summary.worst_layer IS 'Block where it was found; NULL when it belongs to no block [1]';

CREATE VIEW prompt_length AS
SELECT run_id, model_id, prompt_id, n_tokens
  FROM next_token
 WHERE run_id NOT IN (SELECT run_id FROM perturbed_run)
 UNION ALL
SELECT n.run_id, n.model_id, n.prompt_id, max(n.position) + 1
  FROM residual_norm AS n
 WHERE n.run_id IN (SELECT run_id FROM run WHERE states_engine IS NOT NULL)
 GROUP BY ALL;
COMMENT ON VIEW prompt_length IS 'One row per run and prompt whose last token is known: how many tokens were read. Where another engine wrote the states, their positions tell it, otherwise next_token.';
COMMENT ON COLUMN prompt_length.n_tokens IS 'Tokens of the prompt, special ones included; the last is at position n_tokens - 1 [tokens]';

CREATE VIEW token AS
SELECT n.run_id,
       n.model_id,
       n.prompt_id,
       n.position,
       n.is_special,
       n.position = t.n_tokens - 1            AS is_last,
       n.position > 0 AND NOT n.is_special    AS is_body
  FROM residual_norm AS n
  JOIN prompt_length AS t USING (run_id, model_id, prompt_id)
 WHERE n.site = 'block_output'
   AND n.layer = 0;
COMMENT ON VIEW token IS 'One row per model, prompt and token: which tokens a mean takes.';
COMMENT ON COLUMN token.is_last IS 'The last token, the position the paper uses [-]';
COMMENT ON COLUMN token.is_body IS 'Neither at position 0, where many models keep a sink, nor added by the tokenizer [-]';
