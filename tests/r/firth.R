# Firth's logistic regression: estimates and standard errors by brglm2 (AS_mean, tight tolerance),
# profile penalised likelihood tests and intervals by optim and uniroot on our own likelihood.
# The endometrial cancer data of Heinze and Schemper (2002), shipped with brglm2, are separated;
# for them the paper prints intervals too (test_firth.py quotes them).
# Run here: Rscript firth.R
library(brglm2)
data(endometrial, package = "brglm2")
names(endometrial) <- c("neovasculization", "pulsatility", "endometrium", "high_grade")
write.csv(endometrial[, c("neovasculization", "pulsatility", "endometrium", "high_grade")],
          "firth_endometrial.csv", row.names = FALSE, quote = FALSE)
models <- read.csv("models.csv")
models$dampens <- as.integer(models$gain < median(models$gain))
models$first_lab <- as.integer(models$lab == models$lab[1])

penalised <- function(X, y) function(b) {
  eta <- drop(X %*% b); p <- plogis(eta); w <- p * (1 - p)
  sum(ifelse(y == 1, plogis(eta, log.p = TRUE), plogis(-eta, log.p = TRUE))) +
    as.numeric(determinant(crossprod(X * sqrt(w)))$modulus) / 2
}
profile <- function(X, y, j, value, start) {
  l <- penalised(X, y)
  if (ncol(X) == 1) return(l(value))
  free <- start[-j]
  at <- function(b) { full <- numeric(ncol(X)); full[j] <- value; full[-j] <- b; l(full) }
  for (i in 1:6) free <- optim(free, function(b) -at(b), method = "BFGS",
                               control = list(reltol = 1e-15, maxit = 2000))$par
  at(free)
}
answer <- function(case, formula, data) {
  fit <- glm(formula, binomial, data, method = "brglmFit", type = "AS_mean",
             control = brglmControl(epsilon = 1e-13, maxit = 2000))
  X <- model.matrix(formula, data); y <- model.response(model.frame(formula, data))
  b <- coef(fit); top <- penalised(X, y)(b); se <- sqrt(diag(vcov(fit)))
  ratio <- function(j, value) 2 * (top - profile(X, y, j, value, b))
  critical <- qchisq(0.95, 1)
  one <- function(j) {
    end <- function(side) uniroot(function(v) ratio(j, v) - critical, b[j] + side * se[j] * c(0.5, 12),
                                  extendInt = if (side > 0) "upX" else "downX", tol = 1e-10)$root
    statistic <- ratio(j, 0)
    data.frame(case, term = names(b)[j], estimate = b[j], std_error = se[j], statistic,
               p_value = pchisq(statistic, 1, lower.tail = FALSE), conf_low = end(-1), conf_high = end(1))
  }
  do.call(rbind, lapply(seq_along(b), one))
}
answers <- rbind(
  answer("endometrial", high_grade ~ neovasculization + pulsatility + endometrium, endometrial),
  answer("models", dampens ~ heritage + density, models),
  answer("one_lab", dampens ~ first_lab, models))
write.csv(format(answers, digits = 15, trim = TRUE), "firth.csv", row.names = FALSE, quote = FALSE)
