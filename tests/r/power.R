# Power of the two-sample t test by power.t.test(), both tails, and the least n per group for 80 %.
# Run here: Rscript power.R
designs <- expand.grid(n = c(2, 3, 5, 12, 40), delta = c(0.2, 0.7, 1.5, 3), alpha = c(0.05, 0.01))
designs$power <- mapply(function(n, delta, alpha)
  power.t.test(n, delta, 1, alpha, strict = TRUE)$power, designs$n, designs$delta, designs$alpha)
designs$needed <- mapply(function(delta, alpha) {
  reached <- sapply(2:1200, function(n) power.t.test(n, delta, 1, alpha, strict = TRUE)$power >= 0.8)
  (2:1200)[which(reached)[1]]
}, designs$delta, designs$alpha)
write.csv(format(designs, digits = 17, trim = TRUE), "power.csv", row.names = FALSE, quote = FALSE)
