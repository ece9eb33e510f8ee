-- The controlled study: small networks trained here, at the end of training and on the way.

CREATE VIEW main.network AS
SELECT n.study_run_id                                                             AS network_id,
       n.recipe,
       r.family,
       n.lab,
       n.shape,
       n.seed,
       n.n_layers,
       n.d_model,
       n.n_heads,
       n.n_parameters,
       n.learning_rate,
       r.weight_decay,
       n.decay_turns,
       n.step                                                                     AS n_steps,
       n.loss,
       n.trigram_loss,
       n.is_beyond_trigram,
       n.log_growth,
       n.log_growth / nullif(n.n_layers - 1, 0)                                   AS log_growth_per_block,
       n.log_growth_of_equal_writes,
       n.excess_growth,
       n.excess_growth_centred,
       CASE WHEN bool_and(n.is_beyond_trigram) OVER (PARTITION BY n.recipe) THEN e.later_log_gain END AS log_growth_at_equal_loss,
       CASE WHEN bool_and(n.is_beyond_trigram) OVER (PARTITION BY n.recipe) THEN e.excess END AS excess_growth_at_equal_loss,
       n.penultimate_log_gain,
       n.last_log_gain
  FROM raw.trained_network AS n
  JOIN raw.study_run AS r USING (study_run_id)
  LEFT JOIN raw.study_growth_at_equal_loss AS e ON e.study_run_id = n.study_run_id AND e.tokens = 'without_first'
 WHERE n.block = 'documented';
COMMENT ON VIEW main.network IS 'One row per network of the main design of the controlled study, at the end of its training. The 64 networks are 8 documented recipes in 4 shapes with 2 seeds each. So means by recipe, shape or seed compare like with like. Networks of one recipe are not independent: average by recipe before an interval or a test over recipes. Within a recipe the 4 shapes differ far more than seeds do: GROUP BY recipe, shape for the spread of seeds. Growth leaves out the first token of each window, as registered. Recipes drawn from ranges, other widths of heads, another text: raw.trained_network; the other designs: raw.study_growth; the way there: network_step. These networks are not in model.';
COMMENT ON COLUMN main.network.network_id IS 'Hash of everything that determines the network; study_run_id in raw [-]';
COMMENT ON COLUMN main.network.recipe IS 'Name of the recipe: the suite of models whose authors published it, or a variant of it. It is everything but shape and size, the kind of block included, so recipes do not differ by training alone. Settings: raw.study_run.recipe; kind of block: family; which factor of a recipe matters: thermoscope study [-]';
COMMENT ON COLUMN main.network.family IS 'Kind of block that the recipe trains, as transformers names it. Recipes of two families differ by their blocks, not by training alone [-]';
COMMENT ON COLUMN main.network.lab IS 'Lab that published the recipe; all networks are trained here [-]';
COMMENT ON COLUMN main.network.shape IS 'Blocks and width, for example l12d64: 12 blocks of width 64 [-]';
COMMENT ON COLUMN main.network.seed IS 'Seed of the weights [-]';
COMMENT ON COLUMN main.network.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN main.network.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN main.network.n_heads IS 'Query heads per block [1]';
COMMENT ON COLUMN main.network.n_parameters IS 'Number of parameters, tied matrices counted once [1]';
COMMENT ON COLUMN main.network.learning_rate IS 'Peak of the schedule, set by the width d_model, so a mean by it compares widths [1]';
COMMENT ON COLUMN main.network.weight_decay IS 'Decay rate of the matrices. A value belongs to few recipes and widths, so a mean by it compares recipes [1]';
COMMENT ON COLUMN main.network.decay_turns IS 'Sum over steps of learning rate times weight decay: decay alone would divide a weight by exp of it. The plan of the study calls it kappa [1]';
COMMENT ON COLUMN main.network.n_steps IS 'Steps of training [1]';
COMMENT ON COLUMN main.network.loss IS 'Held-out loss at the end [nats per byte]';
COMMENT ON COLUMN main.network.trigram_loss IS 'Held-out loss of a byte trigram model of the same text, the yardstick of trained enough [nats per byte]';
COMMENT ON COLUMN main.network.is_beyond_trigram IS 'True where the loss is at most that of the trigram: all networks of 4 recipes, few or none of the other 4. Growth at equal loss: log_growth_at_equal_loss [-]';
COMMENT ON COLUMN main.network.log_growth IS 'Logarithm of how much longer the stream becomes after block 0: above 0 it becomes longer, below 0 shorter. It is a mean over tokens. Its exp is of the kind of growth_after_block_0 of model_gain, which is of the last token. Deeper networks have more blocks to grow in: compare depths by log_growth_per_block [nat]';
COMMENT ON COLUMN main.network.log_growth_per_block IS 'log_growth over the blocks that make it, n_layers - 1: the mean ln(gain) of a block after block 0. Its exp is of the kind of gain_body of model_gain [nat]';
COMMENT ON COLUMN main.network.log_growth_of_equal_writes IS 'log_growth if every later block added an orthogonal update as long as that of block 0 [nat]';
COMMENT ON COLUMN main.network.excess_growth IS 'log_growth less log_growth_of_equal_writes. Below 0 the stream becomes less long than equal, orthogonal updates would make it; whether it becomes shorter is in log_growth [nat]';
COMMENT ON COLUMN main.network.excess_growth_centred IS 'The same without the mean over features [nat]';
COMMENT ON COLUMN main.network.log_growth_at_equal_loss IS 'log_growth where the loss first falls to trigram_loss, between two measurements, linear in the loss. NULL for the 4 recipes of which some network never gets there, so recipes that have it are compared on all their networks [nat]';
COMMENT ON COLUMN main.network.excess_growth_at_equal_loss IS 'excess_growth at that point; NULL for the same recipes [nat]';
COMMENT ON COLUMN main.network.penultimate_log_gain IS 'Mean ln(gain) of the last block but one [nat]';
COMMENT ON COLUMN main.network.last_log_gain IS 'Mean ln(gain) of the last block; above 0 it lengthens the stream [nat]';

CREATE VIEW main.network_step AS
SELECT g.study_run_id                                                             AS network_id,
       g.step,
       n.recipe,
       n.family,
       n.shape,
       n.seed,
       n.n_layers,
       n.d_model,
       g.loss,
       g.loss <= g.trigram_loss                                                   AS is_beyond_trigram,
       g.later_log_gain                                                           AS log_growth,
       g.later_log_gain / nullif(n.n_layers - 1, 0)                               AS log_growth_per_block,
       g.excess                                                                   AS excess_growth,
       g.excess_centred                                                           AS excess_growth_centred,
       g.first_log_gain,
       g.penultimate_log_gain,
       g.last_log_gain,
       g.share_negative
  FROM raw.study_growth AS g
  JOIN main.network AS n ON n.network_id = g.study_run_id
 WHERE g.study = 'packages'
   AND g.tokens = 'without_first';
COMMENT ON VIEW main.network_step IS 'One row per network of table network and step of its training at which it was measured; step 0 is before the first. A mean over all steps mixes training, untrained networks included, with its end. Group by step and recipe, since growth falls with training under some recipes and rises under others, or take table network for the end. Networks of one recipe are not independent: average by recipe before an interval. The first token of each window is left out, as registered. Other designs, and means with the first token: raw.study_growth.';
COMMENT ON COLUMN main.network_step.network_id IS 'Network; see network [-]';
COMMENT ON COLUMN main.network_step.step IS 'Steps taken before the measurement [1]';
COMMENT ON COLUMN main.network_step.recipe IS 'Recipe, the kind of block included; see network [-]';
COMMENT ON COLUMN main.network_step.family IS 'Kind of block; see network [-]';
COMMENT ON COLUMN main.network_step.shape IS 'Blocks and width [-]';
COMMENT ON COLUMN main.network_step.seed IS 'Seed of the weights [-]';
COMMENT ON COLUMN main.network_step.n_layers IS 'Number of transformer blocks, L [1]';
COMMENT ON COLUMN main.network_step.d_model IS 'Width of the residual stream [1]';
COMMENT ON COLUMN main.network_step.loss IS 'Held-out loss at that step [nats per byte]';
COMMENT ON COLUMN main.network_step.is_beyond_trigram IS 'True where the loss is at most that of a byte trigram. The first such step is below that loss, not at it: network.log_growth_at_equal_loss [-]';
COMMENT ON COLUMN main.network_step.log_growth IS 'As in network, at that step [nat]';
COMMENT ON COLUMN main.network_step.log_growth_per_block IS 'As in network, at that step [nat]';
COMMENT ON COLUMN main.network_step.excess_growth IS 'As in network, at that step [nat]';
COMMENT ON COLUMN main.network_step.excess_growth_centred IS 'The same without the mean over features [nat]';
COMMENT ON COLUMN main.network_step.first_log_gain IS 'Mean ln(gain) of block 0 [nat]';
COMMENT ON COLUMN main.network_step.penultimate_log_gain IS 'Mean ln(gain) of the last block but one [nat]';
COMMENT ON COLUMN main.network_step.last_log_gain IS 'Mean ln(gain) of the last block [nat]';
COMMENT ON COLUMN main.network_step.share_negative IS 'Share of the blocks after block 0 whose mean ln(gain) is below 0 [1]';
