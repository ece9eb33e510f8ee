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
ten <- data.frame(x = 1:10, y = c(0, 0, 1, 0, 0, 1, 1, 0, 1, 1))
models$first_lab <- as.integer(models$lab == models$lab[1])

penalised <- function(X, y) function(b) {
  eta <- drop(X %*% b); p <- plogis(eta); w <- p * (1 - p)
  sum(ifelse(y == 1, plogis(eta, log.p = TRUE), plogis(-eta, log.p = TRUE))) +
    as.numeric(determinant(crossprod(X * sqrt(w)))$modulus) / 2
}
profile <- function(X, y, j, value, start, rounds = 6) {
  l <- penalised(X, y)
  if (ncol(X) == 1) return(l(value))
  free <- start[-j]
  at <- function(b) { full <- numeric(ncol(X)); full[j] <- value; full[-j] <- b; l(full) }
  for (i in 1:rounds) free <- optim(free, function(b) -at(b), method = "BFGS",
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
  answer("one_lab", dampens ~ first_lab, models),
  answer("ten", y ~ x, ten))
write.csv(format(answers, digits = 15, trim = TRUE), "firth.csv", row.names = FALSE, quote = FALSE)

# Data in which the profile has several ridges (a, b, c normal; y separated by them): one end each,
# as the highest of 10 climbs from 3,000 drawn starts, by bisection.
ridges <- read.csv("firth_ridges.csv")
set.seed(1)
ridge_end <- function(set, term, from, to) {
  rows <- ridges[ridges$set == set, ]
  X <- cbind(Intercept = 1, as.matrix(rows[, c("a", "b", "c")])); y <- rows$y
  b <- coef(glm(y ~ a + b + c, binomial, rows, method = "brglmFit", type = "AS_mean",
                control = brglmControl(epsilon = 1e-12, maxit = 2000)))
  j <- match(term, colnames(X)); l <- penalised(X, y); top <- l(b)
  rays <- t(sapply(seq(0.5, 8, 0.25), function(m) m * b))
  drawn <- rbind(rays, matrix(rnorm(12000), ncol = 4) * exp(runif(3000, -1, 4)))
  excess <- function(value) {
    starts <- drawn; starts[, j] <- value
    best <- starts[order(-apply(starts, 1, l))[1:10], ]
    2 * (top - max(apply(best, 1, function(b) profile(X, y, j, value, b, 1)))) - qchisq(0.95, 1)
  }
  for (i in 1:14) { middle <- (from + to) / 2; if (excess(middle) < 0) from <- middle else to <- middle }
  data.frame(set, term, end = (from + to) / 2, tolerance = abs(to - from))
}
ends <- rbind(ridge_end("0", "c", -25, -35), ridge_end("22", "a", 15, 21),
              ridge_end("36", "Intercept", -8, -11), ridge_end("41", "a", 6, 8))
write.csv(format(ends, digits = 8, trim = TRUE), "firth_ridges_ends.csv", row.names = FALSE, quote = FALSE)
