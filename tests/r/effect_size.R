# Effect sizes by effectsize; interval ends also as roots of pt, pf and pchisq with a
# noncentrality, because effectsize finds them by optim to about four digits.
# For eta and omega squared effectsize divides by the residual degrees of freedom, Steiger (2004)
# by n: the ends here are Steiger's, effectsize's noncentralities lead to them.
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
ranks <- function(case, x, y, level) {
  r <- rank_biserial(x, y, ci = level)
  row(case, "rank-biserial correlation", level, r$r_rank_biserial, c(r$CI_low, r$CI_high), r$CI_low, r$CI_high)
}
shares <- function(value, group, level) {
  fit <- aov(models[[value]] ~ factor(models[[group]])); table <- anova(fit); n <- nrow(models)
  F <- table[1, "F value"]; df <- table$Df
  one <- function(f, name) {
    e <- as.data.frame(f(fit, ci = level, alternative = "two.sided", partial = FALSE))
    ncp <- c(e$CI_low, e$CI_high) * df[2] / (1 - c(e$CI_low, e$CI_high))
    list(e[[2]], ncp / (ncp + n))
  }
  end <- function(p) if (pf(F, df[1], df[2]) <= p) 0 else { l <- root(function(ncp) pf(F, df[1], df[2], ncp) - p, 1e-9, 50); l / (l + n) }
  low <- end((1 + level) / 2); high <- end((1 - level) / 2)
  eta <- one(eta_squared, "Eta2"); omega <- one(omega_squared, "Omega2")
  rbind(row(paste(value, group), "eta squared", level, eta[[1]], eta[[2]], low, high),
        row(paste(value, group), "omega squared", level, omega[[1]], c(NA, NA), low, high))
}
association <- function(cells, level) {
  m <- matrix(cells, 2, byrow = TRUE); case <- paste(cells, collapse = " ")
  o <- oddsratio(m, ci = level); p <- phi(m, ci = level, alternative = "two.sided", adjust = FALSE)
  n <- sum(m); chi <- suppressWarnings(chisq.test(m, correct = FALSE))$statistic
  end <- function(q) if (pchisq(chi, 1) <= q) 0 else root(function(ncp) pchisq(chi, 1, ncp) - q, 1e-9, 50)
  low <- sqrt(end((1 + level) / 2) / n); high <- min(1, sqrt(end((1 - level) / 2) / n))
  rbind(row(case, "odds ratio", level, o[[1]], c(o$CI_low, o$CI_high), o$CI_low, o$CI_high),
        row(case, "phi", level, p[[1]], c(p$CI_low, p$CI_high), low, high))
}
split_by <- function(value) list(models[[value]][models$heritage == 0], models[[value]][models$heritage == 1])
gain <- split_by("gain"); density <- split_by("density")
answers <- rbind(
  difference("gain", gain[[1]], gain[[2]], 0.95), difference("density", density[[1]], density[[2]], 0.9),
  ranks("gain", gain[[1]], gain[[2]], 0.95), ranks("density", density[[1]], density[[2]], 0.9),
  shares("gain", "lab", 0.95), shares("density", "lab", 0.95), shares("gain", "heritage", 0.9),
  association(c(7, 1, 2, 8), 0.95), association(c(310, 190, 240, 260), 0.9), association(c(6, 5, 7, 6), 0.95))
write.csv(format(answers, digits = 15, trim = TRUE), "effect_size.csv", row.names = FALSE, quote = FALSE)
