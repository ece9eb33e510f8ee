-- Evidence: measured and published gains side by side, with the design of each model.

CREATE VIEW gain_definition AS
SELECT metric, symbol, definition
  FROM metric
 WHERE metric IN ('gain_block', 'gain_last_block', 'gain_penultimate_block', 'gain_with_final_norm',
                  'gain_whole_matrix', 'gain_without_first', 'gain_embedding', 'gain_geometric_mean', 'gain_body',
                  'gain_maximum');
COMMENT ON VIEW gain_definition IS 'One row per definition of a gain of blocks: what the metric of prompt_gain, model_gain and gain_by_model means. Two more metrics are there, gain_embedding_whole_matrix and total_amplification: metric defines them.';

CREATE VIEW published_gain_by_file AS
SELECT f.model_id,
       f.prompt_set,
       f.metric,
       f.dtype,
       f.file,
       f.mean AS gain_mean,
       f.sd   AS gain_sd,
       f.n    AS n_prompts,
       f.caveats
  FROM published_figure AS f
 WHERE f.metric IN (SELECT metric FROM gain_definition)
 UNION ALL
SELECT p.model_id,
       p.prompt_set,
       'gain_maximum',
       p.dtype,
       p.file,
       max(p.value),
       NULL,
       f.n,
       p.caveats
  FROM published_profile AS p
  JOIN published_figure AS f
    ON f.model_id = p.model_id
   AND f.file = p.file
   AND f.prompt_set = p.prompt_set
   AND f.dtype = p.dtype
   AND f.metric = 'gain_penultimate_block'
 WHERE p.metric = 'gain_block'
   AND p.layer > 0
 GROUP BY p.model_id, p.prompt_set, p.dtype, p.file, p.caveats, f.n
 UNION ALL
SELECT f.model_id,
       f.prompt_set,
       'gain_body',
       f.dtype,
       f.file,
       pow(f.mean, 1.0 / (m.n_layers - 1)),
       NULL,
       f.n,
       f.caveats
  FROM published_figure AS f
  JOIN model AS m USING (model_id)
 WHERE f.metric = 'total_amplification';
COMMENT ON VIEW published_gain_by_file IS 'Figures as published, and two that are made of them. The largest block gain of each published profile is a maximum of means over prompts; the measured one is a mean of maxima. It lacks the last block (caveat B1). The other is gain_body, the (L-1)-th root of the mean total amplification.';
COMMENT ON COLUMN published_gain_by_file.gain_mean IS 'The gain as published: the mean over prompts of the ratios, or what the comment of the view says of gain_maximum and gain_body [ratio]';
COMMENT ON COLUMN published_gain_by_file.gain_sd IS 'Standard deviation over prompts; NULL where the file does not hold it [ratio]';
COMMENT ON COLUMN published_gain_by_file.n_prompts IS 'Prompts that the mean goes over [1]';

CREATE VIEW raw_value AS
SELECT file, path, metric, statistic, model_id, prompt_set, prompt_id, layer, dtype, value, unit, caveats
  FROM published_value
 UNION ALL
SELECT file, path, metric, statistic, model_id, prompt_set, prompt_id, layer, dtype, value, unit, caveats
  FROM published_excerpt
 WHERE file NOT IN (SELECT file FROM published_value);
COMMENT ON VIEW raw_value IS 'Of a file that has been imported (published_value) all numbers are here; of any other, what is shipped because it decides a claim (published_excerpt). A model that has none here may have figures, in published_figure.';

CREATE MACRO main.pooling_of(metric) AS
    CASE WHEN metric IN ('gain_whole_matrix', 'gain_embedding_whole_matrix') THEN 'frobenius'
         WHEN metric = 'gain_without_first' THEN 'frobenius_without_first'
         ELSE 'last_token'
     END;
COMMENT ON MACRO main.pooling_of IS 'Tokens whose length a measured or published gain compares: last_token, frobenius (Frobenius norm over all tokens) or frobenius_without_first [-]';

CREATE VIEW gain_evidence AS
SELECT 'measured'                                   AS source,
       g.model_id,
       g.prompt_set,
       g.metric,
       r.dtype_compute                              AS dtype,
       g.run_id                                     AS file,
       g.gain_mean,
       g.gain_sd,
       g.n_prompts,
       r.rendering,
       r.is_conforming,
       ''                                           AS caveats,
       g.run_id,
       r.special_tokens,
       r.revision_name,
       r.revision,
       r.device,
       pooling_of(g.metric)                         AS pooling
  FROM model_gain AS g
  JOIN run AS r USING (run_id, model_id)
 UNION ALL
SELECT 'published',
       model_id,
       prompt_set,
       metric,
       dtype,
       file,
       gain_mean,
       gain_sd,
       n_prompts,
       'plain',
       NULL,
       caveats,
       NULL,
       NULL,
       NULL,
       NULL,
       NULL,
       pooling_of(metric)
  FROM published_gain_by_file
 UNION ALL
SELECT 'reported',
       f.model_id,
       NULL,
       f.metric,
       f.dtype,
       f.source_id,
       f.mean,
       f.sd,
       f.n * s.n_prompts,
       s.rendering,
       NULL,
       '',
       NULL,
       NULL,
       NULL,
       NULL,
       NULL,
       s.pooling
  FROM reported_figure AS f
  JOIN reported_source AS s USING (source_id)
 WHERE starts_with(f.metric, 'gain_')
    OR f.metric = 'total_amplification';
COMMENT ON VIEW gain_evidence IS 'everything known about gains at the level of models. The file of a measured gain is its run_id, that of a reported one its source_id. A model measured in several ways has several, told apart by run_id and by what run says of it. Join primary_run on run_id for one row per model and prompt set.';
COMMENT ON COLUMN gain_evidence.source IS 'published (a figure of the paper), measured (a run of this project) or reported (lengths that others measured, see reported_source) [-]';
COMMENT ON COLUMN gain_evidence.n_prompts IS 'Prompts that the mean goes over; NULL where a reported source does not say [1]';
COMMENT ON COLUMN gain_evidence.prompt_set IS 'Prompt set; NULL for reported gains, see reported_source.prompts [-]';
COMMENT ON COLUMN gain_evidence.pooling IS 'Tokens whose length is compared: last_token, as in the paper. Measured and published gains also have frobenius (all tokens) and frobenius_without_first. For reported gains see reported_source. Gains of different poolings are different quantities [-]';
COMMENT ON COLUMN gain_evidence.rendering IS 'plain or chat, as in run or reported_source; all published prompts are plain [-]';
COMMENT ON COLUMN gain_evidence.is_conforming IS 'As in run; NULL for published and reported figures, whose models nobody checked [-]';
COMMENT ON COLUMN gain_evidence.run_id IS 'Run that measured it; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_evidence.special_tokens IS 'Policy asked for, as in run; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_evidence.revision_name IS 'As in run: with revision, which checkpoint of the model it is; NULL for published and reported figures. Others that hold the same weights: run_revision [-]';
COMMENT ON COLUMN gain_evidence.revision IS 'As in run; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_evidence.device IS 'As in run; NULL for published and reported figures [-]';

CREATE VIEW gain_by_model AS
SELECT e.source,
       e.model_id,
       m.lab,
       m.suite,
       m.family,
       m.base_model_id,
       m.norm_position,
       e.prompt_set,
       e.metric,
       e.dtype,
       e.file,
       e.gain_mean,
       e.gain_sd,
       e.n_prompts,
       e.rendering,
       e.is_conforming,
       ln(e.gain_mean)                      AS log_gain,
       gain_sign(ln(e.gain_mean), 0)        AS sign_strict,
       gain_sign(ln(e.gain_mean), rounding_band()) AS sign_banded,
       m.n_layers,
       m.n_heads,
       m.d_head,
       m.d_model,
       head_density(m.n_heads, m.d_head)    AS rho,
       log10(m.n_parameters)                AS log_parameters,
       gain_bound(m.n_layers)               AS bound,
       e.caveats,
       e.run_id,
       e.special_tokens,
       e.revision_name,
       e.revision,
       e.device,
       e.pooling
  FROM gain_evidence AS e
  JOIN model AS m USING (model_id);
COMMENT ON VIEW gain_by_model IS 'Rows of gain_evidence with the model''s lab, suite, geometry and scale: the frame that most analyses start from.';
COMMENT ON COLUMN gain_by_model.log_gain IS 'ln(gain_mean): its sign is the sign of the gain [nat]';
COMMENT ON COLUMN gain_by_model.rho IS 'Head density, n_heads over d_head, section 5.4 of the paper [1]';
COMMENT ON COLUMN gain_by_model.rendering IS 'plain or chat, as in run or reported_source; all published prompts are plain [-]';
COMMENT ON COLUMN gain_by_model.is_conforming IS 'As in run; NULL for published and reported figures, whose models nobody checked [-]';
COMMENT ON COLUMN gain_by_model.run_id IS 'Run that measured it; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_by_model.special_tokens IS 'Policy asked for, as in run; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_by_model.revision_name IS 'As in run: with revision, which checkpoint of the model it is; NULL for published and reported figures. Others that hold the same weights: run_revision [-]';
COMMENT ON COLUMN gain_by_model.revision IS 'As in run; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_by_model.device IS 'As in run; NULL for published and reported figures [-]';
COMMENT ON COLUMN gain_by_model.sign_strict IS 'dampen when the mean gain is below 1, expand when it is above, neutral when it is 1 to the last digit [-]';
COMMENT ON COLUMN gain_by_model.sign_banded IS 'neutral when |ln gain| is at most rounding_band(), which rounding in half precision can make [-]';
COMMENT ON COLUMN gain_by_model.log_parameters IS 'Decimal logarithm of the parameter count [1]';
COMMENT ON COLUMN gain_by_model.bound IS 'Largest gain of a block that eq. (3) of the paper allows, 10^(1/n_layers) [ratio]';

CREATE VIEW ranked_gain AS
SELECT e.*,
       row_number() OVER (
           PARTITION BY e.source, e.model_id
               ORDER BY list_position(['gain_penultimate_block', 'gain_last_block', 'gain_whole_matrix'], e.metric),
                        e.n_prompts DESC,
                        e.file
       ) AS place
  FROM gain_by_model AS e
 WHERE e.metric IN ('gain_penultimate_block', 'gain_last_block', 'gain_whole_matrix')
   AND (e.source = 'published' OR e.run_id IN (SELECT run_id FROM primary_run));
COMMENT ON VIEW ranked_gain IS 'the gains from which published_gain and measured_gain take the first.';
COMMENT ON COLUMN ranked_gain.place IS 'Rank of the row within its source and model. The penultimate block comes before the last, and the last before the whole matrix. Then more prompts come before fewer, then files by name [1]';

CREATE VIEW published_gain AS
SELECT model_id, lab, suite, family, base_model_id, norm_position, n_layers, n_heads, d_head, d_model, rho, log_parameters,
       bound, metric, gain_mean, gain_sd, log_gain, sign_strict, sign_banded, n_prompts, prompt_set, dtype, file, caveats
  FROM ranked_gain
 WHERE source = 'published'
   AND place = 1;
COMMENT ON VIEW published_gain IS 'One row per published model: its gain, by one rule; not all have the same metric, so filter metric to compare one definition. The gain of the penultimate block is taken, which is the one the paper plots. A model without it has that of the last block, or else that of the whole matrix. Where several files have it, the file over the most prompts is taken; ties go to the first by name. Column base_model_id is NULL but for fine-tuned models. Every other definition and file: published_gain_by_file.';

CREATE VIEW measured_gain AS
SELECT model_id, lab, suite, family, base_model_id, norm_position, n_layers, n_heads, d_head, d_model, rho, log_parameters,
       bound, metric, gain_mean, gain_sd, log_gain, sign_strict, sign_banded, n_prompts, prompt_set, dtype, run_id
  FROM ranked_gain
 WHERE source = 'measured'
   AND place = 1;
COMMENT ON VIEW measured_gain IS 'One row per model measured over prompts: its gain, by the rule of published_gain, from the run that primary_run prefers. Where a model was measured on several prompt sets, the set with the most prompts is taken. The gain is that of the raw stream, as published; primary_sign has the one that is a property of the function. The start token is put in or left out as the tokenizer does; model_gain has the gains of runs with another policy (run.special_tokens).';

CREATE VIEW density AS
SELECT model_id,
       head_density(n_heads, d_head)              AS rho,
       head_density_published(n_heads, d_model)   AS rho_published,
       head_density(n_kv_heads, d_head)           AS rho_kv
  FROM model;
COMMENT ON VIEW density IS 'One row per model: head density in three definitions.';
COMMENT ON COLUMN density.rho IS 'H / d_head, d_head as the model has it [1]';
COMMENT ON COLUMN density.rho_published IS 'H / (d_model // H), as the notebooks compute it [1]';
COMMENT ON COLUMN density.rho_kv IS 'Key and value heads over d_head [1]';
