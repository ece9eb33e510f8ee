-- Growth: what the stream does beyond adding equal, unrelated writes, and when a write shrinks it.

CREATE MACRO main.equal_writes(n_writes, first_update, stream) AS
    ln(1 + n_writes * pow(CAST(first_update AS DOUBLE) / stream, 2)) / 2;
COMMENT ON MACRO main.equal_writes IS 'Growth of the logarithm of a length by n orthogonal updates as long as the first: 1/2 ln(1 + n |d_0|^2 / |x_0|^2) [nat]';

CREATE VIEW token_growth AS
WITH later AS (
    SELECT run_id, model_id, prompt_id, position, sum(log_gain) AS later_log_gain, count(*) AS n_blocks
      FROM block_gain
     WHERE layer > 0
     GROUP BY run_id, model_id, prompt_id, position
), first AS (
    SELECT d.run_id, d.model_id, d.prompt_id, d.position, d.norm AS first_update, s.norm AS stream
      FROM residual_update AS d
      JOIN stream AS s USING (run_id, model_id, prompt_id, position, layer)
     WHERE d.part = 'block'
       AND d.layer = 0
       AND s.norm > 0
)
SELECT l.run_id,
       l.model_id,
       l.prompt_id,
       l.position,
       l.later_log_gain,
       equal_writes(m.n_layers - 1, f.first_update, f.stream) AS equal_writes,
       l.later_log_gain - equal_writes                        AS excess,
       l.later_log_gain - ln(m.n_layers) / 2                  AS excess_simple
  FROM later AS l
  JOIN first AS f USING (run_id, model_id, prompt_id, position)
  JOIN model AS m ON m.model_id = l.model_id
 WHERE l.n_blocks = m.n_layers - 1;
COMMENT ON VIEW token_growth IS 'One row per run, prompt and token whose stream never vanishes: how much the stream grows after block 0. Beside it stands how much of that growth equal writes would give.';
COMMENT ON COLUMN token_growth.later_log_gain IS 'Sum of ln(gain) over blocks 1 to L - 1: ln |x_{L-1}| - ln |x_0| [nat]';
COMMENT ON COLUMN token_growth.equal_writes IS 'The growth if every later block added an orthogonal update as long as the first: 1/2 ln(1 + (L - 1) |d_0|^2 / |x_0|^2). Here d_0 is the measured update of block 0 [nat]';
COMMENT ON COLUMN token_growth.excess IS 'later_log_gain less equal_writes [nat]';
COMMENT ON COLUMN token_growth.excess_simple IS 'later_log_gain less 1/2 ln L, which takes the input of block 0 for nothing [nat]';

CREATE VIEW model_growth AS
SELECT run_id,
       model_id,
       avg(excess_last)       AS excess_last,
       avg(excess_body)       AS excess_body,
       avg(excess_simple)     AS excess_simple,
       avg(later_log_gain)    AS later_log_gain,
       avg(equal_writes)      AS equal_writes,
       count(*)               AS n_prompts
  FROM (SELECT g.run_id,
               g.model_id,
               g.prompt_id,
               avg(g.excess)         FILTER (WHERE t.is_last) AS excess_last,
               avg(g.excess)         FILTER (WHERE t.is_body) AS excess_body,
               avg(g.excess_simple)  FILTER (WHERE t.is_last) AS excess_simple,
               avg(g.later_log_gain) FILTER (WHERE t.is_last) AS later_log_gain,
               avg(g.equal_writes)   FILTER (WHERE t.is_last) AS equal_writes
          FROM token_growth AS g
          JOIN token AS t USING (run_id, model_id, prompt_id, position)
         GROUP BY g.run_id, g.model_id, g.prompt_id) AS prompts
 GROUP BY run_id, model_id;
COMMENT ON VIEW model_growth IS 'One row per run: token_growth as the mean over prompts, at the last token unless the name says body tokens.';
COMMENT ON COLUMN model_growth.n_prompts IS 'Prompts that the mean goes over [1]';
COMMENT ON COLUMN model_growth.excess_last IS 'Excess over equal writes at the last token [nat]';
COMMENT ON COLUMN model_growth.excess_body IS 'The same, mean over the body tokens of each prompt; see token [nat]';
COMMENT ON COLUMN model_growth.excess_simple IS 'later_log_gain less 1/2 ln L at the last token [nat]';

CREATE VIEW published_growth AS
SELECT p.model_id,
       p.file,
       p.dtype,
       m.n_layers,
       count(*)                              AS n_blocks,
       sum(ln(p.value))                      AS later_log_gain,
       ln(count(*) + 1) / 2                  AS equal_writes,
       later_log_gain - equal_writes         AS excess_simple,
       p.prompt_set
  FROM published_profile AS p
  JOIN model AS m USING (model_id)
 WHERE p.metric = 'gain_block'
   AND p.layer > 0
 GROUP BY p.model_id, p.file, p.dtype, p.prompt_set, m.n_layers
 UNION ALL
SELECT f.model_id,
       f.file,
       f.dtype,
       m.n_layers,
       m.n_layers - 1,
       ln(f.mean),
       ln(m.n_layers) / 2,
       ln(f.mean) - ln(m.n_layers) / 2,
       f.prompt_set
  FROM published_figure AS f
  JOIN model AS m USING (model_id)
 WHERE f.metric = 'total_amplification';
COMMENT ON VIEW published_growth IS 'growth after block 0 against that of equal writes. Norms of updates were not published, so the input of block 0 is taken for nothing: |x_l|^2 = w^2 (l + 1).';
COMMENT ON COLUMN published_growth.n_blocks IS 'k, blocks after block 0 that the growth goes over; L - 2 where the last block is missing (caveat B1) [1]';
COMMENT ON COLUMN published_growth.later_log_gain IS 'Sum of ln(gain) over blocks 1 to k, gains being means over prompts [nat]';
COMMENT ON COLUMN published_growth.equal_writes IS '1/2 ln(k + 1) [nat]';
COMMENT ON COLUMN published_growth.excess_simple IS 'later_log_gain less equal_writes [nat]';

CREATE VIEW block_write AS
SELECT u.run_id,
       u.model_id,
       u.layer,
       u.part,
       median(u.ratio)                                            AS ratio,
       median(u.cosine)                                           AS cosine,
       avg(CASE WHEN u.cosine < -u.ratio / 2 THEN 1 ELSE 0 END)   AS share_shrinking,
       count(*)                                                   AS n_tokens
  FROM residual_update AS u
  JOIN token AS t USING (run_id, model_id, prompt_id, position)
 WHERE t.is_body
   AND u.ratio IS NOT NULL
   AND u.cosine IS NOT NULL
 GROUP BY u.run_id, u.model_id, u.layer, u.part;
COMMENT ON VIEW block_write IS 'Medians over the body tokens: how long a write is, which way it points, and how often it shrinks the stream. Per token ln(gain) = 1/2 ln(1 + 2 r c + r^2), below 0 exactly where c < -r/2; medians need not obey it.';
COMMENT ON COLUMN block_write.ratio IS 'r, median of |update| / |stream before it| [ratio]';
COMMENT ON COLUMN block_write.cosine IS 'c, median cosine of update and stream [1]';
COMMENT ON COLUMN block_write.share_shrinking IS 'Share of tokens with c < -r/2, whose stream gets shorter [share of tokens]';
COMMENT ON COLUMN block_write.n_tokens IS 'Body tokens that entered [1]';
