-- Coverage: which quantity of which model is here, and why one is not.

CREATE VIEW main.coverage AS
SELECT c.model_id,
       c.quantity,
       coalesce(bool_or(c.is_there) FILTER (WHERE is_of_main), false)             AS is_there,
       CASE WHEN bool_and(c.prompt_set <> 'none')
            THEN coalesce(max(c.n_prompts) FILTER (WHERE is_of_main), 0)
       END                                                                        AS n_prompts,
       string_agg(c.prompt_set, ', ' ORDER BY c.prompt_set) FILTER (WHERE c.is_there AND c.prompt_set <> 'none') AS prompt_sets,
       CASE WHEN NOT coalesce(bool_or(c.is_there) FILTER (WHERE is_of_main), false)
            THEN coalesce(min(c.reason) FILTER (WHERE is_of_main), min(c.reason))
       END                                                                        AS reason
  FROM (SELECT c.*, c.prompt_set IN ('none', coalesce(r.prompt_set, 'none')) AS is_of_main
          FROM raw.coverage AS c
          LEFT JOIN raw.leading_run AS r USING (model_id)) AS c
 GROUP BY c.model_id, c.quantity;
COMMENT ON VIEW main.coverage IS 'One row per model and quantity, measured or not: whether tables of main have its numbers, and if not, why. Models that were published only are here too. WHERE is_there lists what can be asked. By prompt set: raw.coverage.';
COMMENT ON COLUMN main.coverage.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.coverage.quantity IS 'stream: tables stream and outlier_token, gains over all tokens. last token: gains at the last token in model_gain, prompt_gain and block. update: of attention and feed-forward, in block. attention: table attention. geometry: token_cosine and effective_rank in block. prediction: of every token, raw.token_prediction. weight: head_weight and layer_weight. published gain: published_model [-]';
COMMENT ON COLUMN main.coverage.is_there IS 'True where the opened store has rows of the quantity on the prompt set of model_gain, which tables of main have. Weight and published gain are of no set [-]';
COMMENT ON COLUMN main.coverage.n_prompts IS 'Prompts of this set that it is there for; NULL where prompts do not enter [1]';
COMMENT ON COLUMN main.coverage.prompt_sets IS 'Every prompt set on which the opened store has it, for tables of raw; NULL where it has it on none [-]';
COMMENT ON COLUMN main.coverage.reason IS 'Why it is not there; NULL where it is. Models that were measured for the package are those whose weights the Python package index holds. A store can also hold a part of what was measured [-]';
