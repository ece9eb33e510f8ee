# Tests of a variance component (RLRsim) and profiles of its share (lme4's deviance function).
# Run here: Rscript components.R
library(lme4)
library(RLRsim)
models <- read.csv("components_models.csv")
shape <- "log_gain ~ n_layers + rho + d_head + log_parameters"
fitted <- function(text) suppressMessages(lmer(as.formula(text), models, REML = TRUE,
  control = lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-12))))
set.seed(1)
draws <- 2e5

alone <- function(fixed, group) {
  m <- fitted(paste(fixed, "+ (1 |", group, ")"))
  test <- exactRLRT(m, nsim = draws)
  data.frame(fixed, groups = group, tested = group, statistic = unname(test$statistic),
             p_value = test$p.value)
}
beside <- function(fixed, group, other) {
  both <- fitted(paste(fixed, "+ (1 | lab) + (1 | suite)"))
  test <- exactRLRT(m = fitted(paste(fixed, "+ (1 |", group, ")")), mA = both,
                    m0 = fitted(paste(fixed, "+ (1 |", other, ")")), nsim = draws)
  data.frame(fixed, groups = "lab + suite", tested = group, statistic = unname(test$statistic),
             p_value = test$p.value)
}
tests <- rbind(
  alone("log_gain ~ 1", "suite"), alone("log_gain ~ n_layers", "suite"), alone(shape, "suite"),
  alone("log_gain ~ n_layers", "lab"), alone(shape, "lab"),
  beside(shape, "suite", "lab"), beside(shape, "lab", "suite"))
write.csv(format(tests, digits = 12, trim = TRUE), "components_tests.csv", row.names = FALSE)

quantiles <- do.call(rbind, lapply(c("suite", "lab"), function(group) {
  m <- fitted(paste(shape, "+ (1 |", group, ")"))
  X <- getME(m, "X"); Z <- as.matrix(getME(m, "Z"))
  drawn <- RLRTSim(X, Z, qr(X), diag(ncol(Z)), nsim = draws, seed = 2)
  level <- c(.5, .75, .9, .95, .99)
  data.frame(group, probability = c(NA, level), value = c(mean(drawn < 1e-8), quantile(drawn, level)))
}))
write.csv(format(quantiles, digits = 8, trim = TRUE), "components_quantiles.csv", row.names = FALSE)

# The share of a set of groups held, the deviance minimised over the rest by a fine search.
interval <- function(fixed, held) {
  both <- fitted(paste(fixed, "+ (1 | lab) + (1 | suite)"))
  dev <- update(both, devFunOnly = TRUE)
  names <- names(getME(both, "flist"))
  at <- function(shares) dev(sqrt(shares / (1 - sum(shares))))
  least <- function(s) {
    split <- function(q) {
      if (length(held) == 2) return(at(s * c(q, 1 - q)))
      shares <- c(0, 0); shares[match(held, names)] <- s
      shares[-match(held, names)] <- (1 - s) * q
      at(shares)
    }
    ends <- if (length(held) == 2) c(0, 1) else c(0, 1 - 1e-7)
    starts <- seq(ends[1], ends[2], length.out = 41)
    best <- starts[which.min(sapply(starts, split))]
    near <- optimize(split, c(max(ends[1], best - .03), min(ends[2], best + .03)), tol = 1e-10)
    min(near$objective, sapply(ends, split))
  }
  theta2 <- getME(both, "theta")^2
  estimate <- sum((theta2 / (1 + sum(theta2)))[match(held, names)])
  reached <- min(REMLcrit(both), least(estimate)) + qchisq(.95, 1)
  lower <- if (least(0) <= reached) 0 else
    uniroot(function(s) least(s) - reached, c(0, estimate), tol = 1e-9)$root
  upper <- uniroot(function(s) least(s) - reached, c(estimate, 1 - 1e-6), tol = 1e-9)$root
  data.frame(fixed, held = paste(held, collapse = " + "), estimate, conf_low = lower, conf_high = upper)
}
intervals <- do.call(rbind, lapply(c("log_gain ~ n_layers", shape), function(fixed) rbind(
  interval(fixed, "suite"), interval(fixed, "lab"), interval(fixed, c("suite", "lab")))))
write.csv(format(intervals, digits = 10, trim = TRUE), "components_intervals.csv", row.names = FALSE)
