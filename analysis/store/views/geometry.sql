-- Geometry: how the vectors of tokens, and of prompts, lie to each other over depth.

CREATE VIEW geometry_profile AS
SELECT t.run_id,
       t.model_id,
       t.layer,
       t.site,
       t.mean_cosine,
       t.mean_cosine_body,
       t.uniformity,
       t.effective_rank,
       t.relative_rank,
       t.embedding_correlation,
       t.n_prompts,
       p.mean_cosine     AS prompt_cosine,
       p.uniformity      AS prompt_uniformity,
       p.effective_rank  AS prompt_rank
  FROM (SELECT run_id,
               model_id,
               layer,
               site,
               avg(mean_cosine)                                             AS mean_cosine,
               avg(mean_cosine_body)                                        AS mean_cosine_body,
               avg(uniformity)                                              AS uniformity,
               avg(effective_rank)                                          AS effective_rank,
               avg(effective_rank / least(n_tokens, m.d_model))             AS relative_rank,
               avg(embedding_correlation)                                   AS embedding_correlation,
               count(*)                                                     AS n_prompts
          FROM token_geometry
          JOIN model AS m USING (model_id)
         WHERE run_id NOT IN (SELECT run_id FROM perturbed_run)
         GROUP BY run_id, model_id, layer, site) AS t
  LEFT JOIN prompt_geometry AS p USING (run_id, model_id, layer, site);
COMMENT ON VIEW geometry_profile IS 'Geometry of the tokens of a prompt, mean over prompts, and geometry of the prompts'' last tokens among each other.';
COMMENT ON COLUMN geometry_profile.mean_cosine IS 'Anisotropy within a prompt: mean cosine over pairs of tokens [1]';
COMMENT ON COLUMN geometry_profile.mean_cosine_body IS 'The same without position 0 [1]';
COMMENT ON COLUMN geometry_profile.uniformity IS 'ln of the mean over pairs of exp(-2 |u_i - u_j|^2); 0 when all point one way [nat]';
COMMENT ON COLUMN geometry_profile.effective_rank IS 'exp of the entropy of the normalised singular values of the token matrix [1]';
COMMENT ON COLUMN geometry_profile.relative_rank IS 'effective_rank over the smaller of tokens and width, the most it can be [1]';
COMMENT ON COLUMN geometry_profile.embedding_correlation IS 'Correlation over features with the input of block 0, mean over tokens [1]';
COMMENT ON COLUMN geometry_profile.prompt_cosine IS 'Anisotropy across prompts: mean cosine over pairs of last tokens [1]';
COMMENT ON COLUMN geometry_profile.prompt_uniformity IS 'Uniformity across prompts [nat]';
COMMENT ON COLUMN geometry_profile.prompt_rank IS 'Effective rank of the matrix of last tokens, one row per prompt [1]';
