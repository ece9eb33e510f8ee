-- Blocks: how each changes the length of the stream, and what its parts add to it.

CREATE VIEW main.block AS
WITH measured AS (
    SELECT r.run_id, r.model_id, r.prompt_set, m.n_layers
      FROM raw.leading_run AS r
      JOIN raw.model AS m USING (model_id)
), lengths AS (
    SELECT s.run_id,
           s.model_id,
           s.prompt_id,
           s.layer,
           max(s.norm)         FILTER (WHERE s.position = t.n_tokens - 1)         AS last_token,
           max(s.norm_centred) FILTER (WHERE s.position = t.n_tokens - 1)         AS centred,
           sqrt(sum(s.norm * s.norm))                                             AS whole,
           sqrt(sum(s.norm * s.norm) FILTER (WHERE s.position > 0))               AS others
      FROM raw.stream AS s
      LEFT JOIN raw.next_token AS t
        ON t.run_id = s.run_id AND t.model_id = s.model_id AND t.prompt_id = s.prompt_id
     WHERE s.run_id IN (SELECT run_id FROM measured)
     GROUP BY s.run_id, s.model_id, s.prompt_id, s.layer
), pairs AS (
    SELECT *,
           lag(last_token) OVER depth                                             AS last_before,
           lag(centred)    OVER depth                                             AS centred_before,
           lag(whole)      OVER depth                                             AS whole_before,
           lag(others)     OVER depth                                             AS others_before
      FROM lengths
    WINDOW depth AS (PARTITION BY run_id, model_id, prompt_id ORDER BY layer)
), updates AS (
    SELECT u.run_id,
           u.model_id,
           u.prompt_id,
           u.layer,
           max(u.norm / b.norm) FILTER (WHERE u.part = 'attention' AND u.position = t.n_tokens - 1) AS attention_ratio,
           max(u.norm / b.norm) FILTER (WHERE u.part = 'ffn' AND u.position = t.n_tokens - 1)       AS ffn_ratio,
           max(u.cosine) FILTER (WHERE u.part = 'attention' AND u.position = t.n_tokens - 1)        AS attention_cosine,
           max(u.cosine) FILTER (WHERE u.part = 'ffn' AND u.position = t.n_tokens - 1)              AS ffn_cosine,
           avg(u.norm / b.norm) FILTER (WHERE u.part = 'attention' AND u.position > 0 AND NOT b.is_special) AS attention_ratio_body,
           avg(u.norm / b.norm) FILTER (WHERE u.part = 'ffn' AND u.position > 0 AND NOT b.is_special)       AS ffn_ratio_body,
           avg(u.cosine) FILTER (WHERE u.part = 'attention' AND u.position > 0 AND NOT b.is_special)        AS attention_cosine_body,
           avg(u.cosine) FILTER (WHERE u.part = 'ffn' AND u.position > 0 AND NOT b.is_special)              AS ffn_cosine_body
      FROM raw.residual_update AS u
      JOIN raw.stream AS b
        ON b.run_id = u.run_id AND b.model_id = u.model_id AND b.prompt_id = u.prompt_id
       AND b.position = u.position AND b.layer = u.layer - 1
      LEFT JOIN raw.next_token AS t
        ON t.run_id = u.run_id AND t.model_id = u.model_id AND t.prompt_id = u.prompt_id
     WHERE u.run_id IN (SELECT run_id FROM measured)
       AND u.part IN ('attention', 'ffn')
       AND b.norm > 0
     GROUP BY u.run_id, u.model_id, u.prompt_id, u.layer
)
SELECT p.model_id,
       r.prompt_set,
       p.prompt_id,
       p.layer,
       r.n_layers - 1 - p.layer                                                   AS blocks_after,
       p.last_before                                                              AS length_before,
       p.last_token                                                               AS length_after,
       CASE WHEN p.layer > 0 THEN p.last_token / nullif(p.last_before, 0) END     AS gain,
       CASE WHEN p.layer > 0 THEN p.centred / nullif(p.centred_before, 0) END     AS gain_centred,
       CASE WHEN p.layer > 0 THEN p.whole / nullif(p.whole_before, 0) END         AS gain_whole_matrix,
       CASE WHEN p.layer > 0 THEN p.others / nullif(p.others_before, 0) END       AS gain_without_first,
       CASE WHEN p.layer > 0 THEN u.attention_ratio END                           AS attention_ratio,
       CASE WHEN p.layer > 0 THEN u.ffn_ratio END                                 AS ffn_ratio,
       u.attention_cosine,
       u.ffn_cosine,
       CASE WHEN p.layer > 0 THEN u.attention_ratio_body END                      AS attention_ratio_body,
       CASE WHEN p.layer > 0 THEN u.ffn_ratio_body END                            AS ffn_ratio_body,
       u.attention_cosine_body,
       u.ffn_cosine_body,
       g.mean_cosine_body                                                         AS token_cosine,
       g.effective_rank
  FROM pairs AS p
  JOIN measured AS r USING (run_id, model_id)
  LEFT JOIN updates AS u
    ON u.run_id = p.run_id AND u.model_id = p.model_id AND u.prompt_id = p.prompt_id AND u.layer = p.layer
  LEFT JOIN raw.token_geometry AS g
    ON g.run_id = p.run_id AND g.model_id = p.model_id AND g.prompt_id = p.prompt_id AND g.layer = p.layer
   AND g.site = 'block_output'
 WHERE p.layer >= 0;
COMMENT ON VIEW main.block IS 'One row per model measured here, prompt and block: how much the block lengthens the residual stream at the last token. Beside it stands what attention and the feed-forward part add, over one denominator, the length before the block. Block 0 starts from the short embedding, so its ratios would decide any mean: they are NULL here. Its gain is gain_embedding of prompt_gain. One other block or model can still decide a mean of gain: take exp(avg(ln(gain))), or each model apart. Prompts are those of the set in model_gain, plain and tokenised as the tokenizer does. Lengths at every token: stream. Updates at every token, and of blocks with a state or a convolution in the place of attention: raw.residual_update. Other prompt sets and runs: raw.last_token_gain, raw.matrix_gain, raw.update_profile.';
COMMENT ON COLUMN main.block.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.block.prompt_set IS 'Set that the prompt belongs to, that of the model in model_gain [-]';
COMMENT ON COLUMN main.block.prompt_id IS 'Prompt; its text is in prompt_gain [-]';
COMMENT ON COLUMN main.block.layer IS 'Block, 0 to n_layers - 1; block 0 reads the embedding and often lengthens it many times [1]';
COMMENT ON COLUMN main.block.blocks_after IS 'Blocks that come after it: 0 for the last block, 1 for the penultimate [1]';
COMMENT ON COLUMN main.block.length_before IS 'Length of the stream at the last token before the block; NULL where the last token is not known [activation units]';
COMMENT ON COLUMN main.block.length_after IS 'The same after the block, before any final norm [activation units]';
COMMENT ON COLUMN main.block.gain IS 'length_after over length_before: the paper''s gain of a block, eq. (2). NULL for block 0, which lengthens the short embedding many times: prompt_gain.gain_embedding [ratio]';
COMMENT ON COLUMN main.block.gain_centred IS 'The same without the mean over features, which LayerNorm never sees; NULL for block 0 [ratio]';
COMMENT ON COLUMN main.block.gain_whole_matrix IS 'Frobenius norm over all tokens after the block over before it; decided by the first token where that is massive. NULL for block 0 [ratio]';
COMMENT ON COLUMN main.block.gain_without_first IS 'The same over all tokens but the first; NULL for a prompt of one token and for block 0 [ratio]';
COMMENT ON COLUMN main.block.attention_ratio IS 'Length of the vector that attention adds over length_before, at the last token. It is the size of the update; how much longer the stream becomes depends on its direction (attention_cosine). A mean over blocks weighs each block alike, however long the stream is there. NULL for block 0, which adds to the short embedding, and where it was not measured [ratio]';
COMMENT ON COLUMN main.block.ffn_ratio IS 'The same of the feed-forward part (ffn_cosine); NULL for block 0 [ratio]';
COMMENT ON COLUMN main.block.attention_cosine IS 'Cosine of what attention adds and the stream it is added to, at the last token; below 0 it writes against the stream [1]';
COMMENT ON COLUMN main.block.ffn_cosine IS 'The same of the feed-forward part; attention is in the stream it is added to, unless the two work in parallel [1]';
COMMENT ON COLUMN main.block.attention_ratio_body IS 'attention_ratio, mean over the tokens but the first and those that the tokenizer adds; NULL for block 0 [ratio]';
COMMENT ON COLUMN main.block.ffn_ratio_body IS 'ffn_ratio, mean over the same tokens; NULL for block 0 [ratio]';
COMMENT ON COLUMN main.block.attention_cosine_body IS 'attention_cosine, mean over the same tokens [1]';
COMMENT ON COLUMN main.block.ffn_cosine_body IS 'ffn_cosine, mean over the same tokens [1]';
COMMENT ON COLUMN main.block.token_cosine IS 'Anisotropy after the block: mean cosine of two tokens'' vectors, the first token left out; NULL below three tokens or where it was not measured [1]';
COMMENT ON COLUMN main.block.effective_rank IS 'exp of the entropy of the normalised singular values of the tokens'' vectors after the block; NULL where it was not measured [1]';
