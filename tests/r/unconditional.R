# Exact unconditional tests of a 2x2 table, by brute force: base R has none.
# p values: sup over a fine grid of the common probability, refined by optimize.
# Intervals: score statistics whose restricted estimates are found numerically (no closed form),
# sup over the nuisance parameter likewise, ends by bisection. z > z_obs - 1e-9 counts as a tie.
# Run here: Rscript unconditional.R   (some minutes)
tables <- list(vaccine = c(7, 8, 12, 3), small = c(2, 7, 8, 2), empty_cell = c(7, 0, 3, 5),
               unequal = c(6, 4, 1, 8), no_first = c(0, 6, 5, 4))

sup <- function(probability, low, high) {
  grid <- seq(low + 1e-9, high - 1e-9, length.out = 801)
  values <- sapply(grid, probability)
  best <- which.max(values)
  ends <- c(grid[max(best - 1, 1)], grid[min(best + 1, length(grid))])
  max(values[best], optimize(probability, ends, maximum = TRUE, tol = 1e-12)$objective)
}
region_probability <- function(region, p1, p2) {
  n1 <- nrow(region) - 1; n2 <- ncol(region) - 1
  sum(outer(dbinom(0:n1, n1, p1), dbinom(0:n2, n2, p2))[region])
}
common <- function(region) sup(function(p) region_probability(region, p, p), 0, 1)

z_pooled <- function(n1, n2) outer(0:n1, 0:n2, function(x1, x2) {
  p <- (x1 + x2) / (n1 + n2)
  z <- (x1 / n1 - x2 / n2) / sqrt(p * (1 - p) * (1 / n1 + 1 / n2))
  ifelse(is.nan(z), 0, z)
})
fisher_greater <- function(n1, n2) outer(0:n1, 0:n2, Vectorize(function(x1, x2)
  fisher.test(matrix(c(x1, x2, n1 - x1, n2 - x2), 2), alternative = "greater")$p.value))

# Restricted log-likelihood along the curve of pairs with a given log odds ratio.
pair <- function(value, t) plogis(qlogis(t) + c(1, -1) * value / 2)
score <- function(value, x1, n1, x2, n2) {
  likelihood <- function(t) {
    p <- pmin(pmax(pair(value, t), 1e-300), 1 - 1e-16)
    sum(dbinom(c(x1, x2), c(n1, n2), p, log = TRUE))
  }
  grid <- seq(1e-9, 1 - 1e-9, length.out = 60)
  best <- which.max(sapply(grid, likelihood))
  t <- optimize(likelihood, grid[c(max(best - 1, 1), min(best + 1, 60))], maximum = TRUE, tol = 1e-13)$maximum
  p <- pair(value, t); v <- p * (1 - p)
  if (x1 + x2 == 0 || x1 + x2 == n1 + n2) 0
  else (x1 - n1 * p[1]) * sqrt(1 / (n1 * v[1]) + 1 / (n2 * v[2]))
}
tail_at <- function(value, side, x, n) {
  z <- outer(0:n[1], 0:n[2], Vectorize(function(x1, x2) side * score(value, x1, n[1], x2, n[2])))
  region <- z >= z[x[1] + 1, x[2] + 1] - 1e-5   # optimize finds its argument to about 1e-8
  sup(function(t) { p <- pair(value, t); region_probability(region, p[1], p[2]) }, 0, 1)
}
end <- function(side, x, n, rejected) {
  # From the outside in: the tail jumps where tables change places, and may pass 0.025 twice.
  step <- side * 0.2; tried <- rejected
  while (tail_at(tried, side, x, n) <= 0.025) tried <- tried + step
  if (tried == rejected) return(rejected)
  accepted <- tried; rejected <- tried - step
  for (i in 1:16) {
    middle <- (rejected + accepted) / 2
    if (tail_at(middle, side, x, n) > 0.025) accepted <- middle else rejected <- middle
  }
  accepted
}
answer <- function(name) {
  cells <- tables[[name]]; n <- c(cells[1] + cells[2], cells[3] + cells[4]); x <- cells[c(1, 3)]
  at <- function(z) z[x[1] + 1, x[2] + 1]
  z <- z_pooled(n[1], n[2]); f <- fisher_greater(n[1], n[2]); g <- t(fisher_greater(n[2], n[1]))
  greater <- common(f <= at(f) * (1 + 1e-7)); less <- common(g <= at(g) * (1 + 1e-7))
  log_odds <- log(cells[1] * cells[4] / (cells[2] * cells[3]))
  data.frame(name, a = cells[1], b = cells[2], c = cells[3], d = cells[4],
    boschloo = min(1, 2 * min(greater, less)), boschloo_greater = greater, boschloo_less = less,
    barnard = common(abs(z) >= abs(at(z)) - 1e-9), barnard_greater = common(z >= at(z) - 1e-9),
    barnard_less = common(z <= at(z) + 1e-9),
    log_odds_low = if (log_odds == -Inf) -Inf else end(1, x, n, -9),
    log_odds_high = if (log_odds == Inf) Inf else end(-1, x, n, 9))
}
answers <- do.call(rbind, lapply(names(tables), answer))
write.csv(format(answers, digits = 15, trim = TRUE), "unconditional.csv", row.names = FALSE, quote = FALSE)
