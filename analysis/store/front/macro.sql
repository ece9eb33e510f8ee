-- Macros: what is asked of columns again and again.

CREATE MACRO main.direction(gain) AS gain_sign(ln(CASE WHEN gain > 0 THEN gain END), 0);
COMMENT ON MACRO main.direction IS 'expand where a gain is above 1, dampen below it, neutral at 1 itself; NULL where there is no gain. Rounding in half precision can make 1 %: gain_sign(ln(gain), rounding_band()) is neutral within it [-]';

-- To 12 digits up to 30 degrees of freedom, above by Cornish and Fisher's expansion to 7 (Abramowitz and Stegun 26.7.5).
CREATE MACRO main.student_quantile(df) AS
    CASE WHEN df <= 30
         THEN [12.706204736175, 4.302652729749, 3.182446305284, 2.776445105198, 2.570581835636, 2.446911851145,
               2.364624251593, 2.306004135204, 2.262157162798, 2.228138851986, 2.200985160092, 2.178812829667,
               2.160368656463, 2.144786687918, 2.131449545560, 2.119905299221, 2.109815577833, 2.100922040241,
               2.093024054408, 2.085963447266, 2.079613844728, 2.073873067904, 2.068657610419, 2.063898561628,
               2.059538552753, 2.055529438643, 2.051830516480, 2.048407141795, 2.045229642133, 2.042272456301][CAST(df AS INTEGER)]
         ELSE 1.959963984540054
              + 2.372271230298562 / df
              + 2.822498615739611 / pow(df, 2)
              + 2.555849679507722 / pow(df, 3)
              + 1.589534053393822 / pow(df, 4)
     END;
COMMENT ON MACRO main.student_quantile IS '0.975 quantile of Student''s t with whole degrees of freedom, at least 1 [1]';

CREATE MACRO main.half_width(x) AS
    CASE WHEN count(x) > 1 THEN student_quantile(count(x) - 1) * stddev_samp(x) / sqrt(count(x)) END;
COMMENT ON MACRO main.half_width IS 'Half the width of the 95 % interval of a mean over rows that are drawn independently, by Student''s t; NULL below two rows [unit of x]';

CREATE MACRO main.conf_low(x) AS avg(x) - half_width(x);
COMMENT ON MACRO main.conf_low IS 'Lower end of the 95 % interval of avg(x), by Student''s t: SELECT model_id, avg(gain_body), conf_low(gain_body), conf_high(gain_body) FROM prompt_gain GROUP BY model_id. Rows are taken as independent: where rows are alike, as those of one suite or category, it is too narrow [unit of x]';

CREATE MACRO main.conf_high(x) AS avg(x) + half_width(x);
COMMENT ON MACRO main.conf_high IS 'Upper end of the same interval, rows taken as independent [unit of x]';

-- Ranks from sorted lists: a subquery over the rows of a group would carry all of them with each. No list stands
-- within the elements of another, where it would be made anew for each of them.
CREATE MACRO main.sorted_places(xs, marks) AS
    [pair[2] for pair in list_sort(list_zip([abs(it[2]) for it in list_sort(list_zip(xs, marks))], range(len(xs))))];
COMMENT ON MACRO main.sorted_places IS 'Place of each element of a list in its order, from 0. Of equal elements the one with the smaller mark comes first; marks are 0 to n - 1 with one sign [1]';

CREATE MACRO main.double_places(xs) AS
    [CAST(pair[1] AS DOUBLE) + pair[2]
     for pair in list_zip(sorted_places(xs, range(len(xs))), sorted_places(xs, range(0, -len(xs), -1)))];
COMMENT ON MACRO main.double_places IS 'Twice the place of each element of a list in its order, from 0, ties at their mean place. They add up to n (n - 1) [1]';

CREATE MACRO main.spread_of_places(xs, ys, n) AS
    list_sum([pair[1] * pair[2] for pair in list_zip(xs, ys)]) - n * pow(n - 1, 2);
COMMENT ON MACRO main.spread_of_places IS 'Sum of products of two lists of n double places about their mean, n - 1 [1]';

CREATE MACRO main.rank_correlation(xs, ys) AS
    spread_of_places(double_places(xs), double_places(ys), len(xs))
        / nullif(sqrt(spread_of_places(double_places(xs), double_places(xs), len(xs))
                      * spread_of_places(double_places(ys), double_places(ys), len(xs))), 0);
COMMENT ON MACRO main.rank_correlation IS 'Spearman''s rank correlation of two lists of equal length; NULL where one does not vary [1]';

CREATE MACRO main.spearman(x, y) AS
    rank_correlation(list(x) FILTER (x IS NOT NULL AND y IS NOT NULL), list(y) FILTER (x IS NOT NULL AND y IS NOT NULL));
COMMENT ON MACRO main.spearman IS 'Spearman''s rank correlation of two columns over the rows where both are, ties at their mean rank: SELECT spearman(n_parameters, gain_penultimate_block) FROM published_model [1]';
