# Planned contrasts of coefficients and of marginal means, with values of covariates, families by a
# second factor and adjustments, by emmeans and pbkrtest; joint tests and covariances.
# Run here after mixed.R: Rscript mixed_planned.R   (writes mixed_planned*.csv; a minute)
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest); library(emmeans)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
cake <- read.csv("mixed_data_cake.csv", stringsAsFactors = TRUE)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
models <- list(
  cake = lmerTest::lmer(angle ~ recipe * temperature + (1 | recipe:replicate), cake, control = tight),
  crossed = lmerTest::lmer(gain ~ kind * depth + log(rho) + (1 | model) + (1 | prompt), crossed, control = tight),
  two = lmerTest::lmer(gain ~ kind * lab + depth + (1 | model) + (1 | prompt), crossed, control = tight))
data_of <- list(cake = cake, crossed = crossed, two = crossed)
answers <- NULL
keep <- function(case, asked, df, adjust, table, level = "") {
  table <- as.data.frame(table)
  value <- intersect(c("emmean", "estimate"), names(table))[1]
  low <- grep("lower.CL", names(table)); high <- grep("upper.CL", names(table))
  label <- if (value == "emmean") as.character(table[[1]]) else as.character(table$contrast)
  answers <<- rbind(answers, data.frame(case, asked, method = df, adjust, level, contrast = label, estimate = table[[value]],
    std_error = table$SE, df = table$df, p_value = if ("p.value" %in% names(table)) table$p.value else NA,
    conf_low = table[[low]], conf_high = table[[high]]))
}
set.seed(1)
for (df in c("kenward-roger", "satterthwaite")) {
  grid <- function(case, ...) suppressMessages(emmeans(models[[case]], ..., lmer.df = df, data = data_of[[case]]))
  # Contrasts of means that were planned: temperature's linear trend and an early-late comparison.
  g <- grid("cake", ~ temperature)
  planned <- list(linear = c(-5, -3, -1, 1, 3, 5), `early - late` = c(1, 1, 1, -1, -1, -1) / 3)
  for (adjust in c("none", "holm", "bonferroni"))
    keep("cake", "planned", df, adjust, summary(contrast(g, planned, adjust = adjust), infer = TRUE))
  # Comparisons with one level: Dunnett's, exactly, and Holm's.
  for (adjust in c("none", "holm", "mvt"))
    keep("cake", "control", df, adjust, summary(contrast(g, "trt.vs.ctrl", ref = 2, adjust = adjust), infer = TRUE))
  # Families by a second factor.
  by_ <- grid("two", ~ kind | lab)
  for (adjust in c("none", "tukey", "holm")) {
    s <- summary(pairs(by_, adjust = adjust), infer = TRUE)
    keep("two", "by", df, adjust, s, as.character(s$lab))
  }
  # Values of covariates, also of one within a logarithm, and levels that are left.
  at_ <- grid("crossed", ~ kind, at = list(depth = 0.9, rho = 0.5))
  keep("crossed", "at", df, "none", summary(at_, infer = TRUE))
  keep("crossed", "at pairs", df, "tukey", summary(pairs(at_, adjust = "tukey"), infer = TRUE))
  few <- grid("two", ~ kind, at = list(lab = levels(crossed$lab)[1:2], depth = 0.25))
  keep("two", "at levels", df, "none", summary(few, infer = TRUE))
  # Coefficients.
  names_ <- names(fixef(models$crossed))
  weights <- list(`slope of the last` = (names_ == "depth") + (names_ == tail(names_, 1)), `sum` = rep(1, length(names_)))
  L <- do.call(rbind, weights)
  table <- contest(models$crossed, L, joint = FALSE, confint = TRUE, ddf = if (df == "kenward-roger") "Kenward-Roger" else "Satterthwaite")
  answers <- rbind(answers, data.frame(case = "crossed", asked = "coefficients", method = df, adjust = "none", level = "", contrast = names(weights),
    estimate = table$Estimate, std_error = table$`Std. Error`, df = table$df, p_value = table$`Pr(>|t|)`,
    conf_low = table$lower, conf_high = table$upper))
  joint <- contest(models$crossed, L, ddf = if (df == "kenward-roger") "Kenward-Roger" else "Satterthwaite")
  answers <- rbind(answers, data.frame(case = "crossed", asked = "joint", method = df, adjust = "none", level = "", contrast = "joint",
    estimate = joint$`F value`, std_error = joint$NumDF, df = joint$DenDF, p_value = joint$`Pr(>F)`, conf_low = NA, conf_high = NA))
}
write_exactly(answers, "mixed_planned.csv")
both <- rbind(data.frame(method = "wald", as.matrix(vcov(models$crossed)), check.names = FALSE),
              data.frame(method = "kenward-roger", as.matrix(vcovAdj(models$crossed)), check.names = FALSE))
write_exactly(both, "mixed_planned_vcov.csv")
