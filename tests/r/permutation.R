# coin's exact tests of a label that belongs to labs: seven lab means, three against four.
# Run here: Rscript permutation.R
library(coin)
models <- read.csv("models.csv")
labs <- aggregate(cbind(gain, heritage, density) ~ lab, models, mean)
exact <- function(response, alternative, rows = labs) {
  rows$label <- factor(rows$heritage, levels = c(1, 0))
  test <- oneway_test(reformulate("label", response), rows,
                      distribution = "exact", alternative = alternative)
  data.frame(response, units = nrow(rows), alternative = sub(".", "-", alternative, fixed = TRUE),
             p_value = pvalue(test))
}
answers <- rbind(
  exact("gain", "two.sided"), exact("gain", "less"), exact("gain", "greater"),
  exact("density", "two.sided"), exact("density", "less"), exact("density", "greater"))
write.csv(format(answers, digits = 17, trim = TRUE), "permutation.csv", row.names = FALSE, quote = FALSE)
