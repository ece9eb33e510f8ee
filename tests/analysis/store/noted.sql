-- Queries by the note that an answer to them must have; a query a paragraph. Before a colon stands what the note names.

--- independent rows: several rows of a model, as if they were models

SELECT lab, avg(length), stddev(length)/sqrt(count(*)) FROM stream JOIN model USING (model_id) WHERE
is_last_token GROUP BY lab

SELECT corr(ln(n_parameters), ln(length)) FROM stream JOIN model USING (model_id)

SELECT corr(n_layers, length) FROM stream s, model m WHERE s.model_id = m.model_id AND layer = 0

SELECT conf_low(gain_body) FROM prompt_gain WHERE starts_with(model_id, 'local/')

SELECT avg(length) FROM stream WHERE model_id LIKE 'thermoscope/%'

SELECT layer, avg(gain) FROM block GROUP BY layer

SELECT lab, median(v_spectral) FROM head_weight JOIN model USING (model_id) GROUP BY lab

SELECT lab, avg(entropy) FROM attention JOIN model USING (model_id) GROUP BY ALL

SELECT avg(times_median) FROM outlier_token

SELECT spearman(n_layers, v_spectral) FROM layer_weight JOIN model USING (model_id)

SELECT split_part(model_id, '/', 1), avg(gain_body) FROM prompt_gain GROUP BY 1

WITH s AS (SELECT lab AS l, gain_body AS g FROM prompt_gain JOIN model USING (model_id)) SELECT l, avg(g) FROM
s GROUP BY l

--- quiet: nothing to note where a row is a model or of one model

SELECT model_id, avg(length) FROM stream WHERE prompt_set = 'A_grand_unified' AND layer = 3 AND position > 0
GROUP BY 1

SELECT s.model_id AS m, avg(ln(length)) FROM stream s JOIN model USING (model_id) WHERE prompt_set =
'A_grand_unified' GROUP BY m

SELECT replace(model_id, 'local/', ''), avg(gain_body) FROM prompt_gain WHERE prompt_set = 'A_grand_unified'
GROUP BY 1

SELECT layer, avg(length) FROM stream WHERE model_id LIKE '%gemma%' AND prompt_set = 'A_grand_unified' AND
position > 0 GROUP BY layer

SELECT layer, avg(length) FILTER (prompt_set = 'A_grand_unified' AND NOT position = 0) FROM stream WHERE
model_id = 'local/gemma-3-270m-q4_k_m' GROUP BY ALL

SELECT layer, median(length) FROM stream WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND prompt_set =
'A_grand_unified' GROUP BY layer

SELECT avg(top_share) FROM stream JOIN model m USING (model_id) WHERE m.model_id = 'local/gemma-3-270m-q4_k_m'
AND prompt_set = 'A_grand_unified'

SELECT prompt_set, avg(gain_body) FROM prompt_gain WHERE model_id = 'local/gemma-3-270m-q4_k_m' GROUP BY
prompt_set

SELECT avg(gain_body) FROM (FROM prompt_gain WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND prompt_set =
'A_grand_unified')

SELECT prompt_id, avg(gain_body) FROM prompt_gain WHERE starts_with(model_id, 'local/') GROUP BY ALL

SELECT layer, avg(v_spectral / o_spectral) FROM layer_weight WHERE starts_with(model_id, 'local/') GROUP BY
layer

SELECT avg(gain) FROM block WHERE model_id = 'thermoscope/gpt2-l4-muon' AND blocks_after = 0

SELECT is_trained_here, prompt_id, avg(gain) FROM block JOIN model USING (model_id) WHERE blocks_after = 0
GROUP BY ALL

SELECT count(*) FROM stream WHERE position = 1

SELECT model_id, layer, avg(length), sum(length) / count(*) FROM stream GROUP BY ALL

SELECT max(length) FROM stream

SELECT lab, count(DISTINCT model_id) FROM stream JOIN model USING (model_id) WHERE NOT is_trained_here GROUP
BY lab

WITH per AS (SELECT model_id, avg(length) AS l FROM stream WHERE prompt_set = 'A_grand_unified' AND layer = 0
AND is_last_token GROUP BY model_id) SELECT is_trained_here, avg(l), stddev(l) FROM per JOIN model USING
(model_id) GROUP BY ALL

SELECT model_id, (SELECT avg(length) FROM stream s WHERE s.model_id = m.model_id AND prompt_set =
'A_grand_unified' AND layer = 0 AND position > 0) FROM model m

SELECT avg(gain_body), stddev(gain_body) FROM model_gain WHERE NOT is_trained_here

SELECT avg(gain_body) FROM model_gain WHERE lab = 'thermoscope'

SELECT is_trained_here, avg(gain_body) FROM model_gain GROUP BY ALL

SELECT avg(p.n_layers) FROM published_model p LEFT JOIN model_gain USING (model_id)

SELECT avg(n_layers) FROM model WHERE is_published

SELECT avg(g) FROM (SELECT ln(gain_last_block) AS g FROM published_model)

SELECT prompt_set, count(DISTINCT model_id) FROM prompt_gain GROUP BY prompt_set

SELECT model_id, avg(entropy) FROM attention WHERE model_id LIKE 'thermoscope/%' GROUP BY ALL

SELECT quantity, count(*) FROM coverage WHERE NOT is_there GROUP BY quantity

SELECT quantity, count(*) FROM coverage WHERE is_there GROUP BY quantity

SELECT prompt_set, quantity, count(*) FROM raw.coverage WHERE NOT is_there GROUP BY ALL

SELECT corr(x.h, w.ov_spectral) FROM head_weight w JOIN (SELECT model_id, layer, head, avg(entropy) h FROM
attention WHERE prompt_set = 'A_grand_unified' GROUP BY ALL) x USING (model_id, layer, head) WHERE model_id =
'local/gemma-3-270m-q4_k_m'

SELECT model_id, avg(s.length / b.length_before) FROM stream s JOIN block b USING (model_id, prompt_id, layer)
WHERE b.prompt_set = 'A_grand_unified' GROUP BY model_id

SELECT avg(m.gain_body) FROM model_gain m JOIN model USING (model_id) WHERE NOT m.is_trained_here

SELECT model_id, gain / avg(gain) OVER (PARTITION BY model_id) FROM block WHERE layer > 0

SELECT model_id, avg(gain), exp(avg(ln(gain))) FROM block WHERE layer > 0 GROUP BY model_id

SELECT recipe, shape, avg(log_growth), stddev(log_growth) FROM network GROUP BY ALL

SELECT recipe, avg(log_growth) FROM network GROUP BY recipe

SELECT recipe, corr(seed, log_growth) FROM network GROUP BY recipe

SELECT count(*) FILTER (gain_last_block > 1.5), count(gain_last_block) FROM published_model

SELECT count(*) FROM published_model WHERE gain_last_block IS NOT NULL AND gain_last_block > 1.5

SELECT count(*) FILTER (lab IN ('Meta', 'Google')), count(*) FILTER (n_layers BETWEEN 2 AND 9) FROM published_model

SELECT count(*), count(*) FILTER (suite = 'Pythia') FROM model WHERE suite = 'Pythia'

SELECT model_id, max(v_spectral) / median(v_spectral), arg_max(layer, v_spectral) FROM layer_weight GROUP BY model_id

SELECT layer, avg(v_spectral) FROM layer_weight WHERE model_id LIKE '%gemma%' GROUP BY layer, model_id

SELECT step, recipe, avg(log_growth) FROM network_step GROUP BY step, recipe

SELECT spearman(n_layers, gain_body) FROM model_gain WHERE lab = 'thermoscope'

SELECT is_trained_here, count(*), count(DISTINCT lab) FROM model GROUP BY ALL

SELECT count(*) FROM model WHERE is_published

SELECT stddev(gain_body) FROM prompt_gain WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND prompt_set =
'A_grand_unified'

SELECT avg(gain_penultimate_block_pythia) FROM published_model WHERE suite = 'Pythia'

SELECT spearman(n_layers, gain_penultimate_block_pythia) FROM published_model WHERE suite = 'Pythia'

SELECT suite, avg(gain_penultimate_block) FROM published_model WHERE suite IN ('OPT', 'BLOOM') GROUP BY ALL

SELECT model_id, stddev(ln(growth_after_block_0)) FROM prompt_gain WHERE prompt_set = 'A_grand_unified' GROUP BY
model_id

--- kinds: networks trained here among models of others

SELECT avg(gain_body) FROM model_gain

SELECT spearman(n_layers, gain_body) FROM model_gain

SELECT corr(n_layers, n_parameters) FROM model WHERE is_measured

SELECT n_layers > 4, avg(gain_body) FROM model_gain GROUP BY ALL

SELECT prompt_id, avg(gain_body) FROM prompt_gain GROUP BY prompt_id

SELECT layer, avg(v_spectral) FROM layer_weight GROUP BY layer

SELECT prompt_id, avg(gain) FROM block WHERE blocks_after = 0 GROUP BY ALL

SELECT avg(l) FROM (SELECT model_id, avg(length) l FROM stream WHERE prompt_set = 'A_grand_unified' GROUP BY
model_id)

SELECT avg(g) FROM (SELECT gain_body AS g FROM model_gain)

SELECT avg(m.gain_body) FROM model_gain m LEFT JOIN published_model p ON m.model_id = p.model_id

SELECT avg(gain_body) FILTER (n_layers < 99) FROM model_gain HAVING count(*) > 1

--- pooled sets: models measured on several prompt sets in one number

SELECT avg(length) FROM stream WHERE position > 0

SELECT n_layers > 25, stddev(gain_body) FROM prompt_gain JOIN model USING (model_id) GROUP BY ALL

SELECT avg(gain_body) FROM (FROM prompt_gain WHERE model_id <> 'local/qwen2.5-coder-1.5b-instruct-q4_k_m')

SELECT layer, avg(ln(length)) FROM stream WHERE is_last_token GROUP BY layer

SELECT m.n_layers, (SELECT avg(ln(length)) FROM stream s WHERE s.layer < m.n_layers) FROM model m

SELECT position, count(*) FROM outlier_token GROUP BY position

SELECT avg(gain) FILTER (layer > 0) FROM block

SELECT avg(g) FROM (SELECT model_id, prompt_set, avg(gain_body) g FROM prompt_gain GROUP BY ALL)

--- no lab: networks trained here are no lab

SELECT lab, count(*) FROM model WHERE is_measured GROUP BY lab

SELECT lab, avg(gain_body) FROM model_gain GROUP BY lab

SELECT lab AS l, avg(gain_body) FROM model_gain GROUP BY l

SELECT lab, avg(gain_body) FROM model_gain GROUP BY 1 ORDER BY 2 LIMIT 5

--- scales: several scales in a mean: what keeps them apart, and the query

model_id and layer: SELECT avg(length) FROM stream

layer: SELECT model_id, avg(length) FILTER (position = 1) / avg(length) FROM stream GROUP BY ALL

layer: SELECT model_id, median(length_before) FROM block GROUP BY model_id

model_id: SELECT layer, avg(length) FROM stream WHERE prompt_set = 'A_grand_unified' GROUP BY layer

model_id: SELECT prompt_id, avg(length_after) FROM block WHERE blocks_after = 0 GROUP BY prompt_id

model_id: SELECT matrix, avg(sigma_max) FROM raw.matrix_norm WHERE slicing = 'correct' GROUP BY matrix

model_id: SELECT lab, avg(v_spectral) FROM head_weight JOIN model USING (model_id) GROUP BY lab

model_id: SELECT layer, head, avg(v_spectral) OVER (PARTITION BY layer) FROM head_weight

layer: PIVOT stream ON is_last_token IN (true, false) USING avg(length) GROUP BY model_id

--- repeated: a join repeats rows: the table and the query

head_weight: SELECT corr(w.ov_spectral, a.entropy) FROM head_weight w JOIN raw.attention a USING (model_id, layer,
head) WHERE model_id = 'local/gemma-3-270m-q4_k_m'

head_weight: SELECT corr(ov_spectral, entropy) FROM head_weight JOIN raw.attention USING (model_id, layer, head)
WHERE model_id = 'local/gemma-3-270m-q4_k_m'

model: SELECT stddev(model.n_layers) FROM model, prompt_gain WHERE model.model_id = prompt_gain.model_id

model: SELECT avg(n_layers) FROM model JOIN outlier_token USING (model_id)

layer_weight: SELECT model_id, sum(l.v_frobenius) FROM layer_weight l JOIN head_weight h USING (model_id,
layer) GROUP BY model_id

layer_weight: SELECT layer, avg(l.v_spectral / l.o_spectral) OVER (PARTITION BY layer) FROM layer_weight l
JOIN head_weight h USING (model_id, layer)

--- repeated alike: by a join, in a mean or a correlation of values of one table: the query without the join, and with it

SELECT avg(n_layers) FROM model SEMI JOIN prompt_gain USING (model_id): SELECT avg(model.n_layers) FROM model,
prompt_gain WHERE model.model_id = prompt_gain.model_id

SELECT corr(n_layers, n_parameters) FROM model SEMI JOIN prompt_gain USING (model_id): SELECT corr(m.n_layers,
m.n_parameters) FROM model m JOIN prompt_gain USING (model_id)

SELECT model_id, median(v_frobenius) FROM layer_weight GROUP BY model_id: SELECT model_id, median(l.v_frobenius) FROM
layer_weight l JOIN head_weight h USING (model_id, layer) GROUP BY model_id

SELECT layer, avg(v_frobenius) FROM layer_weight WHERE model_id LIKE '%gemma%' GROUP BY layer: SELECT layer,
avg(l.v_frobenius) FROM layer_weight l JOIN head_weight h USING (model_id, layer) WHERE model_id LIKE '%gemma%' GROUP BY
layer

--- crossed: rows of one model that are of several kinds of unit each: what is said and the query

425 rows are 25 prompts of 17 blocks: SELECT corr(attention_ratio, gain) FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0

425 rows are 25 prompts of 17 blocks: SELECT model_id, conf_low(gain) FROM block WHERE layer > 0 AND model_id = 'local/gemma-3-270m-q4_k_m'
GROUP BY model_id

425 rows are 25 prompts of 17 blocks: SELECT sem(gain) FROM (FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0)

450 rows are 25 prompts of 18 blocks: SELECT regr_slope(length_after, blocks_after) FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m'

25 prompts of 23 positions of 19 depths: SELECT spearman(length, layer) FROM stream WHERE model_id = 'local/gemma-3-270m-q4_k_m'

average by prompt_id: SELECT stddev(length) FROM stream WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer = 3

--- of one kind: rows of one model

SELECT layer, corr(attention_ratio, gain) FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0 GROUP BY layer

SELECT corr(g, layer) FROM (SELECT layer, avg(gain) AS g FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0 GROUP BY layer)

SELECT prompt_id, conf_low(gain) FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0 GROUP BY prompt_id

SELECT model_id, corr(v_spectral, ov_spectral) FROM head_weight GROUP BY model_id

SELECT stddev(gain_body) FROM prompt_gain WHERE model_id = 'local/gemma-3-270m-q4_k_m'

SELECT spearman(entropy, self_share) FROM attention WHERE model_id = 'local/gemma-3-270m-q4_k_m'

SELECT avg(gain) FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0

--- opposite ways: recipes of a mean at one step: how many fall, rise, and the query

5 and 3: SELECT step, avg(log_growth) FROM network_step GROUP BY step

6 and 2: SELECT step, avg(excess_growth) FROM network_step GROUP BY step

5 and 3: SELECT avg(log_growth) FROM network_step WHERE step = 1200

0 and 8: SELECT avg(log_growth) FROM network_step WHERE step = 100

6 and 2: SELECT shape, step, avg(n.log_growth) FROM network_step n WHERE n.step >= 200 GROUP BY ALL

5 and 3: SELECT avg(log_growth) FILTER (step = 1200) FROM network_step

8 and 0: SELECT step, avg(loss) FROM network_step GROUP BY step

1 and 1: SELECT step, avg(log_growth) FROM network_step WHERE recipe IN ('bloom', 'olmo2') GROUP BY step

0 and 0: SELECT step, recipe, avg(log_growth) FROM network_step GROUP BY ALL

--- absent: rows without a value among those that an aggregate, a rank or a WHERE takes: the column and the query

gain_penultimate_block: SELECT base_model_id IS NOT NULL, count(*), avg(gain_penultimate_block) FROM
published_model GROUP BY 1

gain_last_block: SELECT lab, count(*) AS n, max(gain_last_block) FROM published_model GROUP BY lab

gain_penultimate_block: SELECT lab, max(gain_penultimate_block) FROM published_model GROUP BY lab

gain_last_block: SELECT arg_max(model_id, p.gain_last_block) FROM published_model AS p

gain_last_block: SELECT median(ln(gain_last_block)) OVER () FROM published_model

gain_last_block: SELECT lab FROM published_model GROUP BY lab HAVING max(gain_last_block) < 9

gain_last_block: SELECT model_id, max(gain_last_block) AS g FROM published_model GROUP BY 1 ORDER BY g LIMIT 3

gain_last_block: SELECT model_id FROM published_model WHERE gain_last_block < 0.5

gain_last_block: SELECT model_id FROM published_model WHERE gain_last_block BETWEEN 2 AND 3 AND n_layers > 0

gain_last_block: SELECT model_id, gain_last_block AS g FROM published_model ORDER BY g DESC LIMIT 3

gain_last_block: SELECT model_id FROM published_model ORDER BY ln(gain_last_block) LIMIT 3

gain_last_block: SELECT model_id, gain_last_block FROM published_model ORDER BY 2 LIMIT 3

gain_last_block: SELECT model_id FROM published_model WHERE gain_last_block > 1 AND gain_last_block < 2

gain_last_block: SELECT model_id FROM published_model WHERE gain_last_block > 2 OR gain_last_block < 0.5

gain_last_block: SELECT lab, suite, max(gain_last_block) FROM published_model GROUP BY ROLLUP (lab, suite)

gain_last_block: SELECT model_id, rank() OVER (ORDER BY gain_last_block) FROM published_model

base_model_id: SELECT model_id FROM published_model WHERE base_model_id <> 'EleutherAI/pythia-6.9b'

gain_last_block: WITH g AS (SELECT model_id, gain_last_block FROM published_model) SELECT max(gain_last_block) FROM g

--- there: rows without a value that the query knows of, prints or does not take

SELECT lab, max(gain_penultimate_block) FROM published_model WHERE gain_penultimate_block IS NOT NULL GROUP BY lab

SELECT max(gain_last_block) FILTER (gain_last_block IS NOT NULL) FROM published_model

SELECT max(gain_last_block), count(gain_last_block) FROM published_model

SELECT model_id, max(gain_last_block) FROM published_model GROUP BY model_id

SELECT model_id FROM published_model WHERE gain_last_block > 2 OR gain_last_block IS NULL

SELECT model_id FROM published_model WHERE gain_last_block > 2 OR n_layers > 3

SELECT median(coalesce(gain_last_block, 1)) FROM published_model

SELECT max(greatest(gain_last_block, gain_penultimate_block)) FROM published_model

SELECT model_id, gain_last_block FROM published_model ORDER BY gain_last_block

SELECT * FROM published_model ORDER BY 12 LIMIT 3

SELECT model_id FROM published_model WHERE suite = 'Pythia' ORDER BY base_model_id, model_id LIMIT 3

SELECT max(g) FROM (SELECT gain_last_block AS g FROM published_model)

WITH g AS (SELECT * FROM published_model WHERE suite = 'Pythia') SELECT max(gain_penultimate_block_pythia) FROM g

SELECT layer, avg(gain) FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' GROUP BY layer

SELECT model_id, arg_max(layer, gain) FROM block WHERE layer > 0 GROUP BY model_id

--- block 0: has no ratio, and where its gain is

SELECT model_id, max(gain) FROM block GROUP BY model_id

SELECT model_id, layer FROM block WHERE gain > 1 AND model_id LIKE 'local/%'

SELECT model_id, arg_max(layer, gain) FROM (SELECT model_id, layer, avg(gain) AS gain FROM block GROUP BY ALL)
GROUP BY model_id

SELECT model_id, layer, gain FROM block ORDER BY gain LIMIT 3

SELECT b.model_id, avg(b.gain) FROM block b JOIN model m USING (model_id) GROUP BY ALL

WITH b AS (SELECT * FROM block) SELECT model_id, avg(gain) FROM b GROUP BY model_id

--- passed on: rows of a table through WITH or FROM: what stands for the table, and the query

(SELECT * FROM published_model): SELECT lab, avg(gain_penultimate_block) FROM published_model GROUP BY lab

(SELECT model_id, layer, gain FROM block): SELECT model_id, avg(gain) FROM block GROUP BY model_id

(FROM stream WHERE position > 0 ORDER BY layer): SELECT avg(length) FROM stream

(SELECT * EXCLUDE (loss) FROM network): SELECT avg(log_growth), conf_low(log_growth) FROM network

(SELECT *, ln(v_spectral) AS l FROM layer_weight): SELECT model_id, max(v_spectral) v FROM layer_weight GROUP BY 1 ORDER BY v

(FROM network_step): SELECT avg(log_growth) FROM network_step

--- repeated units: rows that repeat a unit, in a store of published figures and the sample

SELECT lab, avg(gain_mean) FROM gain_by_model GROUP BY lab

SELECT corr(n_layers, gain_mean) FROM gain_by_model WHERE suite = 'Pythia' AND metric =
'gain_penultimate_block'

SELECT lab, count(*) FROM gain_by_model GROUP BY lab

SELECT layer, avg(norm) FROM residual_norm GROUP BY layer

SELECT avg(excess) FROM study_growth WHERE study = 'packages'

WITH one AS (FROM gain_by_model) SELECT avg(gain_mean) FROM one

SELECT avg(g) FROM (SELECT gain_mean AS g FROM gain_by_model WHERE metric = 'gain_body')

SELECT lab FROM raw.model WHERE n_layers > (SELECT avg(n_layers) FROM gain_by_model)

SELECT 1 AS x UNION ALL SELECT sum(norm) FROM raw.residual_norm

EXPLAIN SELECT sum(norm) FROM residual_norm

SELECT max(gain_mean), count(DISTINCT model_id) FROM gain_by_model

SELECT model_id, arg_max(layer, sigma_max) FROM matrix_norm WHERE matrix = 'V' GROUP BY 1

SELECT model_id, layer, sigma_max AS s FROM weight_norm ORDER BY s DESC LIMIT 3

SELECT model_id, layer FROM weight_norm WHERE matrix = 'V' ORDER BY 1, sigma_max LIMIT 3

SELECT DISTINCT ON (model_id) model_id, sigma_max FROM weight_norm ORDER BY sigma_max

SELECT model_id, rank() OVER (PARTITION BY matrix ORDER BY sigma_max) FROM matrix_norm

WITH one AS (SELECT lab, gain_mean AS g FROM gain_by_model) SELECT lab, min(g) FROM one GROUP BY 1

SELECT a.gain_mean FROM gain_by_model a JOIN gain_by_model b ON a.model_id = b.base_model_id

--- quiet units: what repeats is grouped, filtered or not aggregated, in the same store

FROM gain_by_model LIMIT 3

SELECT count(*) FROM residual_norm

SELECT metric, max(gain_mean), count(DISTINCT model_id) FROM gain_by_model GROUP BY metric

SELECT max(n_layers), any_value(lab) FROM gain_by_model

SELECT metric, file, avg(gain_mean) FROM gain_by_model GROUP BY 1, 2

SELECT metric, file, avg(gain_mean) FROM gain_by_model GROUP BY ALL

SELECT metric, avg(gain_mean) FROM gain_by_model JOIN primary_run USING (run_id) GROUP BY metric

SELECT metric, avg(gain_mean) FROM gain_by_model g JOIN primary_run p ON p.run_id = g.run_id GROUP BY 1

SELECT model_id, layer, avg(norm) FILTER (site = 'block_output') FROM residual_norm GROUP BY ALL

SELECT avg(excess) FROM study_growth WHERE study = 'packages' AND step = 1200 AND tokens = 'all'

WITH one AS (FROM gain_by_model WHERE metric = 'gain_maximum' AND file LIKE 'high_rho%') SELECT avg(gain_mean) FROM one

SELECT avg(g) FROM (SELECT gain_mean AS g, metric AS m FROM gain_by_model WHERE file LIKE 'high_rho%') WHERE m =
'gain_maximum'

SELECT avg(n) FROM (SELECT DISTINCT model_id, n_layers AS n FROM gain_by_model)

WITH gain_by_model AS (SELECT 1 AS n) SELECT avg(n) FROM gain_by_model

SELECT metric, avg(gain_mean) FROM published_gain GROUP BY metric

SELECT lab, count(*) FROM published_gain GROUP BY lab

SELECT corr(n_layers, gain_mean) FROM published_gain WHERE suite = 'Pythia'

SELECT lab, avg(g.gain_mean) FROM published_gain g WHERE g.metric = 'gain_last_block' GROUP BY ALL

SELECT avg(gain_mean) FROM measured_gain

SELECT count(*) FROM quoted_number WHERE subject NOT IN (SELECT model_id FROM raw.model)

DESCRIBE gain_by_model

SELECT model_id, layer, sigma_max FROM weight_norm ORDER BY model_id, layer LIMIT 3

SELECT model_id, v_spectral FROM layer_weight ORDER BY v_spectral DESC LIMIT 3

SELECT model_id, max(gain), arg_max(layer, gain) FROM block WHERE layer > 0 GROUP BY model_id

SELECT rank() OVER (PARTITION BY matrix, slicing ORDER BY sigma_max) FROM matrix_norm

SELECT a.gain_mean FROM gain_by_model a JOIN gain_by_model b ON a.model_id = b.base_model_id AND a.metric =
b.metric

--- definitions: gains of several definitions taken together, in the same store

SELECT lab, median(gain_mean) FROM published_gain GROUP BY lab

SELECT corr(n_layers, log_gain) FROM published_gain

SELECT lab, count(*) FROM published_gain WHERE gain_mean > 1 GROUP BY ALL

WITH one AS (FROM published_gain WHERE n_layers > 3) SELECT avg(gain_mean) FROM one

SELECT m.year, avg("g".log_gain) FROM published_gain g JOIN raw.model m USING (model_id) GROUP BY 1

--- runs: prompts count again in another run of the tiny model

SELECT avg(norm) FROM raw.stream

SELECT avg(norm) FROM raw.stream WHERE model_id ILIKE '%tiny'

SELECT layer, avg(norm) FROM raw.stream JOIN run USING (run_id, model_id) GROUP BY layer

SELECT avg(gain_mean) FROM raw.model_gain WHERE metric = 'gain_body'

SELECT prompt_id, count(*) FROM prompt_length GROUP BY prompt_id

--- one run: one run of the tiny model counts

SELECT run_id, avg(norm) FROM raw.stream GROUP BY run_id

SELECT avg(norm) FROM raw.stream JOIN primary_run USING (run_id, model_id)

SELECT avg(norm) FROM raw.stream WHERE run_id IN (SELECT run_id FROM primary_run)

SELECT avg(norm) FROM raw.stream JOIN run USING (run_id) WHERE special_tokens = 'default'

SELECT max(norm) FROM raw.stream

SELECT count(*) FROM run

--- dependent: networks of one recipe, and steps of one training

64 networks of 8: SELECT avg(log_growth), conf_low(log_growth) FROM network

64 networks of 8: SELECT step, stddev(log_growth) FROM network_step GROUP BY step

16 networks of 8: SELECT shape, spearman(learning_rate, log_growth) FROM network GROUP BY shape

several steps: SELECT avg(log_growth) FROM network_step

several steps: SELECT recipe, avg(n.loss) FROM network_step n GROUP BY recipe

--- counted: networks trained here that are counted as models

SELECT count(*), count(DISTINCT lab) FROM model WHERE is_measured

SELECT count(DISTINCT model_id) FROM model_gain WHERE gain_body > 1

SELECT gain_body > 1, count(*) FROM model_gain GROUP BY 1

--- spreads: of a mean over blocks, between models of other depth

SELECT model_id, stddev(gain_body) FROM prompt_gain WHERE prompt_set = 'A_grand_unified' GROUP BY model_id

SELECT model_id, var_samp(gain_body) FROM prompt_gain WHERE prompt_set = 'A_grand_unified' GROUP BY ALL ORDER
BY 2 LIMIT 1

--- not met: rows without a value in a comparison that is counted: the column and the query

gain_penultimate_block: SELECT lab, count(*), count(*) FILTER (WHERE gain_penultimate_block > 1) FROM published_model
GROUP BY lab

gain_penultimate_block: SELECT lab, avg(CASE WHEN gain_penultimate_block > 1 THEN 1.0 ELSE 0 END) FROM
published_model GROUP BY lab

gain_last_block: SELECT count(*), count(*) FILTER (1 < gain_last_block) FROM published_model p

gain_last_block: SELECT count(*), count(*) FILTER (direction(gain_last_block) = 'expand') FROM published_model

gain_last_block: SELECT count(*) FROM published_model WHERE gain_last_block > 1

gain_last_block: SELECT lab, count(*) FROM published_model WHERE gain_last_block < 1 AND n_layers > 4 AND d_model > 8
GROUP BY lab

--- spread: of several shapes within a recipe

SELECT recipe, stddev(log_growth) FROM network GROUP BY recipe

SELECT avg(log_growth), conf_low(log_growth) FROM network WHERE recipe = 'olmo2'

SELECT recipe, step, conf_high(excess_growth) FROM network_step GROUP BY ALL

--- file's parameters: parameters that a file may count twice

SELECT model_id, n_parameters FROM model_gain ORDER BY 2 DESC LIMIT 3

SELECT max(n_parameters) FROM model WHERE is_measured

SELECT corr(ln(n_parameters), gain_body) FROM model_gain

--- suites: models of one suite in an interval or a correlation: the numbers and the query

16 models of 7 suites: SELECT spearman(n_parameters, gain_penultimate_block) FROM published_model

5 models of 3 suites in a group: SELECT lab, conf_low(gain_penultimate_block) FROM published_model GROUP BY lab

8 models of one suite: SELECT conf_high(gain_penultimate_block_pythia) FROM published_model

--- side by side: lengths or norms of several models, each on its own scale

SELECT model_id, avg(ov_spectral) FROM head_weight GROUP BY model_id

SELECT model_id AS m, max(v_spectral) v FROM layer_weight GROUP BY m ORDER BY v DESC

SELECT model_id, layer, sum(w.o_frobenius) FROM layer_weight w GROUP BY ALL

SELECT model_id, avg(length_after) AS l FROM block WHERE blocks_after = 0 GROUP BY model_id ORDER BY l DESC

--- near one: a side of 1 that rounding can make

SELECT lab, count(*) FILTER (gain_penultimate_block > 1), count(gain_penultimate_block) FROM published_model GROUP BY lab

SELECT lab FROM published_model GROUP BY lab HAVING max(gain_penultimate_block) > 1 AND min(gain_penultimate_block) < 1

SELECT direction(p.gain_penultimate_block) d, count(gain_penultimate_block) FROM published_model p GROUP BY d

--- siblings: models whose gain is in another column: their number and the query

7: SELECT lab, avg(gain_penultimate_block) FROM published_model GROUP BY lab

7: SELECT model_id FROM published_model WHERE gain_penultimate_block IS NOT NULL ORDER BY gain_penultimate_block

7: WITH p AS (FROM published_model) SELECT count(gain_with_final_norm) FROM p WHERE lab = 'EleutherAI'

0: SELECT lab, avg(gain_penultimate_block) FROM published_model WHERE lab = 'Meta' GROUP BY lab

0: SELECT avg(gain_penultimate_block), avg(gain_penultimate_block_pythia) FROM published_model

--- another gain: models of a group without a gain that have another: their number and the query

1: SELECT lab, avg(gain_last_block) FROM published_model WHERE lab = 'TII' GROUP BY lab

0: SELECT avg(gain_last_block) FROM published_model

--- unequal networks: groups of networks of which unequal shares are left out: fewest, most, query

1 8 shape: SELECT recipe, avg(excess_growth) FROM network WHERE is_beyond_trigram GROUP BY recipe

1 8 shape: SELECT recipe AS r, median(log_growth) FROM network_step n WHERE step = 1200 AND is_beyond_trigram GROUP BY 1 LIMIT 2

8 11 recipe: SELECT shape, avg(excess_growth) FROM network WHERE is_beyond_trigram GROUP BY shape

--- equal networks: groups of which equal shares are taken

SELECT recipe, shape, avg(excess_growth) FROM network WHERE is_beyond_trigram GROUP BY recipe, shape

SELECT recipe, avg(excess_growth) FROM network WHERE seed = 1 AND n_layers > 4 GROUP BY recipe

SELECT shape, avg(excess_growth) FROM network WHERE recipe = 'olmo2' GROUP BY shape

SELECT recipe, avg(excess_growth_at_equal_loss) FROM network GROUP BY recipe

SELECT lab, avg(excess_growth) FROM network GROUP BY lab

--- uneven means: means that one block or model decides: what differs, smallest, largest, query

layer 0.915 205: SELECT model_id, avg(first_length / length) FROM stream GROUP BY model_id

layer 1.04 9.74: SELECT model_id, avg(gain) FROM block GROUP BY model_id

layer 0.06 9.35: SELECT model_id, avg(attention_ratio) FROM block WHERE layer > 0 GROUP BY model_id

layer 0.06 9.35: SELECT avg(b.attention_ratio) AS r FROM block b WHERE model_id LIKE '%gemma%'

layer 1.23 9.74: SELECT round(layer / (n_layers - 1), 1) AS depth, avg(gain) FROM block JOIN model USING (model_id) WHERE NOT is_trained_here GROUP BY depth

layer 1.23 9.74: SELECT floor(3.0 * layer / (layer + blocks_after + 1)), avg(gain) FROM block GROUP BY 1

model_id 1.26 9.74: SELECT layer, avg(gain) FROM block JOIN model USING (model_id) WHERE NOT is_trained_here GROUP BY layer

--- even means: means whose values lie near each other, or are taken apart

SELECT model_id, avg(gain) FROM block WHERE model_id NOT LIKE '%gemma%' GROUP BY model_id

SELECT model_id, layer, avg(first_length / length) FROM stream GROUP BY ALL

SELECT model_id, avg(first_token_share) FROM attention GROUP BY model_id

SELECT avg(b.gain) FROM block b WHERE model_id LIKE '%gemma%' AND layer = 1
