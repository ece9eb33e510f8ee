# Two one-sided tests with base R: t.test twice, Fisher's z by hand.
# Run here: Rscript equivalence.R
models <- read.csv("models.csv")
row <- function(case, low, high, alpha, estimate, df, p_low, p_high, ends)
  data.frame(case, low, high, alpha, estimate, df, p_value = max(p_low, p_high), conf_low = ends[1], conf_high = ends[2])
means <- function(case, x, y, low, high, alpha, ...) {
  test <- function(mu, alternative) t.test(x, y, mu = mu, alternative = alternative, ...)$p.value
  both <- t.test(x, y, conf.level = 1 - 2 * alpha, ...)
  estimate <- if (is.null(y)) mean(x) else mean(x) - mean(y)
  row(case, low, high, alpha, estimate, both$parameter, test(low, "greater"), test(high, "less"), both$conf.int)
}
correlation <- function(n, low, high, alpha) {
  part <- head(models, n); r <- cor(part$density, part$gain); se <- 1 / sqrt(n - 3); z <- atanh(r)
  row(paste("correlation of", n), low, high, alpha, r, Inf, pnorm((z - atanh(low)) / se, lower.tail = FALSE),
      pnorm((z - atanh(high)) / se), tanh(z + c(-1, 1) * qnorm(1 - alpha) * se))
}
x <- models$gain[models$heritage == 0]; y <- models$gain[models$heritage == 1]
answers <- rbind(
  means("welch", x, y, -1, 0.5, 0.05), means("student", x, y, -0.4, 0.4, 0.01, var.equal = TRUE),
  means("one", models$gain, NULL, 1.5, 2.5, 0.05), correlation(24, -0.3, 0.5, 0.05), correlation(8, -0.9, 0.9, 0.1))
write.csv(format(answers, digits = 15, trim = TRUE), "equivalence.csv", row.names = FALSE, quote = FALSE)
