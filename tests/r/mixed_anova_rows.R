# Satterthwaite's F tests of types II and III by lmerTest 3.1-3: unbalanced designs of one and several
# factors, interactions, covariates, weights, a singular fit, other contrasts.
# Run here: Rscript mixed_anova_rows.R
# lmerTest's type II of a term that others contain is by least squares without random effects. There the
# rows are car's hypothesis instead, [I, -V12 V22^-1] over the term's columns and its relatives', tested
# by lmerTest's contestMD.
suppressMessages({library(lme4); library(lmerTest)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
sets <- list(unbalanced = read.csv("mixed_data_unbalanced.csv", stringsAsFactors = TRUE),
             sparse = read.csv("mixed_data_sparse.csv", stringsAsFactors = TRUE))
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
summed <- list(f = contr.sum(3)); third <- list(f = contr.treatment(3, base = 3))
cases <- list(
  one_factor = list("unbalanced", y ~ f + (1 | g)),
  one_factor_sum = list("unbalanced", y ~ f + (1 | g), contrasts = summed),
  one_factor_sparse = list("sparse", y ~ f + (1 | g)),
  one_factor_weighted = list("sparse", y ~ f + (1 | g), weights = TRUE),
  one_basis = list("sparse", y ~ poly(x, 2) + (1 | g)),
  four_levels = list("sparse", y ~ b + (1 | g)),
  cell_means = list("sparse", y ~ 0 + f + x + (1 | g)),
  covariate = list("sparse", y ~ f + x + (1 | g)),
  covariate_sum = list("sparse", y ~ f + x + (1 | g), contrasts = summed),
  covariate_third = list("sparse", y ~ f + x + (1 | g), contrasts = third),
  covariates_weighted = list("sparse", y ~ f + x + z + (1 | g), weights = TRUE),
  two_factors = list("sparse", y ~ f + b + (1 | g)),
  crossed_groups = list("sparse", e ~ f + b + x + (1 | g) + (1 | h)),
  maximum_likelihood = list("sparse", y ~ f + b + (1 | g), reml = FALSE),
  slopes = list("sparse", y ~ f + x + (1 + x | h)),
  interaction_with_number = list("sparse", y ~ f * x + (1 | g)),
  interaction_with_number_sum = list("sparse", y ~ f * x + (1 | g), contrasts = summed),
  interaction = list("sparse", w ~ f * k + x + (1 | g)),
  interaction_unbalanced = list("unbalanced", y ~ f * half + (1 | g)),
  singular = list("sparse", y ~ f * k + x + (1 | g)))

related <- function(m, term) {
  parts <- strsplit(attr(terms(m), "term.labels"), ":", fixed = TRUE)
  mine <- strsplit(term, ":", fixed = TRUE)[[1]]
  which(sapply(parts, function(each) length(each) > length(mine) && all(mine %in% each)))
}
cars_rows <- function(m, term) {
  assigned <- attr(model.matrix(m), "assign")
  at <- which(assigned == match(term, attr(terms(m), "term.labels"))); relatives <- which(assigned %in% related(m, term))
  V <- as.matrix(vcov(m)); L <- matrix(0, length(at), ncol(V))
  L[, at] <- diag(length(at)); L[, relatives] <- -V[at, relatives] %*% solve(V[relatives, relatives])
  L
}
answers <- NULL
for (name in names(cases)) {
  case <- cases[[name]]
  rows <- sets[[case[[1]]]]
  rows$weight_ <- if (isTRUE(case$weights)) rows$w else 1
  fit <- function(contrasts) lmerTest::lmer(case[[2]], rows, REML = !identical(case$reml, FALSE), weights = weight_,
                                            contrasts = contrasts, control = tight)
  m <- fit(case$contrasts); plain <- fit(NULL)
  # lmerTest's type II of a term that no other contains tests the fit's own columns; the same in
  # treatment contrasts is what other contrasts are compared with. Type III is remade in them by lmerTest,
  # except in a model of one term.
  for (type in c("II", "III")) {
    from <- if (type == "II" || length(attr(terms(m), "term.labels")) == 1) plain else m
    table <- as.data.frame(anova(from, type = type))
    for (term in rownames(table)) {
      test <- table[term, ]; by <- "anova"
      if (type == "II" && length(related(plain, term))) { test <- contestMD(plain, cars_rows(plain, term)); by <- "contestMD" }
      answers <- rbind(answers, data.frame(name, data = case[[1]], formula = gsub(" ", "", deparse1(case[[2]])),
        contrasts = if (is.null(case$contrasts)) "" else if (identical(case$contrasts, summed)) "sum" else "third",
        weights = if (isTRUE(case$weights)) "w" else "", reml = !identical(case$reml, FALSE),
        singular = isSingular(plain), type, by, term, statistic = test[["F value"]],
        df = test$NumDF, df_residual = test$DenDF, p_value = test[["Pr(>F)"]]))
    }
  }
}
answers$formula <- paste0('"', answers$formula, '"'); answers$term <- paste0('"', answers$term, '"')
write_exactly(answers, "mixed_anova_rows.csv")
