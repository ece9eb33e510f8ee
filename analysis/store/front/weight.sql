-- Attention weights: norms of W_Q, W_K, W_V and W_O side by side, by head and by layer.

CREATE VIEW main.head_weight AS
SELECT w.model_id,
       w.layer,
       w.head,
       w.kv_head,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'Q')                             AS q_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'K')                             AS k_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'V')                             AS v_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'O')                             AS o_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'OV')                            AS ov_spectral,
       max(w.frobenius) FILTER (WHERE w.matrix = 'Q')                             AS q_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'K')                             AS k_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'V')                             AS v_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'O')                             AS o_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'OV')                            AS ov_frobenius
  FROM raw.weight_norm AS w
  JOIN raw.primary_run AS r USING (run_id, model_id)
 WHERE NOT w.is_folded
   AND w.slicing = 'correct'
 GROUP BY w.model_id, w.layer, w.head, w.kv_head;
COMMENT ON VIEW main.head_weight IS 'One row per model measured here, block and query head: norms of the head''s own part of the attention weights, as the checkpoint has them. Where model.quantisation is not NULL, they are of a quantised file: near the released weights, but not the same. AWQ also rescales input channels, so norms of such a file are not those of the model it was made from. The gain of the norm in front is left out. So the scale of Q, K and V is not that of O, of another block or of another model. Query heads of one kv_head share W_K and W_V, whose norms stand with each of them. Whole matrices: layer_weight. The gain of the norm in front multiplied in, and the slices that the paper''s notebooks read: raw.weight_norm; each shared matrix once: raw.head_norm.';
COMMENT ON COLUMN main.head_weight.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.head_weight.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN main.head_weight.head IS 'Query head, 0 to n_heads - 1 [1]';
COMMENT ON COLUMN main.head_weight.kv_head IS 'Key and value head that it reads [1]';
COMMENT ON COLUMN main.head_weight.q_spectral IS 'Largest singular value of its W_Q. A model whose heads have no such matrices of their own has no row, and raw.not_measured then says why [weight units]';
COMMENT ON COLUMN main.head_weight.k_spectral IS 'Largest singular value of its W_K [weight units]';
COMMENT ON COLUMN main.head_weight.v_spectral IS 'Largest singular value of its W_V [weight units]';
COMMENT ON COLUMN main.head_weight.o_spectral IS 'Largest singular value of its W_O [weight units]';
COMMENT ON COLUMN main.head_weight.ov_spectral IS 'Largest singular value of W_O W_V, what the head writes for what it reads [weight units]';
COMMENT ON COLUMN main.head_weight.q_frobenius IS 'Frobenius norm of its W_Q [weight units]';
COMMENT ON COLUMN main.head_weight.k_frobenius IS 'Frobenius norm of its W_K [weight units]';
COMMENT ON COLUMN main.head_weight.v_frobenius IS 'Frobenius norm of its W_V [weight units]';
COMMENT ON COLUMN main.head_weight.o_frobenius IS 'Frobenius norm of its W_O [weight units]';
COMMENT ON COLUMN main.head_weight.ov_frobenius IS 'Frobenius norm of W_O W_V [weight units]';

CREATE VIEW main.layer_weight AS
SELECT w.model_id,
       w.layer,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'Q')                             AS q_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'K')                             AS k_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'V')                             AS v_spectral,
       max(w.sigma_max) FILTER (WHERE w.matrix = 'O')                             AS o_spectral,
       max(w.frobenius) FILTER (WHERE w.matrix = 'Q')                             AS q_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'K')                             AS k_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'V')                             AS v_frobenius,
       max(w.frobenius) FILTER (WHERE w.matrix = 'O')                             AS o_frobenius
  FROM raw.matrix_norm AS w
  JOIN raw.primary_run AS r USING (run_id, model_id)
 WHERE w.slicing = 'correct'
 GROUP BY w.model_id, w.layer;
COMMENT ON VIEW main.layer_weight IS 'One row per model measured here and block: norms of the whole attention matrices over all heads, from the right rows of fused matrices. The paper measured over all heads, too, though it wrote: per head. Matrices of the feed-forward part were not measured. Where model.quantisation is not NULL, they are of a quantised file; AWQ also rescales input channels. The gain of the norm in front is left out. So the scale of Q, K and V is not that of O, of another block or of another model. By head: head_weight. The slices that the paper''s notebooks read: raw.matrix_norm. Published norms: published_model.';
COMMENT ON COLUMN main.layer_weight.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.layer_weight.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN main.layer_weight.q_spectral IS 'Largest singular value of W_Q. A model whose heads have no such matrices of their own has no row, and raw.not_measured then says why [weight units]';
COMMENT ON COLUMN main.layer_weight.k_spectral IS 'Largest singular value of W_K [weight units]';
COMMENT ON COLUMN main.layer_weight.v_spectral IS 'Largest singular value of W_V. W_V and W_O can be scaled against each other without a change of any prediction; their product cannot: head_weight.ov_spectral [weight units]';
COMMENT ON COLUMN main.layer_weight.o_spectral IS 'Largest singular value of W_O, whose scale is not that of another model: what W_O gains W_V can lose without a change of any prediction [weight units]';
COMMENT ON COLUMN main.layer_weight.q_frobenius IS 'Frobenius norm of W_Q [weight units]';
COMMENT ON COLUMN main.layer_weight.k_frobenius IS 'Frobenius norm of W_K, shared matrices counted once [weight units]';
COMMENT ON COLUMN main.layer_weight.v_frobenius IS 'Frobenius norm of W_V, shared matrices counted once [weight units]';
COMMENT ON COLUMN main.layer_weight.o_frobenius IS 'Frobenius norm of W_O [weight units]';
