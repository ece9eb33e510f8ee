-- Gains net of the number by which a block multiplies the stream, which is a choice of how weights are written.

CREATE VIEW net_gain AS
SELECT g.run_id,
       g.model_id,
       g.prompt_id,
       g.layer,
       g.position,
       g.is_special,
       g.gain,
       u.layer_scale,
       g.gain / abs(nullif(u.layer_scale, 0))             AS gain_net,
       g.log_gain - ln(abs(nullif(u.layer_scale, 0)))     AS log_gain_net
  FROM block_gain AS g
  JOIN residual_update AS u
    ON u.run_id = g.run_id
   AND u.model_id = g.model_id
   AND u.prompt_id = g.prompt_id
   AND u.layer = g.layer
   AND u.position = g.position
 WHERE u.part = 'block'
   AND u.layer_scale IS NOT NULL;
COMMENT ON VIEW net_gain IS 'One row per model, prompt, layer and token of models whose blocks multiply the stream by a stored number (Gemma 4). It is the gain that the block would have if that number were moved into the weights around it. The logits stay the same (collect gauge --transformations layer_fold).';
COMMENT ON COLUMN net_gain.layer IS 'Block, 0 to n_layers - 1; block 0 reads the embedding [1]';
COMMENT ON COLUMN net_gain.gain IS 'As in block_gain; free in these models, for the stored number is [ratio]';
COMMENT ON COLUMN net_gain.layer_scale IS 'The number that the block multiplies by; see residual_update [1]';
COMMENT ON COLUMN net_gain.gain_net IS 'gain over |layer_scale|; the same however the number is chosen; NULL where it is zero [ratio]';
COMMENT ON COLUMN net_gain.log_gain_net IS 'ln gain_net [nat]';
