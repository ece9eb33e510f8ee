# lm with classical and CR2 standard errors (clubSandwich).
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
    table <- coef_test(fit, vcovCR(fit, cluster = models[[cluster]], type = "CR2"), test = "Satterthwaite")
    se <- table$SE; df <- table$df_Satt; p <- table$p_Satt
    low <- coef(fit) - qt(0.975, df) * se; high <- coef(fit) + qt(0.975, df) * se
  }
  data.frame(name, kind, cluster, position = seq_along(coef(fit)), estimate = coef(fit), std_error = se,
             statistic = coef(fit) / se, df, p_value = p, conf_low = low, conf_high = high)
}
wanted <- rbind(
  expand.grid(name = names(formulas), kind = "classical", cluster = "none"),
  expand.grid(name = names(formulas), kind = "CR2", cluster = c("lab", "suite")))
answers <- do.call(rbind, Map(tidy, as.character(wanted$name), as.character(wanted$kind), as.character(wanted$cluster)))
write.csv(format(answers, digits = 17, trim = TRUE), "regression.csv", row.names = FALSE, quote = FALSE)
