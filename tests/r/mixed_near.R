# lme4's fit of two columns that differ by a millionth of their deviation: the coefficient of x2 beside x,
# and of the difference beside x. mixed_data_near.csv: y, g, x, x2 and, a tenth as far from x, x3.
# Run here: Rscript mixed_near.R
suppressMessages(library(lme4))
rows <- read.csv("mixed_data_near.csv", stringsAsFactors = TRUE)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE)
of <- function(formula) { m <- lmer(formula, rows, control = tight); c(coef(summary(m))[3, ], sd_g = attr(VarCorr(m)$g, "stddev")[[1]]) }
answers <- data.frame(t(sapply(list(beside = y ~ x + x2 + (1 | g), difference = y ~ x + I(x2 - x) + (1 | g)), of)))
names(answers) <- c("estimate", "std_error", "statistic", "sd_g")
answers <- cbind(name = rownames(answers), answers)
write.csv(format(answers, digits = 17, trim = TRUE), "mixed_near.csv", row.names = FALSE, quote = FALSE)
stopifnot(length(fixef(lmer(y ~ x + x3 + (1 | g), rows, control = tight))) == 2)  # lme4 leaves x3 out
