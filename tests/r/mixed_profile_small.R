# Profile intervals of two sets of nine rows, where a search far out has no digits left.
# Run in this directory: Rscript mixed_profile_small.R
library(lme4)
rows <- read.csv("mixed_data_small.csv", colClasses = c(g = "character", h = "character"))
answers <- do.call(rbind, lapply(unique(rows$set), function(set) {
  m <- lmer(y ~ x + (1 | g) + (1 | h), rows[rows$set == set, ], REML = FALSE)
  ends <- confint(m, method = "profile", quiet = TRUE, oldNames = FALSE)
  data.frame(set = set, parameter = rownames(ends), conf_low = ends[, 1], conf_high = ends[, 2])
}))
write.csv(answers, "mixed_profile_small.csv", row.names = FALSE, quote = FALSE)
