-- Weights: norms of the heads' own matrices, each distinct matrix once.

CREATE VIEW head_norm AS
SELECT run_id,
       model_id,
       layer,
       matrix,
       is_folded,
       slicing,
       kv_head,
       min(head)                                          AS head,
       count(*)                                           AS n_sharing,
       max(sigma_max)                                     AS sigma_max,
       max(frobenius)                                     AS frobenius,
       pow(max(frobenius) / nullif(max(sigma_max), 0), 2) AS stable_rank
  FROM weight_norm
 WHERE run_id NOT IN (SELECT run_id FROM perturbed_run)
 GROUP BY run_id, model_id, layer, matrix, is_folded, slicing, kv_head,
          CASE WHEN matrix IN ('K', 'V') AND slicing = 'correct' THEN NULL ELSE head END;
COMMENT ON VIEW head_norm IS 'As weight_norm, but a key or value matrix that several query heads share is counted once.';
COMMENT ON COLUMN head_norm.head IS 'First query head that uses the matrix [1]';
COMMENT ON COLUMN head_norm.n_sharing IS 'Query heads that use it [1]';
COMMENT ON COLUMN head_norm.stable_rank IS '(frobenius / sigma_max)^2, between 1 and the rank [1]';

CREATE VIEW layer_head AS
SELECT run_id,
       model_id,
       layer,
       matrix,
       is_folded,
       slicing,
       median(sigma_max)    AS sigma_max,
       max(sigma_max)       AS sigma_max_largest,
       median(frobenius)    AS frobenius,
       median(stable_rank)  AS stable_rank,
       count(*)             AS n_matrices
  FROM head_norm
 GROUP BY run_id, model_id, layer, matrix, is_folded, slicing;
COMMENT ON VIEW layer_head IS 'Each number is the median over the layer''s distinct head matrices. The primary object is matrix = ''OV'', is_folded, slicing = ''correct''. Under RMSNorm only the scale of the stream moves it. Under LayerNorm the direction of ones is still in it; circuit_frobenius (see gauge_partner) has that taken out.';
COMMENT ON COLUMN layer_head.sigma_max IS 'Median largest singular value [weight units]';
COMMENT ON COLUMN layer_head.sigma_max_largest IS 'That of the head where it is largest [weight units]';
COMMENT ON COLUMN layer_head.frobenius IS 'Median Frobenius norm [weight units]';
COMMENT ON COLUMN layer_head.stable_rank IS 'Median stable rank [1]';
COMMENT ON COLUMN layer_head.n_matrices IS 'Distinct matrices [1]';
