# Profile intervals (lme4).
# Run here after mixed.R: Rscript mixed_inference.R
suppressMessages(library(lme4))
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
