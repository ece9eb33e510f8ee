-- The controlled study: what a run's stream does beyond adding equal, unrelated writes.

CREATE VIEW study_growth AS
SELECT r.study_run_id, s.study, s.block, s.cell, s.seed, s.parent_id, s.n_layers, s.d_model, s.n_heads,
       s.learning_rate, s.decay_turns, s.trigram_loss, r.step, r.tokens, r.loss,
       r.first_log_gain, r.first_log_gain_centred,
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
COMMENT ON VIEW study_growth IS 'One row per run, checkpoint and choice of tokens of a controlled study: its responses, the excess over equal writes among them. Take one study, step and tokens: a run has a row for each step and choice of tokens, and studies differ in design.';
COMMENT ON COLUMN study_growth.excess IS 'later_log_gain less equal_writes, the primary response: growth after block 0 beyond that of equal, orthogonal updates [nat]';
COMMENT ON COLUMN study_growth.excess_centred IS 'The same for norms after removing the mean over the features [nat]';
COMMENT ON COLUMN study_growth.penultimate_log_gain IS 'Mean ln(gain) of the penultimate block, which the published law of depth is about [nat]';
COMMENT ON COLUMN study_growth.excess_simple IS 'later_log_gain less ln(L) / 2, which takes the embedding for nothing [nat]';

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
COMMENT ON COLUMN study_progress.n_planned IS 'Runs that the design asks for [1]';
COMMENT ON COLUMN study_progress.n_complete IS 'Runs whose rows are there [1]';
COMMENT ON COLUMN study_progress.n_beat_trigram IS 'Complete runs whose held-out loss is at most that of a byte trigram [1]';
COMMENT ON COLUMN study_progress.left_s IS 'Processor time that the other runs are expected to take; NULL if none is left [s]';
COMMENT ON COLUMN study_progress.cpu_s IS 'Processor time that the complete runs took; NULL if there is none [s]';
