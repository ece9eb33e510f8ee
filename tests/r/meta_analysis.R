# Meta-analysis by metafor, tolerances tightened; the BCG vaccine trials are metafor's own example.
# Run here: Rscript meta_analysis.R
suppressPackageStartupMessages(library(metafor))
bcg <- escalc(measure = "RR", ai = tpos, bi = tneg, ci = cpos, di = cneg, data = dat.bcg)
sets <- list(
  bcg = data.frame(estimate = as.numeric(bcg$yi), std_error = sqrt(bcg$vi)),
  suites = data.frame(estimate = c(0.42, 0.11, 0.73, 0.35, -0.2, 0.58, 0.27), std_error = c(0.12, 0.2, 0.15, 0.3, 0.22, 0.1, 0.4)),
  alike = data.frame(estimate = c(0.5, 0.55, 0.45, 0.52), std_error = c(0.2, 0.1, 0.3, 0.15)))
written <- do.call(rbind, lapply(names(sets), function(name) data.frame(set = name, sets[[name]])))
write.csv(format(written, digits = 17, trim = TRUE), "meta_analysis_studies.csv", row.names = FALSE, quote = FALSE)

answer <- function(set, method, test) {
  s <- sets[[set]]
  fit <- rma(estimate, sei = std_error, data = s, method = method, test = test, level = 95,
             control = list(threshold = 1e-14, maxiter = 100000, tol = 1e-12))
  common <- method == "EE"
  p <- predict(fit)
  q <- if (common) c(NA, NA) else confint(fit, control = list(tol = 1e-12))$random["tau^2", c("ci.lb", "ci.ub")]
  data.frame(set, model = if (common) "common" else "random", variance = c(REML = "reml", DL = "dersimonian-laird", EE = "reml")[[method]],
             test = if (test == "knha") "hartung-knapp" else "normal", estimate = as.numeric(fit$beta), std_error = fit$se,
             statistic = fit$zval, p_value = fit$pval, conf_low = fit$ci.lb, conf_high = fit$ci.ub,
             predicted_low = if (common) NA else p$pi.lb, predicted_high = if (common) NA else p$pi.ub,
             tau_squared = if (common) NA else fit$tau2, tau_squared_low = q[1], tau_squared_high = q[2],
             q_statistic = fit$QE, p_value_q = fit$QEp, i_squared = fit$I2 / 100)
}
answers <- do.call(rbind, lapply(names(sets), function(set) rbind(
  answer(set, "REML", "knha"), answer(set, "REML", "z"), answer(set, "DL", "knha"), answer(set, "DL", "z"), answer(set, "EE", "z"))))
write.csv(format(answers, digits = 15, trim = TRUE), "meta_analysis.csv", row.names = FALSE, quote = FALSE)
