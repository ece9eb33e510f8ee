# lmer's own answers at its own parameters, with lmerTest, pbkrtest and performance.
# Run here: Rscript mixed.R   (writes mixed_*.csv; a few minutes)
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest); library(performance)})
options(digits = 17, contrasts = c("contr.treatment", "contr.poly"))
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)

# ---- data: classic sets that R ships, and made ones ----
data(sleepstudy); data(Penicillin); data(Dyestuff); data(Dyestuff2); data(cake); data(Machines, package = "nlme")
sleep <- data.frame(Reaction = sleepstudy$Reaction, Days = sleepstudy$Days, Subject = paste0("s", sleepstudy$Subject))
penicillin <- data.frame(diameter = Penicillin$diameter, plate = Penicillin$plate, sample = Penicillin$sample)
dyestuff <- data.frame(Yield = Dyestuff$Yield, Batch = Dyestuff$Batch)
dyestuff2 <- data.frame(Yield = Dyestuff2$Yield, Batch = Dyestuff2$Batch)
cakes <- data.frame(angle = cake$angle, recipe = cake$recipe, temp = cake$temp, temperature = paste0("t", cake$temperature), replicate = paste0("r", cake$replicate))
machines <- data.frame(score = Machines$score, Machine = as.character(Machines$Machine), Worker = paste0("w", Machines$Worker))

set.seed(20261120)
units <- function(n) {
  model <- sample(sprintf("m%02d", 1:12), n, TRUE, prob = (1:12)^0.7)
  lab <- c("alpha", "beta", "gamma", "delta", "epsilon")[c(1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5)][as.integer(substr(model, 2, 3))]
  prompt <- sample(sprintf("p%02d", 1:15), n, TRUE, prob = 15:1)
  depth <- round(runif(n), 4)
  rho <- round(c(0.19, 0.25, 0.5, 0.16, 0.2, 0.3, 0.12, 0.4, 0.22, 0.25, 0.15, 0.35)[as.integer(substr(model, 2, 3))], 4)
  data.frame(lab, model, prompt, depth, rho, kind = c("base", "chat", "code")[1 + (as.integer(substr(prompt, 2, 3)) %% 3)])
}
draw <- function(labels, sd) { levels <- sort(unique(labels)); rnorm(length(levels), 0, sd)[match(labels, levels)] }
crossed <- units(400)
crossed <- subset(crossed, !(model %in% c("m03", "m07") & prompt %in% c("p01", "p02", "p03", "p04")))
slope <- draw(crossed$model, 0.4)
crossed$gain <- 1 + 0.8 * crossed$rho - 0.5 * crossed$depth + draw(crossed$lab, 0.3) + draw(crossed$model, 0.3) +
  slope * crossed$depth + draw(crossed$prompt, 0.25) + 0.2 * (crossed$kind == "chat") + rnorm(nrow(crossed), 0, 0.4)
crossed$precision <- round(runif(nrow(crossed), 0.4, 3), 3)
crossed$known <- round(rnorm(nrow(crossed)), 3)
flat <- crossed; set.seed(7); flat$gain <- 1 + 0.2 * flat$depth + draw(flat$prompt, 0.3) + rnorm(nrow(flat), 0, 0.5)
shifted <- crossed; shifted$gain <- 1e4 + shifted$gain
sets <- list(sleep = sleep, penicillin = penicillin, dyestuff = dyestuff, dyestuff2 = dyestuff2, cake = cakes,
             machines = machines, crossed = crossed, flat = flat, shifted = shifted)
for (name in names(sets)) write_exactly(sets[[name]], sprintf("mixed_data_%s.csv", name))
sets <- lapply(names(sets), function(name) read.csv(sprintf("mixed_data_%s.csv", name), stringsAsFactors = TRUE))
names(sets) <- c("sleep", "penicillin", "dyestuff", "dyestuff2", "cake", "machines", "crossed", "flat", "shifted")

# ---- models: name, data, formula, weights, offset ----
cases <- list(
  sleep_correlated = list("sleep", Reaction ~ Days + (1 + Days | Subject)),
  sleep_uncorrelated = list("sleep", Reaction ~ Days + (1 + Days || Subject)),
  penicillin = list("penicillin", diameter ~ 1 + (1 | plate) + (1 | sample)),
  dyestuff = list("dyestuff", Yield ~ 1 + (1 | Batch)),
  dyestuff2 = list("dyestuff2", Yield ~ 1 + (1 | Batch)),
  cake = list("cake", angle ~ recipe * temp + (1 | recipe:replicate)),
  cake_nested = list("cake", angle ~ recipe + temp + (1 | replicate/recipe)),
  cake_factor = list("cake", angle ~ recipe * temperature + (1 | recipe:replicate)),
  machines_nested = list("machines", score ~ Machine + (1 | Worker/Machine)),
  machines_factor = list("machines", score ~ Machine + (0 + Machine | Worker)),
  crossed_intercepts = list("crossed", gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt)),
  crossed_correlated = list("crossed", gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt)),
  crossed_uncorrelated = list("crossed", gain ~ rho + depth + (1 | lab) + (1 + depth || model) + (1 | prompt)),
  crossed_nested = list("crossed", gain ~ rho + depth + (1 | lab/model) + (1 | prompt)),
  crossed_cells = list("crossed", gain ~ rho + depth + (1 | model) + (1 | prompt) + (1 | model:prompt)),
  crossed_interaction = list("crossed", gain ~ kind * depth + log(rho) + I(depth^2) + (1 | model) + (1 | prompt)),
  crossed_weights = list("crossed", gain ~ rho + depth + (1 | lab) + (1 + depth | model) + (1 | prompt), "precision"),
  crossed_offset = list("crossed", gain ~ rho + depth + offset(known) + (1 | model) + (1 | prompt)),
  crossed_cell_means = list("crossed", gain ~ 0 + kind + depth + (1 | model) + (1 | prompt)),
  flat_singular = list("flat", gain ~ depth + (1 | lab) + (1 + depth | model) + (1 | prompt)),
  shifted = list("shifted", gain ~ rho + depth + (1 | lab) + (1 + depth | model) + (1 | prompt)))

tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
fitted_by_r <- function(case, reml) {
  rows <- sets[[case[[1]]]]
  # ordinary lmerTest fit, so that its degrees of freedom can be asked for
  rows$weight_ <- if (length(case) > 2) rows[[case[[3]]]] else rep(1, nrow(rows))
  if (length(case) > 2) lmerTest::lmer(case[[2]], rows, REML = reml, weights = weight_, control = tight)
  else lmerTest::lmer(case[[2]], rows, REML = reml, control = tight)
}
named <- function(name, estimator, frame) cbind(name = name, estimator = estimator, frame)
summaries <- thetas <- fixed <- modes <- pars <- kr <- fits <- NULL
for (name in names(cases)) for (reml in c(TRUE, FALSE)) {
  m <- suppressMessages(fitted_by_r(cases[[name]], reml)); how <- if (reml) "REML" else "ML"
  r2 <- suppressWarnings(tryCatch(r2_nakagawa(m, tolerance = 1e-12), error = function(e) NULL))
  icc_ <- suppressWarnings(tryCatch(icc(m, tolerance = 1e-12)$ICC_adjusted, error = function(e) NA))
  number <- function(x) if (is.null(x) || length(x) == 0 || !is.numeric(x)) NA else unname(x)[1]
  summaries <- rbind(summaries, data.frame(name, estimator = how, data = cases[[name]][[1]], n_obs = nobs(m), sigma = sigma(m),
    criterion = if (reml) REMLcrit(m) else deviance(m), log_likelihood = as.numeric(logLik(m)), aic = AIC(m), bic = BIC(m),
    singular = isSingular(m, tol = 1e-4), r_squared_marginal = number(r2$R2_marginal), r_squared_conditional = number(r2$R2_conditional), icc = number(icc_)))
  thetas <- rbind(thetas, named(name, how, data.frame(position = seq_along(getME(m, "theta")), label = names(getME(m, "theta")), theta = unname(getME(m, "theta")))))
  table <- suppressWarnings(coef(summary(m, ddf = "Satterthwaite")))
  answer <- data.frame(term = rownames(table), estimate = table[, 1], std_error = table[, 2], satterthwaite_df = table[, 3],
                       kr_std_error = NA, kr_df = NA)
  if (reml && length(cases[[name]]) == 2) {
    adjusted <- vcovAdj(m); answer$kr_std_error <- sqrt(diag(as.matrix(adjusted)))
    answer$kr_df <- sapply(seq_len(nrow(table)), function(k) Lb_ddf(replace(numeric(nrow(table)), k, 1), vcov(m), adjusted))
  }
  fixed <- rbind(fixed, named(name, how, answer))
  re <- as.data.frame(lme4::ranef(m, condVar = TRUE))
  modes <- rbind(modes, named(name, how, data.frame(group = gsub(" ", "", re$grpvar), term = re$term, level = re$grp, estimate = re$condval, std_error = re$condsd)))
  vc <- as.data.frame(VarCorr(m)); vc$var1[is.na(vc$var1)] <- ""; vc$var2[is.na(vc$var2)] <- ""
  pars <- rbind(pars, named(name, how, data.frame(group = vc$grp, term1 = vc$var1, term2 = vc$var2, covariance = vc$vcov, sdcor = vc$sdcor)))
  fits[[paste(name, how)]] <- m
}
write_exactly(summaries, "mixed_glance.csv"); write_exactly(thetas, "mixed_theta.csv"); write_exactly(fixed, "mixed_fixed.csv")
write_exactly(modes, "mixed_modes.csv"); write_exactly(pars, "mixed_pars.csv")
rows <- data.frame(name = "crossed_correlated", fitted = fitted(fits[["crossed_correlated REML"]]), residual = resid(fits[["crossed_correlated REML"]]))
write_exactly(rows, "mixed_augment.csv")

# ---- F tests of several coefficients, and likelihood ratios ----
joint <- NULL
for (name in c("crossed_correlated", "machines_nested", "cake_factor")) {
  m <- fits[[paste(name, "REML")]]; terms <- names(fixef(m))
  factor_ <- c(crossed_correlated = "^kind", machines_nested = "^Machine", cake_factor = "^recipe[BC]:temp")[[name]]
  L <- diag(length(terms))[grepl(factor_, terms), , drop = FALSE]
  s <- contestMD(m, L); k <- KRmodcomp(m, L)$stats
  joint <- rbind(joint, data.frame(name, pattern = factor_, method = c("Satterthwaite", "Kenward-Roger"), num_df = c(s$NumDF, k$ndf),
    den_df = c(s$DenDF, k$ddf), statistic = c(s[["F value"]], k$Fstat), p_value = c(s[["Pr(>F)"]], k$p.value)))
}
write_exactly(joint, "mixed_joint.csv")
lr <- NULL
for (pair in list(c("crossed_intercepts", "crossed_uncorrelated"), c("sleep_uncorrelated", "sleep_correlated"))) {
  test <- suppressMessages(anova(fits[[paste(pair[1], "ML")]], fits[[paste(pair[2], "ML")]]))
  lr <- rbind(lr, data.frame(smaller = pair[1], larger = pair[2], statistic = test$Chisq[2], df = test$Df[2], p_value = test[["Pr(>Chisq)"]][2]))
}
write_exactly(lr, "mixed_likelihood_ratio.csv")
