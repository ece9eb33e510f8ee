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

# Forecasts of each suite from the fit to the others, written with whole covariance matrices.
forecast <- function(block, suite) {
  held <- averaged$suite == suite
  seen <- droplevels(averaged[!held, ])
  terms <- members[[block]]
  groups <- both[c(length(unique(seen$lab)) < nrow(seen), TRUE)]
  m <- lme4::lmer(right(terms, groups), seen, control = tight)
  X <- model.matrix(reformulate(c("1", terms)), averaged)
  of <- function(g) { v <- VarCorr(m)[[g]]; (if (is.null(v)) 0 else v[1, 1]) * outer(averaged[[g]], averaged[[g]], "==") }
  V <- of("lab") + of("suite") + sigma(m)^2 * diag(nrow(averaged))
  C <- if (grepl("heritage", block)) of("lab")[!held, held, drop = FALSE] else matrix(0, sum(!held), sum(held))
  W <- solve(V[!held, !held]); Xs <- X[!held, , drop = FALSE]; Xn <- X[held, , drop = FALSE]; y <- averaged$log_gain
  A <- solve(t(Xs) %*% W %*% Xs); b <- A %*% t(Xs) %*% W %*% y[!held]
  mu <- Xn %*% b + t(C) %*% W %*% (y[!held] - Xs %*% b); R <- Xn - t(C) %*% W %*% Xs
  S <- V[held, held] - t(C) %*% W %*% C + R %*% A %*% t(R); e <- y[held] - mu
  data.frame(block, suite, squared = sum(e^2), squared_null = sum((y[held] - mean(y[!held]))^2),
             log_score = -0.5 * (t(e) %*% solve(S, e) + log(det(S)) + length(e) * log(2 * pi)), n = sum(held))
}
folds <- do.call(rbind, lapply(names(members), function(block)
  do.call(rbind, lapply(sort(unique(averaged$suite)), function(suite) forecast(block, suite)))))
write_exactly(do.call(rbind, lapply(split(folds, factor(folds$block, names(members))), function(f)
  data.frame(block = f$block[1], r_squared = 1 - sum(f$squared) / sum(f$squared_null), log_score = sum(f$log_score) / sum(f$n)))),
  "hierarchy_forecasts.csv")
