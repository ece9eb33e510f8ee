# One row per base model: mixed models without each lab and suite by lme4 and pbkrtest, and the
# meta-regression with known variances by metafor.
# Run here: Rscript hierarchy_journal.R   (reads ../../data/published, writes hierarchy_left_out.csv, hierarchy_meta.csv)
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest); library(metafor)})
write_exactly <- function(frame, path)
  write.csv(format(frame, digits = 17, trim = TRUE), path, row.names = FALSE, quote = FALSE)
figures <- read.csv("../../data/published/published_figure.csv")
models <- read.csv("../../data/published/model.csv")
rows <- merge(subset(figures, metric == "gain_penultimate_block"), models, by = "model_id")
rows <- subset(rows, base_model_id == "" & norm_position != "post")
rows$heritage <- as.numeric(rows$lab == "EleutherAI")
rows$rho <- rows$n_heads / rows$d_head
rows$depth <- log2(rows$n_layers)
rows$size <- log10(rows$n_parameters)
rows <- rows[order(rows$model_id, -rows$n, rows$file), ]  # of several figures, the one over most prompts
d <- rows[!duplicated(rows$model_id), ]
d$log_gain <- log(d$mean)
d$v <- (d$sd / d$mean)^2 / d$n
blocks <- list(heritage = "heritage", geometry = c("rho", "depth"), scale = "size",
               all = c("heritage", "rho", "depth", "size"))

tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
left_out <- do.call(rbind, lapply(c("", unique(d$lab), unique(d$suite)), function(out) {
  some <- subset(d, lab != out & suite != out)
  do.call(rbind, lapply(names(blocks), function(block) {
    terms <- Filter(function(it) length(unique(some[[it]])) > 1, blocks[[block]])
    if (length(terms) == 0) return(NULL)
    m <- lmerTest::lmer(reformulate(c(terms, "(1 | suite)"), "log_gain"), some, control = tight)
    found <- coef(summary(m, ddf = "Kenward-Roger"))
    data.frame(level = out, block, term = rownames(found), estimate = found[, 1], std_error = found[, 2],
               df = found[, 3], p_value = found[, 5])
  }))
}))
write_exactly(left_out, "hierarchy_left_out.csv")

d$suite_id <- d$suite
meta <- do.call(rbind, lapply(names(blocks), function(block) {
  m <- rma.mv(log_gain, v, mods = reformulate(blocks[[block]]), random = list(~ 1 | suite_id, ~ 1 | model_id), data = d,
              test = "t", control = list(optimizer = "Nelder-Mead", reltol = 1e-14, maxit = 5000))
  w <- diag(1 / d$v); x <- model.matrix(m)
  p <- w - w %*% x %*% solve(t(x) %*% w %*% x) %*% t(x) %*% w
  i2 <- sum(m$sigma2) / (sum(m$sigma2) + (m$k - m$p) / sum(diag(p)))
  data.frame(block, term = c("Intercept", blocks[[block]]), estimate = as.numeric(m$beta), std_error = m$se, df = m$ddf,
             p_value = m$pval, conf_low = m$ci.lb, conf_high = m$ci.ub, tau_squared = sum(m$sigma2), i_squared = i2)
}))
write_exactly(meta, "hierarchy_meta.csv")
