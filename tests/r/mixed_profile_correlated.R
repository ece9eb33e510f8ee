# Profile intervals of a correlated slope: lme4's own deviance, minimised with one deviation or
# the correlation held, and the ends found by root search. lme4's confint interpolates the profile
# by splines: the same in five digits for sleepstudy, in two for the other.
# Run here after mixed.R: Rscript mixed_profile_correlated.R
suppressMessages(library(lme4))
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
sleep <- read.csv("mixed_data_sleep.csv", stringsAsFactors = TRUE)

# Parameters: the deviations of intercept and slope, their correlation, other deviations, sigma.
ends_of <- function(name, formula, rows, places) {
  m <- lmer(formula, rows, REML = FALSE,
            control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE))
  dev <- as.function(m); inside <- environment(dev); n <- nobs(m)
  deviance_at <- function(sd1, sd2, rho, rest, sigma) {
    theta <- numeric(length(getME(m, "theta")))
    theta[places] <- c(sd1, sd2 * rho, sd2 * sqrt(1 - rho^2)) / sigma
    theta[-places] <- rest / sigma
    dev(theta)
    inside$pp$ldL2() + n * log(2 * pi * sigma^2) + (inside$resp$wrss() + inside$pp$sqrL(1)) / sigma^2
  }
  tied <- as.data.frame(VarCorr(m)); tied <- tied[tied$grp == names(which.max(table(tied$grp))), ]
  best <- list(sd1 = tied$sdcor[1], sd2 = tied$sdcor[2], rho = tied$sdcor[3], rest = getME(m, "theta")[-places] * sigma(m), sigma = sigma(m))
  least <- function(held, value) {
    free <- setdiff(names(best), held)
    start <- unlist(best[free])
    lower <- ifelse(startsWith(names(start), "rho"), -1, 0); lower[names(start) == "sigma"] <- 1e-6
    upper <- ifelse(startsWith(names(start), "rho"), 1, Inf)
    objective <- function(at) do.call(deviance_at, c(relist(at, best[free]), setNames(list(value), held)))
    nlminb(start, objective, lower = lower, upper = upper, control = list(rel.tol = 1e-13, x.tol = 1e-12, eval.max = 5000, iter.max = 5000))$objective
  }
  minimum <- deviance(m)
  excess <- function(value, held) least(held, value) - minimum - qchisq(0.95, 1)
  limits <- list(sd1 = c(0, 5 * best$sd1), sd2 = c(0, 5 * best$sd2), rho = c(-1, 1))
  do.call(rbind, lapply(names(limits), function(held) {
    end <- function(bound) if (excess(bound, held) <= 0) bound else
      uniroot(excess, sort(c(bound, best[[held]])), held = held, tol = 1e-10)$root
    data.frame(name, parameter = held, conf_low = end(limits[[held]][1]), conf_high = end(limits[[held]][2]))
  }))
}
write_exactly(rbind(
  ends_of("sleep_correlated", Reaction ~ Days + (1 + Days | Subject), sleep, 1:3),
  ends_of("crossed_slope", gain ~ rho + depth + (1 + depth | model) + (1 | prompt), crossed, 2:4)),
  "mixed_profile_correlated.csv")
