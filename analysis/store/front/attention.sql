-- Attention: where each head looks.

CREATE VIEW main.attention AS
SELECT a.model_id,
       r.prompt_set,
       a.prompt_id,
       a.layer,
       a.head,
       a.n_tokens,
       a.entropy / a.n_tokens                                                     AS entropy,
       a.entropy / a.n_tokens / nullif(ln(a.n_tokens), 0)                         AS relative_entropy,
       a.first_column / a.mass                                                    AS first_token_share,
       (a.first_column - 1) / nullif(a.mass - a.diagonal, 0)                      AS first_token_share_of_others,
       a.diagonal / a.mass                                                        AS self_share,
       a.distance / a.mass                                                        AS distance
  FROM raw.attention AS a
  JOIN raw.leading_run AS r USING (run_id, model_id);
COMMENT ON VIEW main.attention IS 'One row per model whose attention was measured here, prompt, block and query head: where the head looks, means over the tokens of the prompt. A head has a row for each prompt: to count or rank heads, or to correlate over blocks, average over prompts (and heads) first. Table coverage names the models without it. Prompts are those of the set in model_gain, plain and tokenised as the tokenizer does. Sums that the shares are made of, other prompt sets and runs: raw.attention; heads taken together, other definitions of entropy: raw.attention_layer.';
COMMENT ON COLUMN main.attention.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.attention.prompt_set IS 'Set that the prompt belongs to, that of the model in model_gain [-]';
COMMENT ON COLUMN main.attention.prompt_id IS 'Prompt; its text is in prompt_gain [-]';
COMMENT ON COLUMN main.attention.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN main.attention.head IS 'Query head, 0 to n_heads - 1 [1]';
COMMENT ON COLUMN main.attention.n_tokens IS 'Tokens of the prompt [tokens]';
COMMENT ON COLUMN main.attention.entropy IS 'Mean entropy of a row of the attention map [nat]';
COMMENT ON COLUMN main.attention.relative_entropy IS 'The same over ln n_tokens; NULL for one token [1]';
COMMENT ON COLUMN main.attention.first_token_share IS 'Share of all attention that goes to the first token, its own attention to itself included: mean over the tokens of the prompt. Where attention is spread evenly over the tokens that each may see, it is H_n / n. Here H_n = 1 + 1/2 + ... + 1/n and n = n_tokens: .27 at 11 tokens, .08 at 60. So prompts of other lengths, and models of other tokenizers, have another baseline [1]';
COMMENT ON COLUMN main.attention.first_token_share_of_others IS 'Share of the attention paid to other tokens that goes to the first token. An even spread gives (H_n - 1) / (n - H_n), see first_token_share. NULL where tokens pay none to others [1]';
COMMENT ON COLUMN main.attention.self_share IS 'Share of attention that tokens pay to themselves [1]';
COMMENT ON COLUMN main.attention.distance IS 'Mean distance looked back [tokens]';
