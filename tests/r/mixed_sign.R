# Of glmer's logistic mixed models: Wald's chi-squared of terms by car, likelihood ratios, marginal
# means and contrasts [log odds] by emmeans, and the covariance. Run here after mixed_binomial.R: Rscript mixed_sign.R
suppressMessages({library(lme4); library(car); library(emmeans)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
crossed$high <- as.integer(crossed$gain > 1)
cows <- read.csv("mixed_data_cows.csv", stringsAsFactors = TRUE)
tight <- glmerControl(optimizer = c("bobyqa", "bobyqa"), tolPwrss = 1e-13,
                      optCtrl = list(rhoend = 1e-11, maxfun = 1e6),
                      check.conv.singular = "ignore", check.conv.grad = "ignore", check.conv.hess = "ignore")
fit <- function(formula_, rows, coding = "contr.treatment") {
  old <- options(contrasts = c(coding, "contr.poly")); on.exit(options(old))
  glmer(formula_, rows, family = binomial, control = tight)
}
tests <- NULL
for (case in list(list("cows", ill ~ period + (1 | herd), cows), list("sign_factor", high ~ kind * depth + (1 | model) + (1 | prompt), crossed)))
  for (type in c("II", "III")) {
    table <- as.data.frame(car::Anova(fit(case[[2]], case[[3]], if (type == "II") "contr.treatment" else "contr.sum"), type = type))
    table <- table[rownames(table) != "(Intercept)", ]
    tests <- rbind(tests, data.frame(case = case[[1]], kind = type, term = rownames(table), statistic = table$Chisq, df = table$Df, p_value = table$`Pr(>Chisq)`))
  }
ratio <- function(case, small, large, rows) {
  table <- anova(fit(small, rows), fit(large, rows))
  tests <<- rbind(tests, data.frame(case, kind = "ratio", term = "", statistic = table$Chisq[2], df = table$Df[2], p_value = table$`Pr(>Chisq)`[2]))
}
ratio("cows", ill ~ 1 + (1 | herd), ill ~ period + (1 | herd), cows)
ratio("sign_factor", high ~ kind + depth + (1 | model) + (1 | prompt), high ~ kind * depth + (1 | model) + (1 | prompt), crossed)
ratio("sign_group", high ~ kind * depth + (1 | model), high ~ kind * depth + (1 | model) + (1 | prompt), crossed)
write_exactly(tests, "mixed_sign_tests.csv")

means <- NULL
keep <- function(case, asked, adjust, table) {
  table <- as.data.frame(table)
  value <- intersect(c("emmean", "estimate"), names(table))[1]
  low <- grep("asymp.LCL", names(table)); high <- grep("asymp.UCL", names(table))
  means <<- rbind(means, data.frame(case, asked, adjust, contrast = if (value == "emmean") as.character(table[[1]]) else as.character(table$contrast),
    estimate = table[[value]], std_error = table$SE, p_value = if ("p.value" %in% names(table)) table$p.value else NA, conf_low = table[[low]], conf_high = table[[high]]))
}
cow <- fit(ill ~ period + (1 | herd), cows)
g <- emmeans(cow, ~ period)
keep("cows", "means", "none", summary(g, infer = TRUE))
for (adjust in c("none", "tukey", "holm")) keep("cows", "pairs", adjust, summary(pairs(g, adjust = adjust), infer = TRUE))
keep("cows", "control", "none", summary(contrast(g, "trt.vs.ctrl", ref = 1, adjust = "none"), infer = TRUE))
sign <- fit(high ~ kind * depth + (1 | model) + (1 | prompt), crossed)
at_ <- suppressMessages(emmeans(sign, ~ kind, at = list(depth = 0.9)))
keep("sign_factor", "at", "none", summary(at_, infer = TRUE))
write_exactly(means, "mixed_sign_means.csv")
write_exactly(data.frame(as.matrix(vcov(cow)), check.names = FALSE), "mixed_sign_vcov.csv")
