# fisher.test as it stands, and its own equations solved to machine precision.
# fisher.test stops uniroot at its default tolerance, 1.2e-4 on the odds scale (or its inverse),
# so its interval ends can be wrong in the third digit; `tight_*` are the roots themselves.
# Run here: Rscript fisher.R
tables <- list(
  tea = c(3, 1, 1, 3), small = c(7, 1, 2, 8), empty_cell = c(10, 0, 3, 5), no_first = c(0, 6, 5, 4),
  labs = c(8, 2, 0, 13), large = c(310, 190, 240, 260), one_sided_margin = c(1, 9, 11, 3), unit = c(1, 1, 1, 1))

tight <- function(cells, alternative, conf_level) {
  m <- cells[1] + cells[2]; n <- cells[3] + cells[4]; k <- cells[1] + cells[3]; x <- cells[1]
  support <- max(0, k - n):min(k, m)
  probability <- function(log_or) {
    logs <- dhyper(support, m, n, k, log = TRUE) + log_or * support
    weights <- exp(logs - max(logs))
    weights / sum(weights)
  }
  root <- function(f) exp(uniroot(f, c(-60, 60), tol = 1e-15, maxiter = 10000)$root)
  alpha <- (1 - conf_level) / (if (alternative == "two.sided") 2 else 1)
  estimate <- if (x == min(support)) 0 else if (x == max(support)) Inf else
    root(function(b) sum(support * probability(b)) - x)
  low <- if (alternative == "less" || x == min(support)) 0 else
    root(function(b) sum(probability(b)[support >= x]) - alpha)
  high <- if (alternative == "greater" || x == max(support)) Inf else
    root(function(b) sum(probability(b)[support <= x]) - alpha)
  c(estimate, low, high)
}
answer <- function(name, alternative, conf_level) {
  cells <- tables[[name]]
  test <- fisher.test(matrix(cells, 2, byrow = TRUE), alternative = alternative, conf.level = conf_level)
  exact <- tight(cells, alternative, conf_level)
  data.frame(name, a = cells[1], b = cells[2], c = cells[3], d = cells[4],
             alternative = sub(".", "-", alternative, fixed = TRUE), conf_level,
             p_value = test$p.value, estimate = unname(test$estimate),
             conf_low = test$conf.int[1], conf_high = test$conf.int[2],
             tight_estimate = exact[1], tight_low = exact[2], tight_high = exact[3])
}
answers <- do.call(rbind, c(
  lapply(names(tables), answer, "two.sided", 0.95),
  lapply(names(tables), answer, "less", 0.9),
  lapply(names(tables), answer, "greater", 0.99)))
write.csv(format(answers, digits = 17, trim = TRUE), "fisher.csv", row.names = FALSE, quote = FALSE)

proportions <- data.frame(successes = c(0, 1, 7, 8, 23, 50, 1), n = c(8, 8, 10, 8, 24, 50, 10000))
ends <- t(mapply(function(x, n) binom.test(x, n)$conf.int, proportions$successes, proportions$n))
proportions$conf_low <- ends[, 1]; proportions$conf_high <- ends[, 2]
write.csv(format(proportions, digits = 17, trim = TRUE), "proportion.csv", row.names = FALSE, quote = FALSE)
