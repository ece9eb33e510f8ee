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
  data.frame(case = "t one sample", bayes_factor = value(ttestBF(models$gain, mu = 2))))
write.csv(format(of_models, digits = 15, trim = TRUE), "bayes_factor_models.csv", row.names = FALSE, quote = FALSE)
