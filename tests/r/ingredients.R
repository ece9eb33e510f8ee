# The screening of ingredients: the effect of each factor against seeds and by Lenth's method, and
# what the five largest foretell of eight other cells.
# Rows are those of the fleet at equal steps, tokens after the first (tests/r/ingredients_rows.csv);
# a factor is -1 at the level that its design names first, and where a design does not vary it.
# Run in this directory: Rscript ingredients.R
rows <- read.csv("ingredients_rows.csv")
kept <- c("study_run_id", "study", "seed", "excess")
factors <- setdiff(names(rows), kept)
screened <- rows[rows$study == "ingredients", ]
others <- rows[rows$study == "ingredients_check", ]

# The variance between the networks of a cell judges the sixteen slopes of a linear model.
cell <- interaction(screened[factors], drop = TRUE)
between_seeds <- anova(lm(excess ~ cell, screened))["Residuals", ]
fit <- lm(reformulate(factors, "excess"), screened)
effect <- 2 * coef(fit)[factors]
seeds_error <- 2 * sqrt(between_seeds[["Mean Sq"]] / nrow(screened))

# Lenth: every contrast of the 32 means, from the saturated model of the five base factors.
means <- aggregate(excess ~ ., screened[c(factors, "excess")], mean)
base <- c("norm_position", "embedding_scale", "embedding_norm", "learning_rate", "decay_turns")
saturated <- lm(as.formula(paste("excess ~", paste(base, collapse = "*"))), means)
sizes <- abs(2 * coef(saturated)[-1])
first <- 1.5 * median(sizes)
lenth_error <- 1.5 * median(sizes[sizes < 2.5 * first])

judged <- function(method, std_error, df) data.frame(
  method = method, term = factors, estimate = unname(effect), std_error = std_error, df = df,
  p_value = unname(2 * pt(-abs(effect / std_error), df)),
  p_adjusted = unname(p.adjust(2 * pt(-abs(effect / std_error), df), "holm"))
)
of_factors <- rbind(judged("seeds", seeds_error, between_seeds[["Df"]]),
                    judged("Lenth", lenth_error, length(sizes) / 3))

largest <- names(sort(-abs(effect)))[1:5]
expected <- mean(screened$excess) + as.matrix(others[largest]) %*% (effect[largest] / 2)
squared <- mean((others$excess - expected)^2)
null <- mean((others$excess - mean(others$excess))^2)
of_sum <- data.frame(method = "sum", term = c("r_squared", "rmse", "rmse_null"),
                     estimate = c(1 - squared / null, sqrt(squared), sqrt(null)),
                     std_error = NA, df = NA, p_value = NA, p_adjusted = NA)
# Do they add up? The model of single factors against one with a mean for each cell.
company <- anova(fit, lm(excess ~ cell, screened))[2, ]
of_company <- data.frame(method = "company", term = c("statistic", "p_value"),
                         estimate = c(company[["F"]], company[["Pr(>F)"]]),
                         std_error = NA, df = company[["Df"]], p_value = NA, p_adjusted = NA)
write.csv(rbind(of_factors, of_sum, of_company), "ingredients.csv", row.names = FALSE, quote = FALSE)
