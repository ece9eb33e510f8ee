# Students crossed with lecturers (lme4's InstEval, 73,421 rows), by lme4. Run here: Rscript mixed_insteval.R
suppressMessages(library(lme4))
m <- lmer(y ~ service + (1 | s) + (1 | d) + (1 | dept:service), InstEval,
  control = lmerControl(optCtrl = list(ftol_abs = 1e-12, xtol_abs = 1e-9)))
s <- coef(summary(m))
v <- as.data.frame(VarCorr(m))
answers <- rbind(
  data.frame(quantity = "criterion", term = "", value = REMLcrit(m)),
  data.frame(quantity = "estimate", term = rownames(s), value = s[, 1]),
  data.frame(quantity = "std_error", term = rownames(s), value = s[, 2]),
  data.frame(quantity = "sd", term = v$grp, value = v$sdcor))
answers$value <- format(answers$value, digits = 15, trim = TRUE)
write.csv(answers, "mixed_insteval.csv", row.names = FALSE, quote = FALSE)
rows <- InstEval[c("s", "d", "dept", "service", "y")]
con <- gzfile("mixed_data_insteval.csv.gz", "w")
write.csv(rows, con, row.names = FALSE, quote = FALSE)
close(con)
