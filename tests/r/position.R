# The mixed model of position on the published block gains, by lme4; tests of suites by pbkrtest.
# Run here: Rscript position.R   (reads ../../data/published, writes position*.csv; about a minute)
suppressMessages({library(lme4); library(pbkrtest)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
profile <- read.csv("../../data/published/published_profile.csv")
models <- read.csv("../../data/published/model.csv")
rows <- merge(subset(profile, metric == "gain_block" & layer > 0), models, by = "model_id")
rows <- subset(rows, base_model_id == "" & norm_position != "post")
rows$log_gain <- log(rows$value)
rows <- aggregate(log_gain ~ model_id + suite + n_layers + layer, rows, mean)
quarter <- floor(4 * (rows$layer - 1) / (rows$n_layers - 2)) + 1
rows$part <- factor(c("first", "second", "third", "last")[quarter])
rows$suite <- factor(rows$suite); rows$model_id <- factor(rows$model_id)

tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
m <- suppressWarnings(lmer(log_gain ~ 0 + part:suite + part:n_layers + (0 + part | model_id), rows, control = tight))
write_exactly(data.frame(theta = getME(m, "theta")), "position_theta.csv")
write_exactly(data.frame(term = names(fixef(m)), estimate = fixef(m), std_error = sqrt(diag(as.matrix(vcov(m)))),
                         criterion = REMLcrit(m), sigma = sigma(m)), "position_fixed.csv")
tests <- do.call(rbind, lapply(levels(rows$part), function(part) {
  own <- grep(paste0("^part", part, ":suite"), names(fixef(m)))
  L <- matrix(0, length(own) - 1, length(fixef(m)))
  for (i in seq_along(own[-1])) { L[i, own[1]] <- -1; L[i, own[i + 1]] <- 1 }
  k <- KRmodcomp(m, L)$test["Ftest", ]
  data.frame(part, statistic = k$stat, df_numerator = k$ndf, df = k$ddf, p_value = k$p.value)
}))
write_exactly(tests, "position_tests.csv")
