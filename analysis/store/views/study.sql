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
COMMENT ON VIEW study_growth IS 'One row per run, checkpoint and choice of tokens of a controlled study: its responses, the excess over equal writes among them.';
COMMENT ON COLUMN study_growth.excess IS 'later_log_gain less equal_writes, the primary response: growth after block 0 beyond that of equal, orthogonal updates [nat]';
COMMENT ON COLUMN study_growth.excess_centred IS 'The same for norms after removing the mean over the features [nat]';
COMMENT ON COLUMN study_growth.penultimate_log_gain IS 'Mean ln(gain) of the last block but one, which the published law of depth is about [nat]';
COMMENT ON COLUMN study_growth.excess_simple IS 'later_log_gain less ln(L) / 2, which takes the embedding for nothing [nat]';
