# Default Bayes factors by BayesFactor.
# Run here: Rscript bayes_factor.R
suppressPackageStartupMessages(library(BayesFactor))
models <- read.csv("models.csv")
value <- function(bf) exp(bf@bayesFactor$bf)
t_tests <- do.call(rbind, lapply(list(c(0.5, 12, 12), c(2.2, 6, 18), c(3.5, 20, 20), c(7, 4, 9), c(1.3, 7, NA)), function(v)
  do.call(rbind, lapply(c(sqrt(2) / 2, 1), function(scale) {
    n2 <- if (is.na(v[3])) 0 else v[3]
    data.frame(t = v[1], n1 = v[2], n2, scale, bayes_factor = exp(ttest.tstat(v[1], v[2], n2, rscale = scale)$bf))
  }))))
write.csv(format(t_tests, digits = 15, trim = TRUE), "bayes_factor_t.csv", row.names = FALSE, quote = FALSE)

of_models <- rbind(
  data.frame(case = "t", bayes_factor = value(ttestBF(models$gain[models$heritage == 0], models$gain[models$heritage == 1]))),
  data.frame(case = "t one sample", bayes_factor = value(ttestBF(models$gain, mu = 2))),
  data.frame(case = "correlation", bayes_factor = value(correlationBF(models$density, models$gain))),
  data.frame(case = "correlation uniform", bayes_factor = value(correlationBF(models$density, models$gain, rscale = "ultrawide"))),
  data.frame(case = "correlation of 8", bayes_factor = value(correlationBF(models$density[1:8], models$gain[1:8]))))
write.csv(format(of_models, digits = 15, trim = TRUE), "bayes_factor_models.csv", row.names = FALSE, quote = FALSE)

tables <- list(c(8, 2, 0, 13), c(7, 1, 2, 8), c(3, 1, 1, 3), c(310, 190, 240, 260), c(1, 9, 11, 3))
types <- c(poisson = "poisson", `joint multinomial` = "jointMulti", `independent multinomial` = "indepMulti",
           hypergeometric = "hypergeom")
contingency <- do.call(rbind, lapply(tables, function(cells) do.call(rbind, lapply(names(types), function(sampling)
  do.call(rbind, lapply(c(1, 2), function(a) {
    bf <- contingencyTableBF(matrix(cells, 2, byrow = TRUE), sampleType = types[[sampling]], fixedMargin = "rows", priorConcentration = a)
    data.frame(a = cells[1], b = cells[2], c = cells[3], d = cells[4], sampling, concentration = a, bayes_factor = value(bf))
  }))))))
write.csv(format(contingency, digits = 15, trim = TRUE), "bayes_factor_contingency.csv", row.names = FALSE, quote = FALSE)
