# boot.ci on the replicates of boot(): the intervals must follow from the replicates alone.
# Run here: Rscript bootstrap.R
library(boot)
set.seed(20261120)
city <- boot::city
ratio <- function(rows, index) mean(rows$x[index]) / mean(rows$u[index])
resampled <- boot(city, ratio, R = 999)
percentile <- boot.ci(resampled, type = "perc")$percent[4:5]

answers <- data.frame(method = c("estimate", "percentile"), conf_low = c(resampled$t0, percentile[1]),
                      conf_high = c(resampled$t0, percentile[2]))
write.csv(format(answers, digits = 17, trim = TRUE), "bootstrap.csv", row.names = FALSE, quote = FALSE)
values <- data.frame(what = "replicate", value = format(resampled$t[, 1], digits = 17, trim = TRUE))
write.csv(values, "bootstrap_replicates.csv", row.names = FALSE, quote = FALSE)
