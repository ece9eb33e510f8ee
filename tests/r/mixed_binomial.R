# glmer's logistic mixed models (Laplace) of the sign of a number, with shares of variance.
# Run here after mixed.R: Rscript mixed_binomial.R
suppressMessages({library(lme4); library(performance)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)

crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
crossed$high <- as.integer(crossed$gain > 1)
data(cbpp)
cows <- do.call(rbind, lapply(seq_len(nrow(cbpp)), function(i) data.frame(
  herd = paste0("h", cbpp$herd[i]), period = paste0("q", cbpp$period[i]),
  ill = rep(c(1, 0), c(cbpp$incidence[i], cbpp$size[i] - cbpp$incidence[i])))))
write_exactly(cows, "mixed_data_cows.csv")
cows <- read.csv("mixed_data_cows.csv", stringsAsFactors = TRUE)

cases <- list(
  cows = list(cows, ill ~ period + (1 | herd)),
  sign_crossed = list(crossed, high ~ rho + depth + (1 | model) + (1 | prompt)),
  sign_factor = list(crossed, high ~ kind * depth + (1 | model) + (1 | prompt)),
  sign_slope = list(crossed, high ~ depth + (1 + depth | model) + (1 | prompt)),
  sign_nested = list(crossed, high ~ rho + (1 | lab / model) + (1 | prompt)),
  sign_offset = list(crossed, high ~ depth + offset(known) + (1 | model)))

# The search stops when steps fall below 1e-11, the inner iterations at 1e-13.
tight <- glmerControl(optimizer = c("bobyqa", "bobyqa"), tolPwrss = 1e-13,
                      optCtrl = list(rhoend = 1e-11, maxfun = 1e6),
                      check.conv.singular = "ignore", check.conv.grad = "ignore", check.conv.hess = "ignore")
number <- function(x) if (is.null(x) || length(x) == 0 || !is.numeric(x)) NA else unname(x)[1]
glances <- fixed <- pars <- modes <- NULL
for (name in names(cases)) {
  m <- glmer(cases[[name]][[2]], cases[[name]][[1]], family = binomial, control = tight)
  r2 <- suppressWarnings(tryCatch(r2_nakagawa(m, tolerance = 1e-12), error = function(e) NULL))
  icc_ <- suppressWarnings(tryCatch(icc(m, tolerance = 1e-12)$ICC_adjusted, error = function(e) NA))
  glances <- rbind(glances, data.frame(name, n_obs = nobs(m), log_likelihood = as.numeric(logLik(m)),
    aic = AIC(m), bic = BIC(m), singular = isSingular(m, tol = 1e-4),
    r_squared_marginal = number(r2$R2_marginal), r_squared_conditional = number(r2$R2_conditional), icc = number(icc_)))
  table <- coef(summary(m))
  fixed <- rbind(fixed, data.frame(name, term = rownames(table), estimate = table[, 1], std_error = table[, 2],
                                   statistic = table[, 3], p_value = table[, 4]))
  vc <- as.data.frame(VarCorr(m)); vc$var2[is.na(vc$var2)] <- ""
  pars <- rbind(pars, data.frame(name, group = vc$grp, term1 = vc$var1, term2 = vc$var2, sdcor = vc$sdcor))
  re <- as.data.frame(lme4::ranef(m, condVar = FALSE))
  modes <- rbind(modes, data.frame(name, group = re$grpvar, term = re$term, level = re$grp, estimate = re$condval))
}
write_exactly(glances, "mixed_binomial_glance.csv"); write_exactly(fixed, "mixed_binomial_fixed.csv")
write_exactly(pars, "mixed_binomial_pars.csv"); write_exactly(modes, "mixed_binomial_modes.csv")
