-- Attention: where each head looks.

CREATE VIEW main.attention AS
SELECT a.model_id,
       r.prompt_set,
       a.layer,
       a.head,
       count(*)                                                                   AS n_prompts,
       avg(a.entropy / a.n_tokens)                                                AS entropy,
       avg(a.entropy / a.n_tokens / nullif(ln(a.n_tokens), 0))                    AS relative_entropy,
       avg((a.first_column - 1) / nullif(a.n_tokens - 1, 0))                      AS first_token_share,
       avg(list_sum([1 / i FOR i IN range(2, a.n_tokens + 1)]) / nullif(a.n_tokens - 1, 0)) AS first_token_share_if_even,
       avg((a.first_column - 1) / nullif(a.mass - a.diagonal, 0))                 AS first_token_share_of_others,
       avg(a.diagonal / a.mass)                                                   AS self_share,
       avg(a.distance / a.mass)                                                   AS distance
  FROM raw.attention AS a
  JOIN raw.leading_run AS r USING (run_id, model_id)
 GROUP BY a.model_id, r.prompt_set, a.layer, a.head;
COMMENT ON VIEW main.attention IS 'One row per model whose attention was measured here, block and query head: where the head looks. Each number is a mean over the prompts of the set in model_gain, of each prompt over its tokens. Prompts are plain and tokenised as the tokenizer does. Of each map these sums were kept, not the map: scores of induction or previous-token heads cannot be made of them. Table coverage names the models without it. By prompt, as the sums that the shares are made of: raw.attention, which has other prompt sets and runs, too. By prompt with heads taken together: raw.attention_layer, which has other definitions of entropy.';
COMMENT ON COLUMN main.attention.model_id IS 'Model; see model [-]';
COMMENT ON COLUMN main.attention.prompt_set IS 'Set of the prompts, that of the model in model_gain [-]';
COMMENT ON COLUMN main.attention.layer IS 'Block, 0 to n_layers - 1 [1]';
COMMENT ON COLUMN main.attention.head IS 'Query head, 0 to n_heads - 1 [1]';
COMMENT ON COLUMN main.attention.n_prompts IS 'Prompts that the means go over [1]';
COMMENT ON COLUMN main.attention.entropy IS 'Mean entropy of a row of the attention map [nat]';
COMMENT ON COLUMN main.attention.relative_entropy IS 'The same over the logarithm of the tokens of the prompt; prompts of one token left out [1]';
COMMENT ON COLUMN main.attention.first_token_share IS 'Share of their attention that tokens after the first pay to the first token; prompts of one token left out. Compare it with first_token_share_if_even: short prompts give the first token more, whatever the head does. With the first token''s own attention, all of it to itself: raw.attention_layer.sink_share [1]';
COMMENT ON COLUMN main.attention.first_token_share_if_even IS 'first_token_share of a head that spreads the attention of each token evenly over the tokens that it may see: (1/2 + ... + 1/n) / (n - 1) for n tokens. The same for every head of a model [1]';
COMMENT ON COLUMN main.attention.first_token_share_of_others IS 'The same without the attention that tokens pay to themselves: share of the attention paid to other tokens that goes to the first [1]';
COMMENT ON COLUMN main.attention.self_share IS 'Share of attention that tokens pay to themselves [1]';
COMMENT ON COLUMN main.attention.distance IS 'Mean distance looked back [tokens]';
