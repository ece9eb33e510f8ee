# boot.ci on the replicates of boot(): the intervals must follow from the replicates alone.
# Run here: Rscript bootstrap.R
library(boot)
set.seed(20261120)
city <- boot::city
ratio <- function(rows, index) mean(rows$x[index]) / mean(rows$u[index])
resampled <- boot(city, ratio, R = 999)
without <- sapply(seq_len(nrow(city)), function(i) mean(city$x[-i]) / mean(city$u[-i]))
influence <- (nrow(city) - 1) * (mean(without) - without)
percentile <- boot.ci(resampled, type = "perc")$percent[4:5]
bca <- boot.ci(resampled, type = "bca", L = influence)$bca[4:5]

# The same BCa probabilities with linear interpolation between order statistics.
z0 <- qnorm(mean(resampled$t < resampled$t0))
a <- sum(influence^3) / (6 * sum(influence^2)^1.5)
z <- z0 + qnorm(c(0.025, 0.975))
linear <- quantile(resampled$t, pnorm(z0 + z / (1 - a * z)), type = 6, names = FALSE)

answers <- data.frame(method = c("estimate", "percentile", "bca", "bca_linear"),
                      conf_low = c(resampled$t0, percentile[1], bca[1], linear[1]),
                      conf_high = c(resampled$t0, percentile[2], bca[2], linear[2]))
write.csv(format(answers, digits = 17, trim = TRUE), "bootstrap.csv", row.names = FALSE, quote = FALSE)
values <- data.frame(what = c(rep("replicate", 999), rep("without", nrow(city))),
                     value = format(c(resampled$t, without), digits = 17, trim = TRUE))
write.csv(values, "bootstrap_replicates.csv", row.names = FALSE, quote = FALSE)
