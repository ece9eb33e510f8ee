# Shares of R squared: the mean increase over all orders in which the blocks enter lm().
# Run here: Rscript partition.R
models <- read.csv("models.csv")
blocks <- list(lab = "lab", geometry = c("density", "layers"), scale = "log_parameters")
r_squared <- function(names) {
  columns <- unlist(blocks[names])
  if (length(columns) == 0) return(0)
  summary(lm(reformulate(columns, "gain"), models))$r.squared
}
orders <- list(c(1, 2, 3), c(1, 3, 2), c(2, 1, 3), c(2, 3, 1), c(3, 1, 2), c(3, 2, 1))
increase <- sapply(orders, function(order) {
  entered <- names(blocks)[order]
  steps <- diff(c(0, sapply(seq_along(entered), function(k) r_squared(entered[seq_len(k)]))))
  steps[match(names(blocks), entered)]
})
answers <- data.frame(block = names(blocks), share = rowMeans(increase), r_squared = r_squared(names(blocks)))
write.csv(format(answers, digits = 17, trim = TRUE), "partition.csv", row.names = FALSE, quote = FALSE)
