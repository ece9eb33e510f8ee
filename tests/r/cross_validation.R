# Predictive R squared with lm(), leaving out one suite at a time. A lab never seen has no
# coefficient: its rows get the training mean plus the numeric predictors' part.
# Run here: Rscript cross_validation.R
models <- read.csv("models.csv")
blocks <- list(lab = "lab", geometry = c("density", "layers"), scale = "log_parameters")

predicted <- function(training, new, columns) {
  fit <- lm(reformulate(columns, "gain"), training)
  numeric <- setdiff(columns, "lab")
  centred <- mean(training$gain)
  for (name in numeric) centred <- centred + coef(fit)[[name]] * (new[[name]] - mean(training[[name]]))
  unseen <- "lab" %in% columns & !(new$lab %in% training$lab)
  result <- centred + numeric(nrow(new))
  if (any(!unseen)) result[!unseen] <- predict(fit, new[!unseen, ])
  result
}
score <- function(names) {
  columns <- unlist(blocks[names], use.names = FALSE)
  error <- total <- 0
  for (suite in unique(models$suite)) {
    training <- models[models$suite != suite, ]; new <- models[models$suite == suite, ]
    error <- error + sum((new$gain - predicted(training, new, columns))^2)
    total <- total + sum((new$gain - mean(training$gain))^2)
  }
  data.frame(block = paste(names, collapse = " + "), estimate = 1 - error / total)
}
subsets <- list("lab", "geometry", "scale", c("lab", "geometry"), c("lab", "scale"), c("geometry", "scale"),
                c("lab", "geometry", "scale"))
answers <- do.call(rbind, lapply(subsets, score))
write.csv(format(answers, digits = 17, trim = TRUE), "cross_validation.csv", row.names = FALSE, quote = FALSE)
