# Analyses of variance of types II and III by car and lmerTest; marginal means of several factors,
# with transformed covariates, an offset and adjustments, and trends by emmeans.
# Run here after mixed.R: Rscript mixed_face.R   (ten minutes, nearly all of them in pmvt)
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest); library(car); library(emmeans); library(mvtnorm)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
sets <- list(crossed = read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE),
             cake = read.csv("mixed_data_cake.csv", stringsAsFactors = TRUE),
             machines = read.csv("mixed_data_machines.csv", stringsAsFactors = TRUE))
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
cases <- list(
  cake = list("cake", angle ~ recipe * temp + (1 | recipe:replicate)),
  cake_factor = list("cake", angle ~ recipe * temperature + (1 | recipe:replicate)),
  machines_nested = list("machines", score ~ Machine + (1 | Worker/Machine)),
  crossed_correlated = list("crossed", gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt)),
  crossed_interaction = list("crossed", gain ~ kind * depth + log(rho) + I(depth^2) + (1 | model) + (1 | prompt)),
  crossed_two = list("crossed", gain ~ kind * lab + depth + (1 | model) + (1 | prompt)),
  crossed_cell_means = list("crossed", gain ~ 0 + kind + depth + (1 | model) + (1 | prompt)))
answers <- NULL
for (name in names(cases)) {
  rows <- sets[[cases[[name]][[1]]]]
  formula_ <- cases[[name]][[2]]
  fit <- function(coding) {
    old <- options(contrasts = c(coding, "contr.poly")); on.exit(options(old))
    lmerTest::lmer(formula_, rows, control = tight)
  }
  plain <- fit("contr.treatment"); summed <- fit("contr.sum")
  frame <- function(type, method, table, statistic, df, residual, p) {
    table <- table[rownames(table) != "(Intercept)", , drop = FALSE]
    data.frame(name, type, method, term = gsub(" ", "", rownames(table)), statistic = table[[statistic]], df = table[[df]],
               df_residual = if (is.na(residual)) Inf else table[[residual]], p_value = table[[p]])
  }
  for (type in c("II", "III")) {
    m <- if (type == "II") plain else summed
    answers <- rbind(answers, frame(type, "wald", as.data.frame(car::Anova(m, type = type)), "Chisq", "Df", NA, "Pr(>Chisq)"))
    answers <- rbind(answers, frame(type, "kenward-roger", as.data.frame(car::Anova(m, type = type, test.statistic = "F")), "F", "Df", "Df.res", "Pr(>F)"))
    answers <- rbind(answers, frame(type, "satterthwaite", as.data.frame(anova(m, type = type, ddf = "Satterthwaite")), "F value", "NumDF", "DenDF", "Pr(>F)"))
  }
}
write_exactly(answers, "mixed_face_anova.csv")

# ---- marginal means: the formula, what is asked, and how p is adjusted ----
means <- NULL
add <- function(case, kind, adjust, table, label) {
  table <- as.data.frame(table)
  low <- grep("lower.CL|asymp.LCL", names(table)); high <- grep("upper.CL|asymp.UCL", names(table))
  value <- intersect(c("emmean", "estimate", grep("trend$", names(table), value = TRUE)), names(table))[1]
  means <<- rbind(means, data.frame(case, kind, adjust, contrast = label(table), estimate = table[[value]], std_error = table$SE, df = table$df,
    p_value = if ("p.value" %in% names(table)) table$p.value else NA, conf_low = table[[low]], conf_high = table[[high]]))
}
asked <- list(
  cake_factor = list("cake", angle ~ recipe * temperature + (1 | recipe:replicate), ~ recipe, ~ recipe + temperature),
  crossed_interaction = list("crossed", gain ~ kind * depth + log(rho) + I(depth^2) + (1 | model) + (1 | prompt), ~ kind, ~ kind),
  crossed_two = list("crossed", gain ~ kind * lab + depth + (1 | model) + (1 | prompt), ~ lab, ~ kind + lab),
  crossed_offset = list("crossed", gain ~ kind + depth + offset(known) + (1 | model) + (1 | prompt), ~ kind, ~ kind),
  crossed_weighted = list("crossed", gain ~ kind + log(rho) + depth + (1 | model) + (1 | prompt), ~ kind, ~ kind))
for (case in names(asked)) {
  rows <- sets[[asked[[case]][[1]]]]
  rows$weight_ <- if (case == "crossed_weighted") rows$precision else rep(1, nrow(rows))
  m <- if (case == "crossed_weighted") lmerTest::lmer(asked[[case]][[2]], rows, weights = weight_, control = tight)
       else lmerTest::lmer(asked[[case]][[2]], rows, control = tight)
  for (place in 3:4) {
    if (place == 4 && identical(asked[[case]][[3]], asked[[case]][[4]])) next
    grid <- suppressMessages(emmeans(m, asked[[case]][[place]], lmer.df = if (case == "crossed_weighted") "satterthwaite" else "kenward-roger", data = rows))
    factors <- all.vars(asked[[case]][[place]])
    add(case, paste(factors, collapse = "+"), "none", grid, function(t) do.call(paste, c(lapply(factors, function(f) as.character(t[[f]])), sep = ":")))
    if (place == 3) for (how in c("none", "tukey"))
      add(case, paste0("pairs ", factors), how, summary(pairs(grid, adjust = how), infer = TRUE), function(t) as.character(t$contrast))
  }
}
# Trends: emtrends' own difference quotient, with a small step where a predictor bends.
m <- lmerTest::lmer(gain ~ kind * depth + log(rho) + I(depth^2) + (1 | model) + (1 | prompt), sets$crossed, control = tight)
for (number in c("depth", "rho")) {
  slopes <- suppressMessages(emtrends(m, ~ kind, var = number, lmer.df = "kenward-roger", data = sets$crossed, delta.var = 1e-5))
  add("crossed_interaction", paste("trends", number), "none", slopes, function(t) as.character(t$kind))
}
m <- lmerTest::lmer(angle ~ recipe * temp + (1 | recipe:replicate), sets$cake, control = tight)
slopes <- suppressMessages(emtrends(m, ~ recipe, var = "temp", lmer.df = "kenward-roger", data = sets$cake))
add("cake", "trends temp", "none", slopes, function(t) as.character(t$recipe))
add("cake", "pairs trends temp", "tukey", summary(pairs(slopes), infer = TRUE), function(t) as.character(t$contrast))
write_exactly(means, "mixed_face_means.csv")

# ---- the multivariate t of correlated contrasts, by Genz and Bretz's integration ----
set.seed(1)
m <- lmerTest::lmer(angle ~ recipe + temperature + (1 | recipe:replicate), sets$cake, control = tight)
grid <- suppressMessages(emmeans(m, ~ temperature, lmer.df = "kenward-roger"))
table <- as.data.frame(summary(pairs(grid), infer = TRUE, adjust = "none"))
correlation <- cov2cor(vcov(pairs(grid)))
p <- sapply(seq_len(nrow(table)), function(i) 1 - pmvt(-rep(abs(table$t.ratio[i]), nrow(table)), rep(abs(table$t.ratio[i]), nrow(table)),
  df = round(table$df[i]), corr = correlation, algorithm = GenzBretz(maxpts = 1e7, abseps = 1e-7)))
c_ <- qmvt(0.95, tail = "both.tails", df = round(table$df[1]), corr = correlation, algorithm = GenzBretz(maxpts = 1e6, abseps = 1e-6))$quantile
write_exactly(data.frame(contrast = as.character(table$contrast), statistic = table$t.ratio, df = table$df, p_value = p, critical = c_), "mixed_face_mvt.csv")
