# Kenward-Roger of a weighted model: pbkrtest's own answer, which takes the residual variance as that
# of weight one in every row (the identity in .get_SigmaG), and its answer for the same model with
# every row times the root of its weight, which needs no weights.
# Run here after mixed.R: Rscript mixed_weighted.R
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest)})
rows <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE)
weighted <- lmer(gain ~ rho + depth + (1 | lab) + (1 + depth | model) + (1 | prompt), rows,
                 weights = precision, control = tight)
root <- sqrt(rows$precision)
rows <- transform(rows, one = root, rho = rho * root, depth = depth * root, gain = gain * root)
turned <- lmer(gain ~ 0 + one + rho + depth + (0 + one | lab) + (0 + one + depth | model) + (0 + one | prompt),
               rows, control = tight)
answer <- function(name, fit) {
  table <- coef(summary(fit, ddf = "Kenward-Roger"))
  data.frame(name, term = c("Intercept", "rho", "depth"), estimate = table[, 1], std_error = table[, 2],
             df = table[, 3], p_value = table[, 5])
}
answers <- rbind(answer("weights", weighted), answer("rows times roots", turned))
write.csv(format(answers, digits = 17, trim = TRUE), "mixed_weighted.csv", row.names = FALSE, quote = FALSE)
