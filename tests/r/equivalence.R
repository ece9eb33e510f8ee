# Two one-sided tests with base R: t.test twice.
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
x <- models$gain[models$heritage == 0]; y <- models$gain[models$heritage == 1]
answers <- means("student", x, y, -0.4, 0.4, 0.01, var.equal = TRUE)
write.csv(format(answers, digits = 15, trim = TRUE), "equivalence.csv", row.names = FALSE, quote = FALSE)
