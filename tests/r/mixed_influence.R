# Influence of whole groups (estimates without each level, Cook's distance) and leverage of rows, by lme4.
# Run here after mixed.R: Rscript mixed_influence.R   (seconds)
suppressMessages(library(lme4))
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
m <- lmer(gain ~ rho + depth + (1 | model) + (1 | lab), crossed, control = tight)
# Each level left out by hand: lme4's influence() starts its refits with looser control.
levels_ <- levels(crossed$lab)
without <- do.call(rbind, lapply(levels_, function(level) {
  left <- lmer(formula(m), subset(crossed, lab != level), control = tight)
  d <- fixef(left) - fixef(m)
  data.frame(level, term = names(fixef(m)), estimate = fixef(left), change = d,
             cooks_distance = as.numeric(t(d) %*% solve(as.matrix(vcov(m))) %*% d / length(d)))
}))
write_exactly(without, "mixed_influence.csv")
write_exactly(data.frame(leverage = hatvalues(m)), "mixed_influence_leverage.csv")
print(cooks.distance(influence(m, groups = "lab")))
