# Effect sizes by effectsize; interval ends also as roots of pt with a noncentrality, because
# effectsize finds them by optim to about four digits.
# Run here: Rscript effect_size.R
suppressPackageStartupMessages(library(effectsize))
models <- read.csv("models.csv")
root <- function(f, low, high) uniroot(f, c(low, high), tol = 1e-13, extendInt = "yes", maxiter = 5000)$root
row <- function(case, term, conf_level, estimate, theirs, low, high)
  data.frame(case, term, conf_level, estimate, r_low = theirs[1], r_high = theirs[2], conf_low = low, conf_high = high)

difference <- function(case, x, y, level) {
  d <- cohens_d(x, y, ci = level); g <- hedges_g(x, y, ci = level)
  n1 <- length(x); n2 <- length(y); df <- n1 + n2 - 2; h <- sqrt(1 / n1 + 1 / n2); t <- d$Cohens_d / h
  ends <- sapply(c(1 + level, 1 - level) / 2, function(p) root(function(ncp) pt(t, df, ncp) - p, t - 4, t + 4)) * h
  J <- exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2)
  rbind(row(case, "Cohen's d", level, d$Cohens_d, c(d$CI_low, d$CI_high), ends[1], ends[2]),
        row(case, "Hedges' g", level, g$Hedges_g, c(g$CI_low, g$CI_high), J * ends[1], J * ends[2]))
}
split_by <- function(value) list(models[[value]][models$heritage == 0], models[[value]][models$heritage == 1])
gain <- split_by("gain"); density <- split_by("density")
answers <- rbind(
  difference("gain", gain[[1]], gain[[2]], 0.95), difference("density", density[[1]], density[[2]], 0.9))
write.csv(format(answers, digits = 15, trim = TRUE), "effect_size.csv", row.names = FALSE, quote = FALSE)
