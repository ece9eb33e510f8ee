-- The controlled study: what a run's stream does beyond adding equal, unrelated writes.

CREATE VIEW study_growth AS
SELECT r.study_run_id, s.study, s.block, s.cell, s.seed, s.parent_id, s.n_layers, s.d_model, s.n_heads,
       s.learning_rate, s.decay_turns, s.trigram_loss, r.step, r.tokens, r.loss,
       r.first_log_gain, r.first_log_gain_centred,
       r.later_log_gain, r.equal_writes,
       r.later_log_gain - r.equal_writes                 AS excess,
       r.later_log_gain_centred - r.equal_writes_centred AS excess_centred,
       r.later_log_gain - ln(s.n_layers) / 2             AS excess_simple,
       r.last_log_gain, r.last_log_gain_centred, p.log_gain AS penultimate_log_gain,
       r.share_negative, r.share_negative_centred
  FROM study_response AS r
  JOIN study_run AS s USING (study_run_id)
  LEFT JOIN study_profile AS p
    ON p.study_run_id = r.study_run_id AND p.step = r.step AND p.tokens = r.tokens
   AND p.layer = s.n_layers - 2;
COMMENT ON VIEW study_growth IS 'its responses, the excess over equal writes among them.';
COMMENT ON COLUMN study_growth.block IS 'Group of runs within the design; not a transformer block, which the word means elsewhere [-]';
COMMENT ON COLUMN study_growth.later_log_gain IS 'Mean over tokens of ln |x_{L-1}| - ln |x_0|, the growth after block 0: above 0 the stream becomes longer [nat]';
COMMENT ON COLUMN study_growth.equal_writes IS 'Growth that equal, orthogonal updates would give: 1/2 ln(1 + (L - 1) |d_0|^2 / |x_0|^2), d_0 the update of block 0 [nat]';
COMMENT ON COLUMN study_growth.excess IS 'later_log_gain less equal_writes, the primary response: growth after block 0 beyond that of equal, orthogonal updates [nat]';
COMMENT ON COLUMN study_growth.excess_centred IS 'The same for norms after removing the mean over the features [nat]';
COMMENT ON COLUMN study_growth.penultimate_log_gain IS 'Mean ln(gain) of the penultimate block, which the published law of depth is about [nat]';
COMMENT ON COLUMN study_growth.excess_simple IS 'later_log_gain less ln(L) / 2, which takes the embedding for nothing [nat]';

CREATE VIEW study_growth_at_equal_loss AS
SELECT study_run_id, tokens, study, step_before, step AS step_after,
       later_log_gain_before + share * (later_log_gain - later_log_gain_before) AS later_log_gain,
       excess_before + share * (excess - excess_before)                         AS excess
  FROM (SELECT *,
               lag(step, 1, step)                     OVER training AS step_before,
               lag(later_log_gain, 1, later_log_gain) OVER training AS later_log_gain_before,
               lag(excess, 1, excess)                 OVER training AS excess_before,
               lag(loss, 1, loss)                     OVER training AS loss_before,
               coalesce((loss_before - trigram_loss) / nullif(loss_before - loss, 0), 0) AS share
          FROM study_growth
        WINDOW training AS (PARTITION BY study_run_id, tokens ORDER BY step))
 WHERE loss <= trigram_loss
QUALIFY row_number() OVER (PARTITION BY study_run_id, tokens ORDER BY step) = 1;
COMMENT ON VIEW study_growth_at_equal_loss IS 'One row per choice of tokens and network of the controlled study: its growth where its loss falls to that of a byte trigram. It is interpolated between the two measurements around it, linear in the loss. Networks that never get there have no row.';
COMMENT ON COLUMN study_growth_at_equal_loss.step_before IS 'Step of the last measurement before [1]';
COMMENT ON COLUMN study_growth_at_equal_loss.step_after IS 'Step of the first measurement after; the same where the first of all is there [1]';
COMMENT ON COLUMN study_growth_at_equal_loss.later_log_gain IS 'Growth after block 0 there [nat]';
COMMENT ON COLUMN study_growth_at_equal_loss.excess IS 'The same beyond that of equal, orthogonal updates [nat]';

CREATE VIEW trained_network AS
SELECT g.study_run_id,
       g.block,
       l.recipe,
       l.lab,
       l.status = 'documented'    AS is_documented,
       l.shape,
       l.head_width,
       l.text,
       g.seed,
       g.n_layers,
       g.d_model,
       g.n_heads,
       r.n_parameters,
       g.learning_rate,
       g.decay_turns,
       g.step,
       g.loss,
       g.trigram_loss,
       g.loss <= g.trigram_loss   AS is_beyond_trigram,
       g.later_log_gain           AS log_growth,
       g.equal_writes             AS log_growth_of_equal_writes,
       g.excess                   AS excess_growth,
       g.excess_centred           AS excess_growth_centred,
       g.penultimate_log_gain,
       g.last_log_gain
  FROM study_growth AS g
  JOIN study_run AS r
    ON r.study_run_id = g.study_run_id AND r.n_steps = g.step
  JOIN (SELECT study_run_id,
               max(level) FILTER (WHERE factor = 'recipe')   AS recipe,
               max(level) FILTER (WHERE factor = 'lab')      AS lab,
               max(level) FILTER (WHERE factor = 'status')   AS status,
               max(level) FILTER (WHERE factor = 'geometry') AS shape,
               max(level) FILTER (WHERE factor = 'heads')    AS head_width,
               max(level) FILTER (WHERE factor = 'text')     AS text
          FROM study_level
         GROUP BY study_run_id) AS l
    ON l.study_run_id = g.study_run_id
 WHERE g.study = 'packages'
   AND g.tokens = 'without_first';
COMMENT ON VIEW trained_network IS 'One row per network of the controlled study, at the end of its training: its recipe, shape and loss, and how much its stream grows. Those of block documented cross every recipe with every shape, so means by recipe compare like with like there. The study is the design packages, which crosses recipes with shapes at equal steps; means leave out the first token of each window, as registered. The networks of the other designs, and every earlier step, are in study_growth.';
COMMENT ON COLUMN trained_network.block IS 'Group of runs within the design: documented (the eight documented recipes), ranges (values in between), head_width or second_text. Not a transformer block, which the word means elsewhere [-]';
COMMENT ON COLUMN trained_network.recipe IS 'Name of the training recipe: the suite of models whose authors published it, or a variant of it. All its settings are in study_run.recipe, as JSON [-]';
COMMENT ON COLUMN trained_network.lab IS 'Lab that documents the recipe; the networks are all trained here [-]';
COMMENT ON COLUMN trained_network.is_documented IS 'True where every value of the recipe is documented; False where some are drawn from a range [-]';
COMMENT ON COLUMN trained_network.shape IS 'Blocks and width, for example l12d64: 12 blocks of width 64 [-]';
COMMENT ON COLUMN trained_network.head_width IS 'Width of a head, for example w16 [-]';
COMMENT ON COLUMN trained_network.text IS 'Training text: kjv (a Bible) or jargon (the Jargon File) [-]';
COMMENT ON COLUMN trained_network.step IS 'Last step of its training [1]';
COMMENT ON COLUMN trained_network.loss IS 'Held-out loss at the end [nats per byte]';
COMMENT ON COLUMN trained_network.is_beyond_trigram IS 'True where the loss is at most that of a byte trigram [-]';
COMMENT ON COLUMN trained_network.log_growth IS 'later_log_gain of study_growth: logarithm of how much longer the stream becomes after block 0; above 0 it becomes longer [nat]';
COMMENT ON COLUMN trained_network.log_growth_of_equal_writes IS 'equal_writes of study_growth: log_growth if every later block added an orthogonal update as long as that of block 0 [nat]';
COMMENT ON COLUMN trained_network.excess_growth IS 'excess of study_growth: growth of the stream after block 0 beyond that of equal, orthogonal updates; below 0 it grows less [nat]';
COMMENT ON COLUMN trained_network.excess_growth_centred IS 'The same for norms after removing the mean over the features [nat]';

CREATE VIEW study_progress AS
SELECT p.study, p.block,
       count(*)                                             AS n_planned,
       count(r.study_run_id)                                AS n_complete,
       count(*) FILTER (r.loss_after <= r.trigram_loss)     AS n_beat_trigram,
       sum(p.planned_s) FILTER (r.study_run_id IS NULL)     AS left_s,
       sum(r.cpu_s)                                         AS cpu_s
  FROM study_plan AS p
  LEFT JOIN study_run AS r USING (study_run_id)
 GROUP BY p.study, p.block;
COMMENT ON VIEW study_progress IS 'One row per design and block: how many of its runs are complete, and how many of those learnt more than a byte trigram.';
COMMENT ON COLUMN study_progress.block IS 'Group of runs within the design; not a transformer block, which the word means elsewhere [-]';
COMMENT ON COLUMN study_progress.n_planned IS 'Runs that the design asks for [1]';
COMMENT ON COLUMN study_progress.n_complete IS 'Runs whose rows are there [1]';
COMMENT ON COLUMN study_progress.n_beat_trigram IS 'Complete runs whose held-out loss is at most that of a byte trigram [1]';
COMMENT ON COLUMN study_progress.left_s IS 'Processor time that the other runs are expected to take; NULL if none is left [s]';
COMMENT ON COLUMN study_progress.cpu_s IS 'Processor time that the complete runs took; NULL if there is none [s]';
