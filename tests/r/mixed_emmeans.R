# Estimated marginal means and their differences by emmeans, with Kenward-Roger's degrees of
# freedom. Run here after mixed.R: Rscript mixed_emmeans.R
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest); library(emmeans)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
cake <- read.csv("mixed_data_cake.csv", stringsAsFactors = TRUE)

# The same control as in mixed.R, so that theta is the one in mixed_theta.csv.
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
cases <- list(
  crossed_correlated = list(crossed, gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt), ~ kind),
  cake_nested = list(cake, angle ~ recipe + temp + (1 | replicate / recipe), ~ recipe),
  cake_factor = list(cake, angle ~ recipe * temperature + (1 | recipe:replicate), ~ recipe),
  cake = list(cake, angle ~ recipe * temp + (1 | recipe:replicate), ~ recipe))
answers <- NULL
for (name in names(cases)) {
  rows <- cases[[name]][[1]]
  m <- lmerTest::lmer(cases[[name]][[2]], rows, control = tight)
  # The mean of a number is that of its column, not of its distinct values.
  grid <- suppressMessages(emmeans(m, cases[[name]][[3]], lmer.df = "kenward-roger", data = rows))
  means <- as.data.frame(grid)
  pairs_ <- as.data.frame(pairs(grid, adjust = "none"))
  answers <- rbind(answers,
    data.frame(name, pair = FALSE, contrast = as.character(means[[1]]), estimate = means$emmean, std_error = means$SE, df = means$df),
    data.frame(name, pair = TRUE, contrast = as.character(pairs_$contrast), estimate = pairs_$estimate, std_error = pairs_$SE, df = pairs_$df))
}
write_exactly(answers, "mixed_emmeans.csv")
