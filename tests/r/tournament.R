# Three cells of the tournament, 40 papers each, by other means: the restricted criterion at fixed
# points (lme4's deviance function), and the profile of lab, suite, geometry and scale by a dense
# likelihood and a general optimiser.
# Run here: Rscript tournament.R
library(lme4)
models <- read.csv("tournament_models.csv")
papers <- read.csv("tournament_papers.csv", check.names = FALSE)
Y <- t(as.matrix(papers[, -(1:2)]))
n <- nrow(models)
standard <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
geometry <- sapply(models[c("rho", "d_head", "n_layers")], standard)
scale1 <- standard(models$log_parameters)

rows <- cbind(models, y = Y[, 1])
Z <- model.matrix(~ 0 + suite, models)
control <- lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-12),
                       check.conv.singular = "ignore")

# The restricted criterion with labs and suites alone, at points of the lattice (parts of 20).
points <- list(c(4, 8), c(2, 2), c(0, 10), c(12, 4))
criterion <- do.call(rbind, lapply(seq_len(ncol(Y)), function(k) {
  rows$y <- Y[, k]
  devfun <- lmer(y ~ 1 + (1 | lab) + (1 | suite), rows, devFunOnly = TRUE, control = control)
  order <- names(getME(lmer(y ~ 1 + (1 | lab) + (1 | suite), rows, control = control), "theta"))
  do.call(rbind, lapply(points, function(at) {
    theta <- c(lab = at[1], suite = at[2])[sub("\\..*", "", order)]
    data.frame(cell = papers$cell[k], paper = papers$paper[k], lab = at[1], suite = at[2],
               criterion = devfun(sqrt(theta / (20 - sum(at)))))
  }))
}))
write.csv(format(criterion, digits = 12, trim = TRUE), "tournament_criterion.csv", row.names = FALSE)

# The profile, anywhere in the simplex: free, and with lab + suite equal to geometry.
K <- list(tcrossprod(model.matrix(~ 0 + lab, models)), tcrossprod(Z),
          tcrossprod(geometry) / 3, tcrossprod(scale1))
H <- diag(n) - 1 / n
B <- eigen(H)$vectors[, 1:(n - 1)]
K <- lapply(K, function(k) crossprod(B, k %*% B))
deviance <- function(shares, y) {
  shares <- shares / sum(shares)
  W <- shares[1] * K[[1]] + shares[2] * K[[2]] + shares[3] * K[[3]] + shares[4] * K[[4]] +
    shares[5] * diag(n - 1)
  L <- chol(W)
  r <- backsolve(L, crossprod(B, y), transpose = TRUE)
  (n - 1) * log(sum(r^2)) + 2 * sum(log(diag(L)))
}
least <- function(y, make, width) {
  starts <- rbind(rep(0, width), diag(width) * 3 - 1)
  # The residual share is at least a twentieth, as on the lattice.
  min(apply(starts, 1, function(start) {
    optim(start, function(x) {
      s <- make(exp(pmin(x, 30)))
      s <- s / sum(s)
      s <- c(s[1:4] * (1 - max(s[5], 0.05)) / max(sum(s[1:4]), 1e-12), max(s[5], 0.05))
      deviance(s, y)
    }, method = "BFGS", control = list(maxit = 200, reltol = 1e-9))$value
  }))
}
side <- function(y) {
  tied <- least(y, function(e) c(e[1], e[2], e[1] + e[2], e[3], e[4]), 4)
  first <- least(y, function(e) c(e[1], e[2], (e[1] + e[2]) * e[3] / (1 + e[3]), e[4], e[5]), 5)
  second <- least(y, function(e) c(e[1] * e[2] / (1 + e[2]), e[1] / (1 + e[2]) * e[3] / (1 + e[3]),
                                   e[1], e[4], e[5]), 5)
  free <- min(first, second, tied)
  c(rise = tied - free, is_first = as.numeric(first < second))
}
some <- papers$paper < 20
profile <- t(apply(Y[, some], 2, side))
write.csv(format(data.frame(papers[some, 1:2], profile), digits = 8, trim = TRUE),
          "tournament_profile.csv", row.names = FALSE)
