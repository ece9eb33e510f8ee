# boot.ci of cluster means, percentile and BCa, from the very replicates of boot(): one row a cluster.
# Run here: Rscript cluster_bootstrap.R   (writes cluster_bootstrap.csv and cluster_bootstrap_rows.csv)
library(boot)
set.seed(20261128)
rows <- data.frame(cluster = rep(letters[1:12], times = rep(3:5, 4)), value = round(rexp(48), 3))
clusters <- split(rows$value, rows$cluster)
mean_of <- function(data, index) mean(unlist(data[index]))
resampled <- boot(clusters, mean_of, R = 9999)
influence <- empinf(resampled, type = "jack")
# boot measures from the statistic itself, Efron (1987) from the mean of the values with one left out.
ends <- boot.ci(resampled, type = c("perc", "bca"), L = influence - mean(influence))
answers <- data.frame(quantity = c("estimate", "std_error", "conf_low", "conf_high", "bca_low", "bca_high"),
                      value = c(resampled$t0, sd(resampled$t), ends$percent[4:5], ends$bca[4:5]))
write.csv(format(answers, digits = 17, trim = TRUE), "cluster_bootstrap.csv", row.names = FALSE, quote = FALSE)
write.csv(rows, "cluster_bootstrap_rows.csv", row.names = FALSE, quote = FALSE)
write.csv(data.frame(replicate = format(resampled$t[, 1], digits = 17, trim = TRUE)),
          gzfile("cluster_bootstrap_replicates.csv.gz"), row.names = FALSE, quote = FALSE)
