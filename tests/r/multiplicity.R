# p.adjust within families.
# Run here: Rscript multiplicity.R
tests <- data.frame(
  family = rep(c("law one", "law two", "alone", "with a gap"), c(7, 5, 1, 4)),
  p_value = c(0.001, 0.04, 0.03, 0.03, 0.9, 0.012, 0.5, 0.01, 0.02, 0.03, 0.04, 0.05, 0.2, 0.01, NA, 0.6, 0.02))
for (method in c("holm", "BH")) tests[[method]] <- ave(tests$p_value, tests$family, FUN = function(p) p.adjust(p, method))
write.csv(format(tests, digits = 17, trim = TRUE), "multiplicity.csv", row.names = FALSE, quote = FALSE)
