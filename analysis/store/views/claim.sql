-- Claims: whether what a claim is about is a property of the function, the parametrisation or training.

CREATE VIEW claim_freedom AS
WITH asked AS (
    SELECT claim_id, rests_on, about, unnest(string_split(quantity, ',')) AS quantity
      FROM claim_quantity
     WHERE quantity <> ''
), printed AS (
    SELECT metric, model_id FROM published_figure
     UNION
    SELECT metric, model_id FROM published_gain_by_file
)
SELECT a.claim_id,
       a.quantity,
       m.model_id,
       m.norm_kind,
       coalesce(any_value(i.partner), '') AS partner,
       coalesce(string_agg(i.transformation, ' ' ORDER BY i.transformation)
                  FILTER (WHERE NOT i.is_invariant
                            AND (i.transformation <> 'mean_shift' OR m.norm_position IN ('pre', 'post'))), '') AS moved_by
  FROM asked AS a
  JOIN model AS m
    ON (a.about = '' OR list_has_any(string_split(a.about, ','), [m.lab, m.suite, m.model_id]))
   AND (a.rests_on = 'descent' OR m.base_model_id IS NULL)
   AND (EXISTS (FROM printed AS p WHERE p.metric = a.quantity AND p.model_id = m.model_id)
        OR (NOT EXISTS (FROM printed AS p WHERE p.metric = a.quantity)
            AND EXISTS (FROM printed AS p WHERE p.model_id = m.model_id)))
  JOIN gauge_invariance AS i
    ON i.quantity = a.quantity
   AND i.norm_kind = m.norm_kind
 GROUP BY a.claim_id, a.quantity, m.model_id, m.norm_kind;
COMMENT ON VIEW claim_freedom IS 'One row per claim, quantity it rests on and model of the paper it is about: what moves the quantity there. Only changes of the weights that leave every prediction as it is are considered. Models are those whose figure of the quantity is published; of a quantity without any, all that the claim names.';
COMMENT ON COLUMN claim_freedom.quantity IS 'See gauge_quantity [-]';
COMMENT ON COLUMN claim_freedom.partner IS 'Quantity to read in its place; empty where there is none [-]';
COMMENT ON COLUMN claim_freedom.moved_by IS 'Transformations that move it, separated by spaces; empty where it is a property of the function. Where norms stand behind sub-layers (post) the mean is free after every block but the last, so all gains move with it. Where they stand on what a sub-layer adds, the mean is counted as fixed [-]';

CREATE VIEW claim_property AS
WITH models AS (
    SELECT claim_id, model_id, max(moved_by <> '') AS is_free
      FROM claim_freedom
     GROUP BY claim_id, model_id
), counted AS (
    SELECT claim_id, count(*) AS n_models, count(*) FILTER (WHERE is_free) AS n_free
      FROM models
     GROUP BY claim_id
), moves AS (
    SELECT claim_id, string_agg(DISTINCT name, ' ' ORDER BY name) AS moved_by
      FROM (SELECT claim_id, unnest(string_split(moved_by, ' ')) AS name FROM claim_freedom) AS named
     WHERE name <> ''
     GROUP BY claim_id
), partners AS (
    SELECT claim_id, string_agg(DISTINCT partner, ' ' ORDER BY partner) AS partner
      FROM claim_freedom
     WHERE partner <> '' AND moved_by <> ''
     GROUP BY claim_id
)
SELECT q.claim_id,
       CASE q.rests_on WHEN 'network' THEN CASE WHEN coalesce(c.n_free, 0) > 0 THEN 'parametrisation' ELSE 'function' END
                       WHEN 'descent' THEN 'training'
                       ELSE q.rests_on
       END                           AS property,
       q.quantity,
       coalesce(p.partner, '')       AS partner,
       coalesce(v.moved_by, '')      AS moved_by,
       coalesce(c.n_free, 0)         AS n_free,
       coalesce(c.n_models, 0)       AS n_models,
       q.reason
  FROM claim_quantity AS q
  LEFT JOIN counted AS c USING (claim_id)
  LEFT JOIN moves AS v USING (claim_id)
  LEFT JOIN partners AS p USING (claim_id);
COMMENT ON VIEW claim_property IS 'One row per claim: whether its quantity is a property of what a network computes, of how its weights are written down, or of training. Computed from gauge_invariance and the norms of the models it is about.';
COMMENT ON COLUMN claim_property.property IS 'function: no change of the weights that leaves the predictions moves it. parametrisation: some does, in at least one of the models. training: it compares a network with the one it was trained from, in the same coordinates. architecture: the shape alone decides it. record: it is about counts, dates, files or figures, and no network [-]';
COMMENT ON COLUMN claim_property.partner IS 'Quantities to read in place of those that are moved, separated by spaces; empty where there is none [-]';
COMMENT ON COLUMN claim_property.moved_by IS 'Transformations that move it in some of the models, separated by spaces [-]';
COMMENT ON COLUMN claim_property.n_free IS 'Models in which it is moved [1]';
COMMENT ON COLUMN claim_property.n_models IS 'Models of the paper it is about [1]';
