# Profile intervals (lme4), cluster-robust tests of least squares (clubSandwich), a wild cluster
# bootstrap written out, Cook's distances of left-out levels, emmeans by hand.
# Run here after mixed.R: Rscript mixed_inference.R
suppressMessages({library(lme4); library(clubSandwich)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
sleep <- read.csv("mixed_data_sleep.csv", stringsAsFactors = TRUE)
penicillin <- read.csv("mixed_data_penicillin.csv", stringsAsFactors = TRUE)

tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE)
intervals <- function(name, fit) {
  ends <- suppressWarnings(confint(profile(fit, signames = FALSE, devtol = Inf), level = 0.95))
  data.frame(name, parameter = rownames(ends), conf_low = ends[, 1], conf_high = ends[, 2])
}
write_exactly(rbind(
  intervals("sleep_uncorrelated", lmer(Reaction ~ Days + (1 + Days || Subject), sleep, REML = FALSE, control = tight)),
  intervals("penicillin", lmer(diameter ~ 1 + (1 | plate) + (1 | sample), penicillin, REML = FALSE, control = tight)),
  intervals("crossed_intercepts", lmer(gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt), crossed, REML = FALSE, control = tight))),
  "mixed_profile.csv")

fit <- lm(gain ~ rho + depth + kind, crossed)
robust <- do.call(rbind, lapply(c("lab", "model", "prompt"), function(cluster) do.call(rbind, lapply(c("CR0", "CR1S", "CR2", "CR3"), function(type) {
  covariance <- vcovCR(fit, cluster = crossed[[cluster]], type = type)
  test <- coef_test(fit, covariance, test = if (type == "CR2") "Satterthwaite" else "naive-t")
  data.frame(cluster, type, term = names(coef(fit)), estimate = unname(coef(fit)), std_error = test$SE,
             df = if (type == "CR2") test$df_Satt else nlevels(crossed[[cluster]]) - 1,
             p_value = if (type == "CR2") test$p_Satt else test$p_t)
}))))
write_exactly(robust, "mixed_robust.csv")

# All 2^5 sign vectors by lab, null imposed (Cameron, Gelbach and Miller 2008), row by row.
wild <- function(term) {
  X <- model.matrix(fit); y <- crossed$gain; n <- nrow(X); p <- ncol(X); G <- nlevels(crossed$lab)
  t_of <- function(y) {
    m <- lm.fit(X, y); bread <- solve(crossprod(X)); s <- rowsum(X * m$residuals, crossed$lab)
    V <- G / (G - 1) * (n - 1) / (n - p) * bread %*% crossprod(s) %*% bread
    unname(m$coefficients[term] / sqrt(V[term, term]))
  }
  restricted <- lm.fit(X[, colnames(X) != term], y)
  signs <- as.matrix(expand.grid(rep(list(c(-1, 1)), G)))
  drawn <- apply(signs, 1, function(s) t_of(restricted$fitted.values + s[as.integer(crossed$lab)] * restricted$residuals))
  observed <- t_of(y)
  data.frame(term, statistic = observed, p_value = mean(abs(drawn) >= abs(observed) * (1 - 1e-9)))
}
write_exactly(do.call(rbind, lapply(c("rho", "depth", "kindchat"), wild)), "mixed_wild.csv")

whole <- lmer(gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt), crossed, control = tight)
left_out <- do.call(rbind, lapply(levels(crossed$lab), function(level) {
  m <- lmer(gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt), subset(crossed, lab != level), control = tight)
  change <- fixef(m) - fixef(whole)
  data.frame(level, term = names(change), estimate = fixef(m), change,
             cooks_distance = drop(change %*% solve(as.matrix(vcov(whole)), change)) / length(change))
}))
write_exactly(left_out, "mixed_left_out.csv")
