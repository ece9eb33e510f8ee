-- Coverage: which quantity of which model is here on which prompt set, and why one is not.

CREATE VIEW coverage AS
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
    SELECT DISTINCT prompt_set FROM prompt
), cells AS (
    SELECT m.model_id, a.quantity, a.source, a.measured_as, coalesce(s.prompt_set, 'none') AS prompt_set
      FROM model AS m
     CROSS JOIN asked AS a
      LEFT JOIN sets AS s ON a.quantity NOT IN ('weight', 'published gain')
), counted AS (
    SELECT run_id, model_id, 'residual_norm' AS source, count(DISTINCT prompt_id) AS n_prompts FROM residual_norm GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'next_token', count(*) FROM next_token GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'residual_update', count(DISTINCT prompt_id) FROM residual_update GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'attention', count(DISTINCT prompt_id) FROM attention GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'token_geometry', count(DISTINCT prompt_id) FROM token_geometry GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'token_prediction', count(DISTINCT prompt_id) FROM token_prediction GROUP BY run_id, model_id
     UNION ALL
    SELECT run_id, model_id, 'matrix_norm', 0 FROM matrix_norm GROUP BY run_id, model_id
), published AS (
    SELECT model_id, bool_or(starts_with(metric, 'gain')) AS has_gain FROM published_figure GROUP BY model_id
), runs AS (
    SELECT model_id, coalesce(prompt_set, 'none') AS prompt_set, count(*) AS n_runs
      FROM run
     WHERE perturbation IS NULL
     GROUP BY ALL
), stated AS (
    SELECT run_id, measured_table AS source, string_agg(reason, ' ' ORDER BY quantity) AS reason
      FROM not_measured
     WHERE quantity = 'every row'
     GROUP BY run_id, measured_table
)
SELECT c.model_id,
       c.quantity,
       c.prompt_set,
       CASE c.quantity WHEN 'published gain' THEN coalesce(p.has_gain, false)
                       ELSE n.run_id IS NOT NULL
       END                                                                        AS is_there,
       CASE WHEN c.quantity NOT IN ('weight', 'published gain') THEN coalesce(n.n_prompts, 0) END AS n_prompts,
       CASE WHEN is_there THEN NULL
            WHEN c.quantity = 'published gain' THEN 'the paper''s files have no gain of it'
            WHEN c.model_id NOT IN (SELECT model_id FROM runs) THEN why_no_run(p.model_id IS NOT NULL, o.model_id IS NOT NULL)
            WHEN r.n_runs IS NULL THEN
                 CASE c.quantity WHEN 'weight' THEN 'the opened store has no run over its weights' ELSE 'the opened store has no run of it on this prompt set' END
            WHEN f.run_id IS NULL THEN 'no run that is plain, as tokenised, and conforming; see raw.run'
            WHEN s.reason IS NOT NULL THEN s.reason
            WHEN NOT list_contains(string_split(u.quantities, ','), c.measured_as) THEN 'not asked for when it was measured'
            ELSE 'measured, but its rows are not in the opened store'
       END                                                                        AS reason
  FROM cells AS c
  LEFT JOIN primary_run AS f
    ON f.model_id = c.model_id AND coalesce(f.prompt_set, 'none') = c.prompt_set AND c.measured_as IS NOT NULL
  LEFT JOIN run AS u ON u.run_id = f.run_id AND u.model_id = c.model_id
  LEFT JOIN counted AS n ON n.run_id = f.run_id AND n.model_id = c.model_id AND n.source = c.source
  LEFT JOIN stated AS s ON s.run_id = f.run_id AND s.source = c.source
  LEFT JOIN published AS p ON p.model_id = c.model_id
  LEFT JOIN (SELECT DISTINCT model_id FROM reported_figure) AS o ON o.model_id = c.model_id
  LEFT JOIN runs AS r ON r.model_id = c.model_id AND r.prompt_set = c.prompt_set;
COMMENT ON VIEW coverage IS 'One row per model, quantity and prompt set, measured or not: whether its numbers are here, and if not, why. A model that was measured on one set is missing on the others. On the set that tables of main have: main.coverage.';
COMMENT ON COLUMN coverage.quantity IS 'As in main.coverage [-]';
COMMENT ON COLUMN coverage.prompt_set IS 'Prompt set; none for weight and published gain, which are of no set [-]';
COMMENT ON COLUMN coverage.is_there IS 'True where the opened store has rows of the quantity, on this prompt set [-]';
COMMENT ON COLUMN coverage.n_prompts IS 'Prompts that it is there for; NULL where prompts do not enter [1]';
COMMENT ON COLUMN coverage.reason IS 'Why it is not there; NULL where it is. A store can hold a part of what was measured. The installed package holds public models on one prompt set, a clone of the repository on all, in data/public [-]';
