# Laws of depth fitted with nls(), on the gain and on its logarithm: AICc of the gains, coefficients
# with the usual t intervals, and the error of predicting each suite from all others.
# Run here: Rscript depth_law.R
models <- read.csv("models.csv")
L <- models$layers; G <- models$gain; n <- length(G)
laws <- list(
  "10^(1/L)" = list(mean = quote(10^(1 / L)), start = list()),
  "1" = list(mean = quote(1 + 0 * L), start = list()),
  "constant" = list(mean = quote(c1 + 0 * L), start = list(c1 = 2)),
  "C^(1/L)" = list(mean = quote(exp(lnC / L)), start = list(lnC = 5)),
  "a + b/L" = list(mean = quote(a + b / L), start = list(a = 2, b = 0.1)),
  "a L^b" = list(mean = quote(exp(lna) * L^b), start = list(lna = 0.5, b = 0.1)),
  "a + b ln L" = list(mean = quote(a + b * log(L)), start = list(a = 1, b = 0.1)))
# 1e-11 is at the limit of double precision: nls() may warn that it stopped just above.
tight <- nls.control(tol = 1e-11, maxiter = 500, scaleOffset = 0, minFactor = 1e-14, warnOnly = TRUE)
fitted_law <- function(law, scale, data) {
  right <- if (scale == "log") bquote(log(.(law$mean))) else law$mean
  left <- if (scale == "log") quote(log(G)) else quote(G)
  nls(as.formula(call("~", left, right)), data, law$start, control = tight)
}
on_scale <- function(x, scale) if (scale == "log") log(x) else x
predicted <- function(law, scale, training, new) {
  known <- if (length(law$start)) as.list(coef(fitted_law(law, scale, training))) else list()
  eval(law$mean, c(known, list(L = new$L)))
}
whole <- data.frame(L, G, suite = models$suite)
rows <- list()
for (scale in c("log", "raw")) for (name in names(laws)) {
  law <- laws[[name]]
  residual <- on_scale(G, scale) - on_scale(predicted(law, scale, whole, whole), scale)
  jacobian <- if (scale == "log") sum(log(G)) else 0
  loglik <- -n / 2 * (log(2 * pi * sum(residual^2) / n) + 1) - jacobian
  if (length(law$start)) stopifnot(abs(loglik + jacobian - logLik(fitted_law(law, scale, whole))) < 1e-8)
  k <- length(law$start) + 1
  aicc <- 2 * k - 2 * loglik + 2 * k * (k + 1) / (n - k - 1)
  squared <- sum(sapply(unique(whole$suite), function(suite) {
    new <- whole[whole$suite == suite, ]; training <- whole[whole$suite != suite, ]
    sum((on_scale(new$G, scale) - on_scale(predicted(law, scale, training, new), scale))^2)
  }))
  rows[[length(rows) + 1]] <- data.frame(kind = "law", law = name, scale, term = "", estimate = aicc,
                                         conf_low = loglik, conf_high = sqrt(squared / n))
  if (length(law$start)) {
    found <- summary(fitted_law(law, scale, whole))$coefficients
    reach <- qt(0.975, n - length(law$start)) * found[, 2]
    rows[[length(rows) + 1]] <- data.frame(kind = "coefficient", law = name, scale, term = rownames(found),
      estimate = found[, 1], conf_low = found[, 1] - reach, conf_high = found[, 1] + reach)
  }
}
answers <- do.call(rbind, rows)
answers[5:7] <- lapply(answers[5:7], format, digits = 17, trim = TRUE)
write.csv(answers, "depth_law.csv", row.names = FALSE, quote = FALSE)
