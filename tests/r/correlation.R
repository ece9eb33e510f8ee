# cor.test on the models; partial correlation by residuals, its test by lm.
# Run here: Rscript correlation.R
models <- read.csv("models.csv")

row <- function(case, method, n, test, conf_level, low = NA, high = NA) {
  if (!is.null(test$conf.int)) { low <- test$conf.int[1]; high <- test$conf.int[2] }
  is_t <- identical(names(test$statistic), "t")
  data.frame(case, method, n, conf_level, estimate = unname(test$estimate),
             statistic = if (is_t) unname(test$statistic) else NA,
             df = if (is_t) unname(test$parameter) else NA,
             p_value = test$p.value, conf_low = low, conf_high = high)
}
pearson <- function(n, conf_level) {
  part <- head(models, n)
  row("gain ~ density", "pearson", n, cor.test(part$density, part$gain, conf.level = conf_level), conf_level)
}
fieller <- function(rho, n, conf_level) {
  tanh(atanh(rho) + c(-1, 1) * qnorm((1 + conf_level) / 2) * sqrt(1.06 / (n - 3)))
}
spearman <- function(x, n, exact) {
  part <- head(models, n)
  test <- cor.test(part[[x]], part$gain, method = "spearman", exact = exact)
  if (!exact) {  # the t approximation
    rho <- unname(test$estimate)
    test$statistic <- c(t = rho * sqrt((n - 2) / (1 - rho^2)))
    test$parameter <- n - 2
  }
  ends <- fieller(unname(test$estimate), n, 0.95)
  row(paste("gain ~", x), "spearman", n, test, 0.95, ends[1], ends[2])
}
partial <- function(covariates, conf_level) {
  formula <- function(left) reformulate(covariates, left)
  r <- cor(resid(lm(formula("density"), models)), resid(lm(formula("gain"), models)))
  whole <- summary(lm(reformulate(c("density", covariates), "gain"), models))$coefficients["density", ]
  n <- nrow(models); k <- length(covariates)
  ends <- tanh(atanh(r) + c(-1, 1) * qnorm((1 + conf_level) / 2) / sqrt(n - 3 - k))
  data.frame(case = paste(covariates, collapse = "+"), method = "partial", n, conf_level, estimate = r,
             statistic = whole["t value"], df = n - 2 - k, p_value = whole["Pr(>|t|)"],
             conf_low = ends[1], conf_high = ends[2])
}
answers <- rbind(
  pearson(24, 0.95), pearson(24, 0.9), pearson(8, 0.95), pearson(4, 0.99),
  spearman("density", 7, TRUE), spearman("density", 9, TRUE),
  spearman("density", 13, FALSE), spearman("density", 24, FALSE), spearman("layers", 24, FALSE),
  partial("layers", 0.95), partial(c("layers", "log_parameters"), 0.9))
write.csv(format(answers, digits = 17, trim = TRUE), "correlation.csv", row.names = FALSE, quote = FALSE)
