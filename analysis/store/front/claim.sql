-- Claims: what the paper says, and the verdict on it.

CREATE VIEW main.claim AS
WITH checks AS (
    SELECT claim_id,
           count(*)                                                               AS n_checks,
           count(*) FILTER (WHERE decides)                                        AS n_deciding,
           count(*) FILTER (WHERE decides AND holds)                              AS n_holding,
           count(*) FILTER (WHERE decides AND NOT holds)                          AS n_failing
      FROM raw.verdict_check
     GROUP BY claim_id
), rates AS (
    SELECT claim_id,
           verdict,
           max(probability) FILTER (WHERE truth = 'heritage')                     AS rate_if_heritage,
           max(probability) FILTER (WHERE truth = 'depth')                        AS rate_if_depth,
           max(probability) FILTER (WHERE truth = 'density')                      AS rate_if_density,
           max(probability) FILTER (WHERE truth = 'recipe')                       AS rate_if_recipe,
           max(probability) FILTER (WHERE truth = 'hierarchy')                    AS rate_if_hierarchy,
           max(probability) FILTER (WHERE truth = 'three laws')                   AS rate_if_three_laws,
           max(probability) FILTER (WHERE truth = 'nothing')                      AS rate_if_nothing
      FROM raw.verdict_rate
     WHERE NOT wrong_labels
     GROUP BY claim_id, verdict
)
SELECT c.claim_id,
       c.statement,
       m.meaning,
       c.place,
       v.category,
       f.family                                                                   AS law,
       w.weight                                                                   AS importance,
       v.is_central,
       w.repeats,
       q.rests_on,
       q.quantity,
       v.property,
       v.verdict,
       v.reading,
       k.n_checks,
       k.n_deciding,
       k.n_holding,
       k.n_failing,
       k.n_deciding - k.n_holding - k.n_failing                                   AS n_open,
       v.check_id                                                                 AS quoted_check,
       d.kind                                                                     AS quoted_kind,
       d.holds                                                                    AS quoted_holds,
       v.measure                                                                  AS quoted_measure,
       v.estimate                                                                 AS quoted_estimate,
       v.conf_low                                                                 AS quoted_conf_low,
       v.conf_high                                                                AS quoted_conf_high,
       v.p_value                                                                  AS quoted_p_value,
       v.p_holm                                                                   AS quoted_p_holm,
       v.n_models,
       v.n_suites,
       r.rate_if_heritage,
       r.rate_if_depth,
       r.rate_if_density,
       r.rate_if_recipe,
       r.rate_if_hierarchy,
       r.rate_if_three_laws,
       r.rate_if_nothing
  FROM raw.claim AS c
  LEFT JOIN raw.claim_meaning AS m USING (claim_id)
  LEFT JOIN raw.claim_family AS f USING (claim_id)
  LEFT JOIN raw.claim_weight AS w USING (claim_id)
  LEFT JOIN raw.claim_quantity AS q USING (claim_id)
  LEFT JOIN raw.verdict AS v USING (claim_id)
  LEFT JOIN checks AS k USING (claim_id)
  LEFT JOIN raw.verdict_check AS d ON d.claim_id = v.claim_id AND d.check_id = v.check_id
  LEFT JOIN rates AS r ON r.claim_id = c.claim_id AND r.verdict = v.verdict
 WHERE v.stated_by IS NULL OR v.stated_by = 'author';
COMMENT ON VIEW main.claim IS 'One row per claim of the author: what it says, and the verdict on it. It stands in the paper, or in its readme, forum post or summary. Beside them stand how many checks the verdict rests on, and the check that is quoted first. Verdicts are made by thermoscope claims --write and not computed when asked. Statements of a result file alone or of the audit, which are judged beside them: raw.verdict. A finding that an earlier claim states is counted again here; repeats names that claim. Each check: raw.verdict_check; numbers that the paper prints: raw.quoted_number; how often the rule errs, also under wrong labels: raw.verdict_rate.';
COMMENT ON COLUMN main.claim.claim_id IS 'Number of the claim. 41, 43, 60 and 61 are missing, since they are not statements of the author: see raw.verdict. 41 and 43 are of the audit, 60 and 61 of a result file alone [-]';
COMMENT ON COLUMN main.claim.statement IS 'The statement: words of the author in quotation marks; raw.claim_quotation has them letter by letter [-]';
COMMENT ON COLUMN main.claim.meaning IS 'What it says, in plain words; not what was found [-]';
COMMENT ON COLUMN main.claim.place IS 'Section or figure of the paper, or line of another document [-]';
COMMENT ON COLUMN main.claim.category IS 'What it states: law, printed number or record (a count, a file, what was done). Count verdicts by it: of the 12 claims reproduced, 1 is a law [-]';
COMMENT ON COLUMN main.claim.law IS 'Law or section that the claim is evidence for. thermoscope claims --adjusted adjusts quoted_p_value over the claims of each; quoted_p_holm is not that p [-]';
COMMENT ON COLUMN main.claim.importance IS 'How much the paper rests on it: central, supporting or side [-]';
COMMENT ON COLUMN main.claim.is_central IS 'True where it is central and no claim before it states the same finding [-]';
COMMENT ON COLUMN main.claim.repeats IS 'Claim before it that states the same finding. Each is judged by its own words, so a law can be reproduced while the number printed for it is contradicted. NULL for a finding of its own [-]';
COMMENT ON COLUMN main.claim.rests_on IS 'What it is about. network: a quantity of networks. descent: a network and the one it was trained from. architecture: the shape alone. record: counts, dates, files [-]';
COMMENT ON COLUMN main.claim.quantity IS 'Quantities it rests on, comma-separated; empty where it rests on none; raw.metric defines them [-]';
COMMENT ON COLUMN main.claim.property IS 'What decides its quantity. function: what the network computes. parametrisation: also how its weights are written, which no prediction depends on. training: what changed since the network it was trained from. architecture: the shape alone. record: counts, dates or files, no network [-]';
COMMENT ON COLUMN main.claim.verdict IS 'reproduced, depends on the reading, contradicted, undecided or no data [-]';
COMMENT ON COLUMN main.claim.reading IS 'How it depends on the reading, and what holds or fails beside it; NULL where there is neither [-]';
COMMENT ON COLUMN main.claim.n_checks IS 'Checks that were made of it, each one part under one reading [1]';
COMMENT ON COLUMN main.claim.n_deciding IS 'Checks that move the verdict; the others are shown alone [1]';
COMMENT ON COLUMN main.claim.n_holding IS 'Deciding checks that hold [1]';
COMMENT ON COLUMN main.claim.n_failing IS 'Deciding checks that do not hold [1]';
COMMENT ON COLUMN main.claim.n_open IS 'Deciding checks that the data leave undecided [1]';
COMMENT ON COLUMN main.claim.quoted_check IS 'Check that is quoted first: it may hold where others do not, so a contradicted claim can stand beside a small p [-]';
COMMENT ON COLUMN main.claim.quoted_kind IS 'Kind of statement that this check is: value, universal, difference, equality or existence [-]';
COMMENT ON COLUMN main.claim.quoted_holds IS 'Whether it holds; NULL where the data cannot tell [-]';
COMMENT ON COLUMN main.claim.quoted_measure IS 'What its estimate is: r, share, ratio and so on; NULL where there is none or it has no short name [-]';
COMMENT ON COLUMN main.claim.quoted_estimate IS 'Its estimate; NULL where there is none [see quoted_measure]';
COMMENT ON COLUMN main.claim.quoted_conf_low IS 'Lower end of the 95 % interval of the estimate; NULL where there is none [see quoted_measure]';
COMMENT ON COLUMN main.claim.quoted_conf_high IS 'Upper end of that interval; NULL where there is none [see quoted_measure]';
COMMENT ON COLUMN main.claim.quoted_p_value IS 'p of that check, not of the verdict; NULL where nothing is tested [1]';
COMMENT ON COLUMN main.claim.quoted_p_holm IS 'The same adjusted by Holm''s method over the tests of this claim that move its verdict, each test once: raw.verdict_check.p_holm. Other claims do not enter. NULL where quoted_p_value is [1]';
COMMENT ON COLUMN main.claim.n_models IS 'Models that entered the quoted check. 0 where it counts other things, such as formulas, figures or files: its estimate is then of these [1]';
COMMENT ON COLUMN main.claim.n_suites IS 'Training suites of these models; 0 where n_models is [1]';
COMMENT ON COLUMN main.claim.rate_if_heritage IS 'How often the rule gives this very verdict on papers simulated so that the lab decides; NULL for claims that were not simulated [1]';
COMMENT ON COLUMN main.claim.rate_if_depth IS 'The same where depth decides; NULL where rate_if_heritage is [1]';
COMMENT ON COLUMN main.claim.rate_if_density IS 'The same where head density decides; NULL where rate_if_heritage is [1]';
COMMENT ON COLUMN main.claim.rate_if_recipe IS 'The same where the training recipe decides; NULL where rate_if_heritage is [1]';
COMMENT ON COLUMN main.claim.rate_if_hierarchy IS 'The same where the paper''s hierarchy is true; NULL where rate_if_heritage is [1]';
COMMENT ON COLUMN main.claim.rate_if_three_laws IS 'The same where the paper''s three laws are true; NULL where rate_if_heritage is [1]';
COMMENT ON COLUMN main.claim.rate_if_nothing IS 'The same where nothing decides; NULL where rate_if_heritage is [1]';
