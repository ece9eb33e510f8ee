-- Coverage: which quantity of which model is here, and why one is not.

CREATE VIEW main.coverage AS
WITH asked AS (
    FROM (VALUES ('stream', 'residual_norm', 'stream'),
                 ('last token', 'next_token', 'stream'),
                 ('update', 'residual_update', 'stream'),
                 ('attention', 'attention', 'attention'),
                 ('geometry', 'token_geometry', 'geometry'),
                 ('prediction', 'token_prediction', 'predictions'),
                 ('weight', 'matrix_norm', 'weights'),
                 ('published gain', 'published_figure', NULL)) AS named(quantity, source, measured_as)
), sets AS (
    SELECT DISTINCT prompt_set FROM raw.prompt
), cells AS (
    SELECT m.model_id, a.quantity, a.source, a.measured_as, coalesce(s.prompt_set, 'none') AS prompt_set
      FROM raw.model AS m
     CROSS JOIN asked AS a
      LEFT JOIN sets AS s ON a.quantity NOT IN ('weight', 'published gain')
), counted AS (
    SELECT run_id, model_id, 'residual_norm' AS source, count(DISTINCT prompt_id) AS n_prompts FROM raw.residual_norm GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'next_token', count(*) FROM raw.next_token GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'residual_update', count(DISTINCT prompt_id) FROM raw.residual_update GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'attention', count(DISTINCT prompt_id) FROM raw.attention GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'token_geometry', count(DISTINCT prompt_id) FROM raw.token_geometry GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'token_prediction', count(DISTINCT prompt_id) FROM raw.token_prediction GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'matrix_norm', 0 FROM raw.matrix_norm GROUP BY run_id, model_id
), published AS (
    SELECT model_id, bool_or(starts_with(metric, 'gain')) AS has_gain FROM raw.published_figure GROUP BY model_id
), runs AS (
    SELECT model_id, coalesce(prompt_set, 'none') AS prompt_set, count(*) AS n_runs
      FROM raw.run
     WHERE perturbation IS NULL
     GROUP BY ALL
), stated AS (
    SELECT run_id, measured_table AS source, string_agg(reason, ' ' ORDER BY quantity) AS reason
      FROM raw.not_measured
     WHERE quantity = 'every row'
     GROUP BY run_id, measured_table
)
SELECT c.model_id,
       c.quantity,
       c.prompt_set,
       CASE c.quantity WHEN 'published gain' THEN coalesce(p.has_gain, false)
                       ELSE n.run_id IS NOT NULL
       END                                                                        AS is_there,
       bool_or(is_there) OVER (PARTITION BY c.model_id, c.quantity)               AS is_on_any_set,
       CASE WHEN c.quantity NOT IN ('weight', 'published gain') THEN coalesce(n.n_prompts, 0) END AS n_prompts,
       CASE WHEN is_there THEN NULL
            WHEN c.quantity = 'published gain' THEN 'the paper''s files have no gain of it'
            WHEN c.model_id NOT IN (SELECT model_id FROM runs) THEN
                 CASE WHEN p.model_id IS NOT NULL AND o.model_id IS NOT NULL THEN 'published, and measured by others (raw.reported_gain); not measured here'
                      WHEN p.model_id IS NOT NULL THEN 'published only, not measured here'
                      WHEN o.model_id IS NOT NULL THEN 'measured by others only; see raw.reported_gain'
                      ELSE 'named in the paper, not measured here' END
            WHEN r.n_runs IS NULL THEN
                 CASE c.quantity WHEN 'weight' THEN 'the opened store has no run over its weights' ELSE 'the opened store has no run of it on this prompt set' END
            WHEN f.run_id IS NULL THEN 'no run that is plain, as tokenised, and conforming; see raw.run'
            WHEN s.reason IS NOT NULL THEN s.reason
            WHEN NOT list_contains(string_split(u.quantities, ','), c.measured_as) THEN 'not asked for when it was measured'
            ELSE 'measured, but its rows are not in the opened store'
       END                                                                        AS reason
  FROM cells AS c
  LEFT JOIN raw.primary_run AS f
    ON f.model_id = c.model_id AND coalesce(f.prompt_set, 'none') = c.prompt_set AND c.measured_as IS NOT NULL
  LEFT JOIN raw.run AS u ON u.run_id = f.run_id AND u.model_id = c.model_id
  LEFT JOIN counted AS n ON n.run_id = f.run_id AND n.model_id = c.model_id AND n.source = c.source
  LEFT JOIN stated AS s ON s.run_id = f.run_id AND s.source = c.source
  LEFT JOIN published AS p ON p.model_id = c.model_id
  LEFT JOIN (SELECT DISTINCT model_id FROM raw.reported_figure) AS o ON o.model_id = c.model_id
  LEFT JOIN runs AS r ON r.model_id = c.model_id AND r.prompt_set = c.prompt_set;
COMMENT ON VIEW main.coverage IS 'One row per model, quantity and prompt set, measured or not: whether its numbers are here, and if not, why. Models that were published only are here too. WHERE is_there lists what can be asked. Of several prompt sets, tables of main have that of model_gain, tables of raw all. A model that was measured on one set only is missing on the others. SELECT DISTINCT quantity, model_id FROM coverage WHERE NOT is_on_any_set names the models that lack a quantity altogether.';
COMMENT ON COLUMN main.coverage.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.coverage.quantity IS 'stream: tables stream and outlier_token, gains over all tokens. last token: gains at the last token in model_gain, prompt_gain and block. update: of attention and feed-forward, in block. attention: table attention. geometry: token_cosine and effective_rank in block. prediction: of every token, raw.token_prediction. weight: head_weight and layer_weight. published gain: published_model [-]';
COMMENT ON COLUMN main.coverage.prompt_set IS 'Prompt set; none for weight and published gain, which are of no set [-]';
COMMENT ON COLUMN main.coverage.is_there IS 'True where the opened store has rows of the quantity, on this prompt set. A model may have it on one set and on no other; tables of main have the set of model_gain [-]';
COMMENT ON COLUMN main.coverage.is_on_any_set IS 'True where it is there on at least one prompt set. It does not say that the model was measured on the others; is_there does. False where the model lacks the quantity altogether [-]';
COMMENT ON COLUMN main.coverage.n_prompts IS 'Prompts that it is there for; NULL where prompts do not enter [1]';
COMMENT ON COLUMN main.coverage.reason IS 'Why it is not there; NULL where it is. A store can hold a part of what was measured. The installed package holds public models on one prompt set, a clone of the repository on all, in data/public. Without a run, the model was not measured so, or its run is in another store. The public models here are those whose weights the Python package index holds [-]';
