# Heritage, geometry and scale on the published gains of the last block but one, by lme4 and pbkrtest.
# Run here: Rscript hierarchy.R   (reads ../../data/published, writes hierarchy_*.csv; seconds)
# bobyqa warns once that it can go no lower: the tolerance asked for is that of rounding.
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
figures <- read.csv("../../data/published/published_figure.csv")
models <- read.csv("../../data/published/model.csv")
rows <- merge(subset(figures, metric == "gain_penultimate_block"), models, by = "model_id")
rows <- subset(rows, base_model_id == "" & norm_position != "post")
rows$log_gain <- log(rows$mean)
rows$heritage <- factor(ifelse(rows$lab == "EleutherAI", "EleutherAI", "other"), levels = c("other", "EleutherAI"))
rows$rho <- rows$n_heads / rows$d_head
rows$log_parameters <- log10(rows$n_parameters)
numeric <- c("rho", "d_head", "n_layers", "log_parameters")
single <- rows[!duplicated(rows$model_id), ]
for (name in numeric) rows[[name]] <- (rows[[name]] - mean(single[[name]])) / sd(single[[name]])

tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
members <- list("heritage" = "heritage", "geometry" = c("rho", "d_head", "n_layers"), "scale" = "log_parameters",
                "heritage + geometry + scale" = c("heritage", numeric))
right <- function(terms, random) reformulate(c("1", terms, random), "log_gain")

# Figures: one row per model and file, precision n.
weighted <- do.call(rbind, lapply(names(members), function(block) {
  m <- lme4::lmer(right(members[[block]], c("(1 | lab)", "(1 | suite)", "(1 | model_id)")), rows, weights = n, control = tight)
  data.frame(block, term = names(fixef(m)), estimate = fixef(m), std_error = sqrt(diag(as.matrix(vcov(m)))),
             criterion = REMLcrit(m), sigma = sigma(m))
}))
write_exactly(weighted, "hierarchy_figures.csv")

# Models: the weighted mean of each model's figures; Kenward and Roger's adjustment needs equal weights.
averaged <- rows[!duplicated(rows$model_id), ]
averaged <- averaged[order(averaged$model_id), ]
averaged$log_gain <- sapply(averaged$model_id, function(id) with(rows[rows$model_id == id, ], sum(n * log_gain) / sum(n)))
both <- c("(1 | lab)", "(1 | suite)")
tests <- do.call(rbind, lapply(names(members), function(block) {
  m <- lmerTest::lmer(right(members[[block]], both), averaged, control = tight)
  table <- coef(summary(m, ddf = "Kenward-Roger"))
  data.frame(block, term = rownames(table), estimate = table[, 1], std_error = table[, 2], df = table[, 3], p_value = table[, 5])
}))
write_exactly(tests, "hierarchy_models.csv")
