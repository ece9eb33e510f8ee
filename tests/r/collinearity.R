# Generalised variance inflation by determinants (Fox and Monette 1992), by car::vif() where there is
# one numeric block per term, and canonical correlations by cancor().
# Run here: Rscript collinearity.R
suppressMessages(library(car))
models <- read.csv("models.csv")
columns <- list(
  lab = model.matrix(~ lab, models)[, -1],
  geometry = as.matrix(models[c("density", "layers")]),
  scale = as.matrix(models["log_parameters"]))
inflation <- sapply(names(columns), function(block) {
  own <- columns[[block]]; rest <- do.call(cbind, columns[names(columns) != block])
  det(cor(own)) * det(cor(rest)) / det(cor(cbind(own, rest)))
})
df <- sapply(columns, ncol)
geometry <- columns$geometry
fitted <- vif(lm(gain ~ lab + geometry + log_parameters, models))
stopifnot(max(abs(fitted[, "GVIF"] - inflation)) < 1e-10)
factors <- data.frame(kind = "inflation", name = names(inflation), dimension = df, estimate = inflation)
pairs <- combn(names(columns), 2)
canonical <- do.call(rbind, apply(pairs, 2, function(pair) {
  found <- cancor(columns[[pair[1]]], columns[[pair[2]]])$cor
  data.frame(kind = "canonical", name = paste(pair, collapse = " and "),
             dimension = seq_along(found), estimate = found)
}, simplify = FALSE))
answers <- rbind(factors, canonical)
answers$estimate <- format(answers$estimate, digits = 17, trim = TRUE)
write.csv(answers, "collinearity.csv", row.names = FALSE, quote = FALSE)
