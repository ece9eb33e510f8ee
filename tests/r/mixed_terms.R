# Joint tests of terms of several columns, and rank-deficient fits, by car, lme4. Run here after mixed.R: Rscript mixed_terms.R
suppressMessages({library(lme4); library(splines); library(car)})
crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
crossed$twice <- 2 * crossed$depth + 3
crossed$half <- factor(ifelse(seq_len(nrow(crossed)) %% 2 == 1, "v", "u"))
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE)
contrasts(crossed$kind) <- contr.sum(nlevels(crossed$kind))
answers <- NULL
keep <- function(name, term, statistic, df, p) answers <<- rbind(answers, data.frame(name, term, statistic, df, p_value = p))
m <- lmer(gain ~ poly(depth, 3) * kind + ns(rho, df = 2) + (1 | model), crossed, control = tight)
for (type in 2:3) {
  a <- Anova(m, type = type, test.statistic = "F")
  a <- a[rownames(a) != "(Intercept)", ]
  keep(paste0("anova", type), rownames(a), a$F, a$Df, a[["Pr(>F)"]])
}
ml <- update(m, REML = FALSE)
d <- drop1(ml, test = "Chisq")[-1, ]
keep("drop1", rownames(d), d$LRT, d$npar, d[["Pr(Chi)"]])
contrasts(crossed$kind) <- NULL
part <- crossed[!(crossed$half == "u" & crossed$kind == "chat"), ]
for (case in list(list("line", gain ~ depth + twice + kind + (1 | model), crossed), list("cell", gain ~ half * kind + (1 | model), part))) {
  fit <- suppressMessages(lmer(case[[2]], case[[3]], control = tight))
  keep(case[[1]], names(fixef(fit)), fixef(fit), length(fixef(fit)), REMLcrit(fit))
}
g <- glmer(gain > 1 ~ poly(depth, 2) + ns(rho, df = 2) + (1 | model), crossed, family = binomial,
  control = glmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
keep("glmer", names(fixef(g)), fixef(g), length(fixef(g)), as.numeric(logLik(g)))
answers$term <- gsub(" ", "", gsub(",", ";", gsub("df=", "", gsub(" ", "", answers$term))))
write.csv(format(answers, digits = 15, trim = TRUE), "mixed_terms.csv", row.names = FALSE, quote = FALSE)
