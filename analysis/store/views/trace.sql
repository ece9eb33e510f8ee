-- The trace of the sheaf Laplacian: the primary definition and every published one.

CREATE VIEW layer_trace AS
WITH value_norm AS (
    SELECT run_id,
           model_id,
           layer,
           head,
           max(frobenius) FILTER (WHERE NOT is_folded AND slicing = 'correct')    AS correct,
           max(frobenius) FILTER (WHERE is_folded AND slicing = 'correct')        AS folded,
           coalesce(
               max(frobenius) FILTER (WHERE NOT is_folded AND slicing = 'contiguous'),
               max(frobenius) FILTER (WHERE NOT is_folded AND slicing = 'correct')
           )                                                                      AS contiguous
      FROM weight_norm
     WHERE matrix = 'V'
     GROUP BY run_id, model_id, layer, head
), whole_norm AS (
    SELECT run_id,
           model_id,
           layer,
           max(sigma_max) FILTER (WHERE slicing = 'correct')                      AS sigma_max,
           coalesce(
               max(sigma_max) FILTER (WHERE slicing = 'contiguous'),
               max(sigma_max) FILTER (WHERE slicing = 'correct')
           )                                                                      AS sigma_max_contiguous,
           coalesce(
               max(frobenius) FILTER (WHERE slicing = 'contiguous'),
               max(frobenius) FILTER (WHERE slicing = 'correct')
           )                                                                      AS frobenius_contiguous
      FROM matrix_norm
     WHERE matrix = 'V'
     GROUP BY run_id, model_id, layer
), heads AS (
    SELECT a.run_id,
           a.model_id,
           a.prompt_id,
           a.layer,
           r.is_conforming,
           r.weights_run_id,
           any_value(a.n_tokens)                                                  AS n_tokens,
           count(*)                                                               AS n_heads,
           sum((a.mass - a.diagonal) * pow(v.correct, 2))                         AS trace_multi_head,
           sum((a.mass - a.n_tokens) * pow(v.correct, 2))                         AS trace_equation_4,
           sum((a.mass - a.diagonal) * pow(v.contiguous, 2))                      AS trace_multi_head_contiguous,
           CASE WHEN count(v.folded) = count(*)
                THEN sum((a.mass - a.diagonal) * pow(v.folded, 2))
           END                                                                    AS trace_folded,
           sum(a.mass - a.diagonal)                                               AS attention_factor,
           sum(pow(v.correct, 2))                                                 AS weight_factor,
           CASE WHEN count(v.folded) = count(*) THEN sum(pow(v.folded, 2)) END    AS weight_factor_folded,
           max(v.correct) FILTER (WHERE a.head = 0)                               AS first_head,
           max(v.contiguous) FILTER (WHERE a.head = 0)                            AS first_head_contiguous
      FROM attention AS a
      JOIN weights_of_run AS r USING (run_id, model_id)
      JOIN value_norm AS v
        ON v.run_id = r.weights_run_id
       AND v.model_id = a.model_id
       AND v.layer = a.layer
       AND v.head = a.head
     GROUP BY a.run_id, a.model_id, a.prompt_id, a.layer, r.is_conforming, r.weights_run_id
)
SELECT h.run_id,
       h.model_id,
       h.prompt_id,
       h.layer,
       h.is_conforming,
       h.n_tokens,
       h.n_heads,
       h.trace_folded,
       h.trace_folded / nullif((h.n_tokens - 1) * h.n_heads, 0)                   AS trace_normalised,
       h.trace_multi_head,
       h.trace_equation_4,
       h.trace_multi_head_contiguous,
       (m.mass - m.diagonal) * pow(h.first_head, 2)                               AS trace_first_head,
       (m.mass - m.diagonal) * pow(h.first_head_contiguous, 2)                    AS trace_first_head_contiguous,
       (m.mass - m.diagonal) * pow(w.frobenius_contiguous, 2)                     AS trace_mean_map_contiguous,
       abs(m.mass - m.n_tokens) * pow(w.frobenius_contiguous, 2)                  AS trace_equation_4_mean_map,
       pow(w.sigma_max, 2)                                                        AS trace_spectral_proxy,
       pow(w.sigma_max_contiguous, 2)                                             AS trace_spectral_proxy_contiguous,
       h.attention_factor,
       h.weight_factor,
       h.weight_factor_folded
  FROM heads AS h
  LEFT JOIN attention_mean AS m USING (run_id, model_id, prompt_id, layer)
  LEFT JOIN whole_norm AS w
    ON w.run_id = h.weights_run_id
   AND w.model_id = h.model_id
   AND w.layer = h.layer;
COMMENT ON VIEW layer_trace IS 'One row per model, prompt and layer: trace of the sheaf Laplacian, by the primary definition and by each one that was published. Columns that end in _contiguous read V as the notebooks do: the last third of a fused matrix, where the model has one (caveat B2). Elsewhere they read V itself.';
COMMENT ON COLUMN layer_trace.is_conforming IS 'True when both the run and the run that measured its weights conform [-]';
COMMENT ON COLUMN layer_trace.n_tokens IS 'Rows of the map, n [tokens]';
COMMENT ON COLUMN layer_trace.n_heads IS 'Query heads, H [1]';
COMMENT ON COLUMN layer_trace.trace_folded IS 'The primary one among the traces: sum over heads of (sum A - trace A) |W_V diag(gain)|_F^2. The gain of the norm in front of attention is multiplied in; NULL where the model has none of its own, see not_measured [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_normalised IS 'trace_folded over (n - 1) H, the most that the attention factor can be; NULL for one token [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_multi_head IS 'Sum over heads of (sum A - trace A) |W_V|_F^2, which is what the code is meant to compute [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_equation_4 IS 'Sum over heads of (sum A - n) |W_V|_F^2, eq. (4) as printed: rows of a softmax sum to one, so this is rounding (caveat B5) [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_multi_head_contiguous IS 'trace_multi_head with the contiguous slices as heads, as script 20 computed it [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_first_head IS '(sum A - trace A) of the map averaged over heads times |W_V|_F^2 of head 0 [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_first_head_contiguous IS 'The same with the contiguous slice, as script 20 computed it (traces_full) [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_mean_map_contiguous IS '(sum A - trace A) of the averaged map times |W_V|_F^2 of the whole matrix, as notebook 18 [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_equation_4_mean_map IS '|sum A - n| of the averaged map times |W_V|_F^2 of the whole contiguous matrix, as notebook 17: rounding (caveat B5) [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_spectral_proxy IS 'Squared spectral norm of the whole W_V, the proxy of Fig. 8; no attention in it [weight units squared]';
COMMENT ON COLUMN layer_trace.trace_spectral_proxy_contiguous IS 'The same of the contiguous slice [weight units squared]';
COMMENT ON COLUMN layer_trace.attention_factor IS 'Sum over heads of sum A - trace A, at most (n - 1) H. It is the part of the trace that is a property of the function, its partner in gauge_partner [1]';
COMMENT ON COLUMN layer_trace.weight_factor IS 'Sum over heads of |W_V|_F^2 [weight units squared]';
COMMENT ON COLUMN layer_trace.weight_factor_folded IS 'Sum over heads of |W_V diag(gain)|_F^2 [weight units squared]';

CREATE VIEW trace_profile AS
SELECT run_id,
       model_id,
       layer,
       metric,
       avg(trace)  AS trace,
       count(*)    AS n_prompts
  FROM (UNPIVOT (SELECT run_id,
                        model_id,
                        prompt_id,
                        layer,
                        trace_folded,
                        trace_normalised,
                        trace_multi_head,
                        trace_equation_4,
                        trace_multi_head_contiguous,
                        trace_first_head,
                        trace_first_head_contiguous,
                        trace_mean_map_contiguous,
                        trace_equation_4_mean_map,
                        trace_spectral_proxy,
                        trace_spectral_proxy_contiguous
                   FROM layer_trace)
              ON COLUMNS('^trace_')
            INTO NAME metric VALUE trace) AS traces
 GROUP BY run_id, model_id, layer, metric;
COMMENT ON VIEW trace_profile IS 'the mean over prompts, which every estimator of L* starts from.';
COMMENT ON COLUMN trace_profile.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN trace_profile.metric IS 'Definition: a column of layer_trace [-]';
COMMENT ON COLUMN trace_profile.trace IS 'Mean over prompts [weight units squared]';
