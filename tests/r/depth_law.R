# Laws of depth fitted with nls() on the logarithm of the gain: AICc and likelihood of the gains, and
# the error of predicting each suite from all others.
# Run here: Rscript depth_law.R
models <- read.csv("models.csv")
L <- models$layers; G <- models$gain; n <- length(G)
laws <- list(
  "10^(1/L)" = list(mean = quote(10^(1 / L)), start = list()),
  "1" = list(mean = quote(1 + 0 * L), start = list()),
  "constant" = list(mean = quote(c1 + 0 * L), start = list(c1 = 2)),
  "C^(1/L)" = list(mean = quote(exp(lnC / L)), start = list(lnC = 5)),
  "a L^b" = list(mean = quote(exp(lna) * L^b), start = list(lna = 0.5, b = 0.1)))
# 1e-11 is at the limit of double precision: nls() may warn that it stopped just above.
tight <- nls.control(tol = 1e-11, maxiter = 500, scaleOffset = 0, minFactor = 1e-14, warnOnly = TRUE)
fitted_law <- function(law, data) {
  nls(as.formula(call("~", quote(log(G)), bquote(log(.(law$mean))))), data, law$start, control = tight)
}
predicted <- function(law, training, new) {
  known <- if (length(law$start)) as.list(coef(fitted_law(law, training))) else list()
  eval(law$mean, c(known, list(L = new$L)))
}
whole <- data.frame(L, G, suite = models$suite)
rows <- list()
for (name in names(laws)) {
  law <- laws[[name]]
  residual <- log(G) - log(predicted(law, whole, whole))
  loglik <- -n / 2 * (log(2 * pi * sum(residual^2) / n) + 1) - sum(log(G))
  if (length(law$start)) stopifnot(abs(loglik + sum(log(G)) - logLik(fitted_law(law, whole))) < 1e-8)
  k <- length(law$start) + 1
  squared <- sum(sapply(unique(whole$suite), function(suite) {
    new <- whole[whole$suite == suite, ]; training <- whole[whole$suite != suite, ]
    sum((log(new$G) - log(predicted(law, training, new)))^2)
  }))
  rows[[length(rows) + 1]] <- data.frame(law = name, aicc = 2 * k - 2 * loglik + 2 * k * (k + 1) / (n - k - 1),
                                         log_likelihood = loglik, rmse = sqrt(squared / n))
}
answers <- do.call(rbind, rows)
answers[2:4] <- lapply(answers[2:4], format, digits = 17, trim = TRUE)
write.csv(answers, "depth_law.csv", row.names = FALSE, quote = FALSE)
