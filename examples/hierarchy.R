# The mixed models of hierarchy.py by lme4 and lmerTest, with Kenward and Roger's degrees of freedom.
# Run here: Rscript hierarchy.R   (reads ../data/published, writes hierarchy.csv; seconds)
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest)})
figures <- subset(read.csv("../data/published/published_figure.csv"), metric == "gain_penultimate_block")
models <- subset(read.csv("../data/published/model.csv"), base_model_id == "" & norm_position != "post")
figures <- figures[order(figures$model_id, -figures$n, figures$file), ]  # of several, the one over most prompts
gains <- figures[!duplicated(figures$model_id), ]
gains$log_gain <- log(gains$mean)
rows <- merge(gains[c("model_id", "log_gain")], models, by = "model_id")
rows$heritage <- factor(ifelse(rows$lab == "EleutherAI", "EleutherAI", "other"))
rows$rho <- rows$n_heads / rows$d_head
rows$depth <- log2(rows$n_layers)
rows$size <- log10(rows$n_parameters)

blocks <- c(heritage = "heritage", geometry = "rho + depth", scale = "size")
blocks["heritage, geometry and scale"] <- paste(blocks, collapse = " + ")
# The tolerance asked for is that of rounding.
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-11, maxfun = 1e5), calc.derivs = FALSE)
fitted <- do.call(rbind, lapply(names(blocks), function(block) {
  model <- lmerTest::lmer(as.formula(paste("log_gain ~", blocks[[block]], "+ (1 | suite)")), rows, control = tight)
  table <- coef(summary(model, ddf = "Kenward-Roger"))
  data.frame(block = sprintf("\"%s\"", block), term = rownames(table), estimate = table[, "Estimate"],
             std_error = table[, "Std. Error"], df = table[, "df"], p_value = table[, "Pr(>|t|)"])
}))
write.csv(format(fitted, digits = 17, trim = TRUE), "hierarchy.csv", row.names = FALSE, quote = FALSE)
