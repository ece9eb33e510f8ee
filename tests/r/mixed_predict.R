# glmer's predictions of the sign of a number for new rows, on both scales, with errors.
# Run here after mixed.R and mixed_binomial.R: Rscript mixed_predict.R
suppressMessages(library(lme4))
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)

crossed <- read.csv("mixed_data_crossed.csv", stringsAsFactors = TRUE)
crossed$high <- as.integer(crossed$gain > 1)
cows <- read.csv("mixed_data_cows.csv", stringsAsFactors = TRUE)
cases <- list(
  cows = list(cows, ill ~ period + (1 | herd)),
  sign_slope = list(crossed, high ~ depth + (1 + depth | model) + (1 | prompt)),
  sign_nested = list(crossed, high ~ rho + (1 | lab / model) + (1 | prompt)),
  sign_offset = list(crossed, high ~ depth + offset(known) + (1 | model)))

# The search stops when steps fall below 1e-11, the inner iterations at 1e-13.
tight <- glmerControl(optimizer = c("bobyqa", "bobyqa"), tolPwrss = 1e-13,
                      optCtrl = list(rhoend = 1e-11, maxfun = 1e6),
                      check.conv.singular = "ignore", check.conv.grad = "ignore", check.conv.hess = "ignore")

# The columns of Z at new rows; a level that was not fitted has none, and adds its whole variance.
random_columns <- function(m, new) {
  columns <- matrix(0, nrow(getME(m, "Zt")), nrow(new)); added <- numeric(nrow(new)); place <- 0
  for (k in seq_along(getME(m, "cnms"))) {
    group <- names(getME(m, "cnms"))[k]; effects <- getME(m, "cnms")[[k]]
    levels <- levels(getME(m, "flist")[[group]])
    label <- do.call(paste, c(lapply(strsplit(group, ":")[[1]], function(f) new[[f]]), sep = ":"))
    for (i in seq_len(nrow(new))) {
      z <- sapply(effects, function(e) if (e == "(Intercept)") 1 else new[[e]][i])
      at <- match(label[i], levels)
      if (is.na(at)) added[i] <- added[i] + drop(t(z) %*% VarCorr(m)[[group]] %*% z)
      else columns[place + (at - 1) * length(z) + seq_along(z), i] <- z
    }
    place <- place + length(effects) * length(levels)
  }
  list(columns = columns, added = added)
}

# The error of z'b given the fixed effects is of the factors at the optimum; that of the fixed effects, which the
# modes follow, is of vcov, as in the table of coefficients.
predictions <- function(m, data) {
  at <- c(seq(1, nrow(data), 20), 1); new <- data[at, ]
  for (g in unique(unlist(strsplit(names(getME(m, "cnms")), ":")))) {
    new[[g]] <- as.character(new[[g]]); new[[g]][nrow(new)] <- "never seen"
  }
  X <- model.matrix(formula(m, fixed.only = TRUE)[-2], new); V <- as.matrix(vcov(m))
  random <- random_columns(m, new); L <- getME(m, "L")
  u <- as.matrix(solve(L, solve(L, getME(m, "Lambdat") %*% random$columns, system = "P"), system = "L"))
  x <- t(X) - as.matrix(t(getME(m, "RZX")) %*% u)
  data.frame(row = at - 1, is_new = seq_along(at) == length(at),
    link_new = predict(m, new, re.form = NA), response_new = predict(m, new, re.form = NA, type = "response"),
    link_known = predict(m, new, allow.new.levels = TRUE),
    response_known = predict(m, new, allow.new.levels = TRUE, type = "response"),
    error_new = sqrt(rowSums((X %*% V) * X)),
    error_known = sqrt(colSums(u^2) + colSums(x * (V %*% x)) + random$added))
}

found <- NULL
for (name in names(cases)) {
  m <- glmer(cases[[name]][[2]], cases[[name]][[1]], family = binomial, control = tight)
  found <- rbind(found, data.frame(name, predictions(m, cases[[name]][[1]])))
}
write_exactly(found, "mixed_predict.csv")
