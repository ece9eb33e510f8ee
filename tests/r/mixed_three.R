# The model of the guide for users of lme4, by lmerTest. Run here: Rscript mixed_three.R
suppressMessages(library(lmerTest))
sleep <- read.csv("mixed_data_sleep.csv", stringsAsFactors = TRUE)
m <- lmer(Reaction ~ Days + (1 + Days | Subject), sleep)
k <- coef(summary(m, ddf = "Kenward-Roger"))
answers <- data.frame(term = rownames(k), estimate = k[, 1], std_error = k[, 2], df = k[, 3], p_value = k[, 5])
answers$criterion <- REMLcrit(m)
write.csv(format(answers, digits = 15, trim = TRUE), "mixed_three.csv", row.names = FALSE, quote = FALSE)
