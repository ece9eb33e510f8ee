-- The residual stream: its length after each block at each token, and tokens that stand out.

CREATE VIEW main.stream AS
SELECT n.model_id,
       r.prompt_set,
       n.prompt_id,
       n.position,
       CASE n.site WHEN 'block_input' THEN -1 ELSE n.layer END                    AS layer,
       n.is_special,
       n.position = t.n_tokens - 1                                                AS is_last_token,
       n.norm                                                                     AS length,
       n.norm_centred                                                             AS length_centred,
       f.norm                                                                     AS first_length,
       n.top_share,
       n.top_feature
  FROM raw.residual_norm AS n
  JOIN raw.leading_run AS r USING (run_id, model_id)
  LEFT JOIN raw.residual_norm AS f
    ON f.run_id = n.run_id AND f.model_id = n.model_id AND f.prompt_id = n.prompt_id
   AND f.site = n.site AND f.layer = n.layer AND f.position = 0
  LEFT JOIN raw.next_token AS t
    ON t.run_id = n.run_id AND t.model_id = n.model_id AND t.prompt_id = n.prompt_id
 WHERE n.position > 0
   AND (n.site = 'block_output' OR (n.site = 'block_input' AND n.layer = 0));
COMMENT ON VIEW main.stream IS 'One row per model measured here, prompt, token after the first and depth: how long the residual stream is there, before any final norm. Prompts are those of the set in model_gain, plain and tokenised as the tokenizer does. The first token is often many times as long as the others and would decide a mean: its length stands in first_length. The paper uses the last (is_last_token). Rows of one model are not independent as models are: average by model before comparing models or labs. A mean over layers mixes depths whose lengths differ many times: take one layer, or group by it. Gains are in block and model_gain. Within a block, after the final norm, embeddings, the first token in a row of its own, other prompt sets and runs: raw.residual_norm.';
COMMENT ON COLUMN main.stream.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.stream.prompt_set IS 'Set that the prompt belongs to, that of the model in model_gain [-]';
COMMENT ON COLUMN main.stream.prompt_id IS 'Prompt; its text is in prompt_gain [-]';
COMMENT ON COLUMN main.stream.position IS 'Token, counted from 0 in the unpadded prompt; the first is left out [1]';
COMMENT ON COLUMN main.stream.layer IS 'Block after which the length is taken, 0 to n_layers - 1. A row with -1 is the embedding as it enters block 0 [1]';
COMMENT ON COLUMN main.stream.is_special IS 'True where the tokenizer added the token. A start token is the first of its prompt, so it is not here [-]';
COMMENT ON COLUMN main.stream.is_last_token IS 'True for the last token of the prompt; NULL where it is not known [-]';
COMMENT ON COLUMN main.stream.length IS 'Euclidean norm of the token''s vector [activation units]';
COMMENT ON COLUMN main.stream.length_centred IS 'The same without the mean over features, which LayerNorm never sees [activation units]';
COMMENT ON COLUMN main.stream.first_length IS 'Length of the first token of the prompt at the same depth, the same for every token of it. Before block 0 it is about as long as the others. In the middle it can be more than a hundred times length, at the end a few times: compare them at one layer. As shipped, it is a token that the tokenizer adds for gemma-3 alone, for the others one of the text [activation units]';
COMMENT ON COLUMN main.stream.top_share IS 'Largest squared feature over the squared length; near 1 for a massive activation [1]';
COMMENT ON COLUMN main.stream.top_feature IS 'Feature that is largest in absolute value [-]';

CREATE VIEW main.outlier_token AS
SELECT o.model_id,
       r.prompt_set,
       o.prompt_id,
       o.position,
       o.is_special,
       o.first_layer,
       o.last_layer,
       o.n_layers_massive,
       o.times_median,
       o.largest_layer,
       o.top_feature,
       o.top_share
  FROM raw.outlier_token AS o
  JOIN raw.leading_run AS r USING (run_id, model_id);
COMMENT ON VIEW main.outlier_token IS 'One row per model measured here, prompt and token that is massive after some block. Massive means more than ten times as long as the median token of its prompt there. Most rows are at position 0, a token that stream leaves out: of all tokens of a prompt, prompt_gain has the number (n_tokens). A model without rows has no such token, if it was measured (see coverage). Prompts are those of the set in model_gain, plain and tokenised as the tokenizer does. By block: raw.massive_activation; other prompt sets and runs: raw.outlier_token.';
COMMENT ON COLUMN main.outlier_token.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.outlier_token.prompt_set IS 'Set that the prompt belongs to, that of the model in model_gain [-]';
COMMENT ON COLUMN main.outlier_token.prompt_id IS 'Prompt; its text is in prompt_gain [-]';
COMMENT ON COLUMN main.outlier_token.position IS 'Token, counted from 0. Its text is recorded nowhere: the tokenizer of the model splits prompt_gain.text into these positions, added tokens (is_special) first [1]';
COMMENT ON COLUMN main.outlier_token.is_special IS 'True where the tokenizer added the token [-]';
COMMENT ON COLUMN main.outlier_token.first_layer IS 'First block after which it is massive [1]';
COMMENT ON COLUMN main.outlier_token.last_layer IS 'Last block after which it is massive [1]';
COMMENT ON COLUMN main.outlier_token.n_layers_massive IS 'Blocks after which it is massive [1]';
COMMENT ON COLUMN main.outlier_token.times_median IS 'Largest length over the median length of the prompt''s tokens at the same depth [ratio]';
COMMENT ON COLUMN main.outlier_token.largest_layer IS 'Block after which that is reached [1]';
COMMENT ON COLUMN main.outlier_token.top_feature IS 'Feature that is largest there [-]';
COMMENT ON COLUMN main.outlier_token.top_share IS 'Share of the squared length that this feature carries there [1]';
