# Fits with scale, poly, bs and ns by lme4. Run here after mixed.R: Rscript mixed_basis.R
suppressMessages({library(lme4); library(splines)})
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE)
formulas <- list(scale = gain ~ scale(depth) + kind + (1 | model), poly = gain ~ poly(depth, 3) * kind + (1 | model),
  bs = gain ~ bs(depth, df = 5) + (1 | model), ns = gain ~ ns(depth, df = 4) + (1 | model),
  ns_log = gain ~ ns(log(rho), 2) + (1 | model), slope = gain ~ scale(depth) + (1 + scale(depth) | model))
new <- data.frame(depth = c(-0.2, 0.31, 0.5, 1.3), rho = c(0.1, 0.2, 0.3, 0.6), kind = factor("chat", levels(crossed$kind)))
answers <- NULL
for (name in names(formulas)) {
  m <- lmer(formulas[[name]], crossed, control = tight)
  answers <- rbind(answers, data.frame(name, term = c(names(fixef(m)), paste0("new", 1:4)),
    estimate = c(fixef(m), suppressWarnings(predict(m, new, re.form = NA))), criterion = REMLcrit(m)))
}
answers$term <- gsub(" ", "", gsub(",", ";", answers$term))
write.csv(format(answers, digits = 17, trim = TRUE), "mixed_basis.csv", row.names = FALSE, quote = FALSE)
