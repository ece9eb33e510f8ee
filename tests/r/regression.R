# lm with classical, CR1S and CR2 standard errors (clubSandwich), and its diagnostics.
# Run here: Rscript regression.R
suppressMessages(library(clubSandwich))
models <- read.csv("models.csv", stringsAsFactors = TRUE)
formulas <- c(trait = "gain ~ heritage + density + log_parameters",
              logs = "gain ~ log(density) * layers",
              labs = "gain ~ lab + density",
              mean = "gain ~ 1")

tidy <- function(name, kind, cluster) {
  fit <- lm(as.formula(formulas[[name]]), models)
  if (kind == "classical") {
    table <- summary(fit)$coefficients
    df <- rep(fit$df.residual, nrow(table))
    se <- table[, 2]; p <- table[, 4]
    ends <- confint(fit)
    low <- ends[, 1]; high <- ends[, 2]
  } else {
    type <- if (kind == "CR1") "CR1S" else "CR2"
    test <- if (kind == "CR1") "naive-t" else "Satterthwaite"
    covariance <- vcovCR(fit, cluster = models[[cluster]], type = type)
    table <- coef_test(fit, covariance, test = test)
    se <- table$SE
    df <- if (kind == "CR1") rep(nlevels(models[[cluster]]) - 1, nrow(table)) else table$df_Satt
    p <- if (kind == "CR1") table$p_t else table$p_Satt
    low <- coef(fit) - qt(0.975, df) * se; high <- coef(fit) + qt(0.975, df) * se
  }
  data.frame(name, kind, cluster, position = seq_along(coef(fit)), estimate = coef(fit), std_error = se,
             statistic = coef(fit) / se, df, p_value = p, conf_low = low, conf_high = high)
}
wanted <- rbind(
  expand.grid(name = names(formulas), kind = "classical", cluster = "none"),
  expand.grid(name = names(formulas), kind = c("CR1", "CR2"), cluster = c("lab", "suite")))
wanted <- subset(wanted, !(name == "labs" & cluster == "lab" & kind == "CR1"))
answers <- do.call(rbind, Map(tidy, as.character(wanted$name), as.character(wanted$kind), as.character(wanted$cluster)))
write.csv(format(answers, digits = 17, trim = TRUE), "regression.csv", row.names = FALSE, quote = FALSE)

glance <- function(name) {
  fit <- lm(as.formula(formulas[[name]]), models)
  whole <- summary(fit)
  f <- whole$fstatistic
  if (is.null(f)) f <- c(NA, 0, fit$df.residual)
  data.frame(name, r_squared = whole$r.squared, adj_r_squared = whole$adj.r.squared, sigma = whole$sigma,
             statistic = f[1], df = f[2], p_value = pf(f[1], f[2], f[3], lower.tail = FALSE),
             df_residual = fit$df.residual, log_likelihood = as.numeric(logLik(fit)),
             aic = AIC(fit), bic = BIC(fit))
}
write.csv(format(do.call(rbind, lapply(names(formulas), glance)), digits = 17, trim = TRUE),
          "regression_glance.csv", row.names = FALSE, quote = FALSE)

fit <- lm(as.formula(formulas[["trait"]]), models)
diagnostics <- data.frame(fitted = fitted(fit), residual = resid(fit), leverage = hatvalues(fit),
                          cooks_distance = cooks.distance(fit))
write.csv(format(diagnostics, digits = 17, trim = TRUE), "regression_augment.csv", row.names = FALSE, quote = FALSE)
