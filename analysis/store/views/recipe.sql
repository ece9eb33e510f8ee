-- Recipes: what public configurations say of how a published model was trained, one row a model.

CREATE MACRO main.rate_sum(peak, final, warmup, decay, steps) AS
    peak * warmup / 2 + (decay - warmup) * (peak + final) / 2 + (CASE WHEN steps > decay THEN steps - decay WHEN steps <= decay THEN 0 END) * final;
COMMENT ON MACRO main.rate_sum IS 'Sum of the learning rates of all steps. The rate rises linearly over warmup steps, falls by a cosine or linearly until step decay, then stays at the final rate [1]';

CREATE VIEW recipe AS
WITH wide AS (
    SELECT model_id,
           max(number) FILTER (WHERE field = 'peak_learning_rate')  AS peak_learning_rate,
           max(number) FILTER (WHERE field = 'final_learning_rate') AS final_learning_rate,
           max(number) FILTER (WHERE field = 'weight_decay')        AS weight_decay,
           max(number) FILTER (WHERE field = 'steps')               AS steps,
           max(number) FILTER (WHERE field = 'decay_steps')         AS decay_steps,
           max(number) FILTER (WHERE field = 'warmup_steps')        AS warmup_steps,
           max(value)  FILTER (WHERE field = 'inner_rule')          AS inner_rule,
           max(number) FILTER (WHERE field = 'inner_rule')          AS inner_number,
           max(value)  FILTER (WHERE field = 'output_rule')         AS output_rule
      FROM training_recipe
     GROUP BY model_id
)
SELECT w.model_id,
       m.lab,
       m.suite,
       m.norm_position,
       m.n_layers,
       m.d_model,
       w.peak_learning_rate,
       w.weight_decay,
       w.steps,
       CASE WHEN w.weight_decay = 0 THEN 0
            ELSE w.weight_decay * rate_sum(w.peak_learning_rate, w.final_learning_rate,
                                           w.warmup_steps, w.decay_steps, w.steps)
       END AS decay_turns,
       w.inner_rule,
       w.output_rule,
       CASE w.inner_rule WHEN 'small_init' THEN sqrt(2 / (5 * m.d_model))
                         ELSE w.inner_number
       END AS inner_spread,
       inner_spread * sqrt(m.d_model) AS inner_spread_scaled
  FROM wide AS w
  JOIN model AS m USING (model_id);
COMMENT ON VIEW recipe IS 'One row per published model whose training is documented: learning rate, decay and start of its weights, from training_recipe. The networks that were trained here by such recipes are in trained_network, where recipe is a name.';
COMMENT ON COLUMN recipe.peak_learning_rate IS 'Largest learning rate [per step]';
COMMENT ON COLUMN recipe.weight_decay IS 'Decoupled weight decay [1]';
COMMENT ON COLUMN recipe.steps IS 'Optimiser steps; NULL where only a plan is public [1]';
COMMENT ON COLUMN recipe.decay_turns IS 'Sum over steps of learning rate times weight decay, kappa: decay alone would divide a weight by exp of it [1]';
COMMENT ON COLUMN recipe.inner_rule IS 'How matrices start: small_init is N(0, 2 / (5 d)), normal has a spread of its own [-]';
COMMENT ON COLUMN recipe.output_rule IS 'How matrices that write to the stream start; NULL where it was not verified [-]';
COMMENT ON COLUMN recipe.inner_spread IS 'Standard deviation with which inner matrices start [weight units]';
COMMENT ON COLUMN recipe.inner_spread_scaled IS 'inner_spread times the square root of d_model, which does not depend on the width [1]';
