# The controlled study's own rows: shares of the variance between networks with joint intervals, the
# share of labs against every labelling, and the slope on depth split into depth's part and the rate's.
# Rows are those of the fleet at equal steps, tokens after the first (tests/r/study_rows.csv).
# Run in this directory: Rscript study.R
rows <- read.csv("study_rows.csv", stringsAsFactors = TRUE)

# Sums of squares by aov; theta^2 without bias; noncentral F inverted, Bonferroni over the sources.
ends_of <- function(statistic, df, df_error, level) {
  low_of <- function(p) {
    reached <- function(ncp) pf(statistic, df, df_error, ncp = ncp) - p
    if (reached(0) < 0) return(0)
    uniroot(reached, c(0, 20 * (statistic * df + 50)), tol = 1e-9, maxiter = 10000)$root
  }
  c(low_of((1 + level) / 2), low_of((1 - level) / 2))
}
shares <- function(fleet, response) {
  table <- anova(lm(reformulate("recipe * geometry", response), fleet))
  n <- nrow(fleet); error <- table["Residuals", "Mean Sq"]; df_error <- table["Residuals", "Df"]
  effects <- c("recipe", "geometry", "recipe:geometry")
  part <- pmax(0, table[effects, "Sum Sq"] - table[effects, "Df"] * error) / n
  level <- 1 - 0.05 / length(effects)
  ends <- t(mapply(ends_of, table[effects, "F value"], table[effects, "Df"], df_error, level))
  others_high <- sum(ends[, 2]) - ends[, 2]; others_low <- sum(ends[, 1]) - ends[, 1]
  data.frame(
    what = "share", response = response, term = c(effects, "seed"),
    estimate = c(part, error) / (sum(part) + error),
    conf_low = c(ends[, 1] / (ends[, 1] + others_high + n), n / (sum(ends[, 2]) + n)),
    conf_high = c(ends[, 2] / (ends[, 2] + others_low + n), n / (sum(ends[, 1]) + n))
  )
}
fleet <- droplevels(rows[rows$study == "packages", ])

# Labels given out in every way: the choose(8, 4) choose(4, 2) 2 of them, by recursion over labs.
labellings <- function(left, sizes) {
  if (length(sizes) == 1) return(list(setNames(rep(1, length(left)), left)))
  do.call(c, lapply(combn(left, sizes[1], simplify = FALSE), function(chosen)
    lapply(labellings(setdiff(left, chosen), sizes[-1]),
           function(rest) c(setNames(rep(length(sizes), length(chosen)), chosen), rest))))
}
means <- aggregate(excess ~ recipe + lab, fleet, mean)
share_of <- function(labels)
  summary(lm(means$excess ~ factor(labels)))$r.squared
found <- share_of(means$lab)
every <- sapply(labellings(as.character(means$recipe), as.vector(table(droplevels(means$lab)))),
                function(labels) share_of(labels[as.character(means$recipe)]))
lab <- data.frame(what = "lab", response = "excess", term = c("lab", "chance", "p"),
                  estimate = c(found, mean(every), mean(every >= found - 1e-12)),
                  conf_low = NA, conf_high = NA)

# ln(rate) falls by 1.2 per ln(depth) in the public suites.
rates <- rows[rows$study == "depth_and_rate", ]
fit <- lm(penultimate ~ log(n_layers) + log(learning_rate) + log(decay_turns), rates)
weight <- rbind("depth's own part" = c(0, 1, 0, 0), "rate's part" = c(0, 0, -1.2, 0),
                "slope a suite would show" = c(0, 1, -1.2, 0))
centre <- as.vector(weight %*% coef(fit))
reach <- qt(0.975, fit$df.residual) * sqrt(diag(weight %*% vcov(fit) %*% t(weight)))
slope <- data.frame(what = "slope", response = "penultimate", term = rownames(weight),
                    estimate = centre, conf_low = centre - reach, conf_high = centre + reach)
answers <- rbind(shares(fleet, "excess"), shares(fleet, "last"), lab, slope)
write.csv(answers, "study.csv", row.names = FALSE, quote = FALSE)
