# Gains of the networks trained here in R: rows by SQL, a mixed model by lme4.
# Run from a clone whose environment is active:
# Rscript examples/from_r/from_r.R

query <- "SELECT ln(gain) AS log_gain, model_id, prompt_id, layer
            FROM block
           WHERE layer > 0
           ORDER BY model_id, prompt_id, layer"
rows <- read.csv(text = system2(
  "python", c("-m", "analysis", "--data", "data/sample", "sql", shQuote(query), "--csv"),
  # R's own libraries are not Python's
  stdout = TRUE, env = "LD_LIBRARY_PATH="
))
cat(nrow(rows), "gains of", length(unique(rows$model_id)), "models\n")

gains <- aggregate(log_gain ~ model_id, rows, mean)
print(head(gains[order(gains$log_gain), ], 3), row.names = FALSE)

model <- log_gain ~ layer + (1 | model_id) + (1 | prompt_id)
fitted <- lme4::lmer(model, rows)
print(round(summary(fitted)$coefficients, 5))
deviations <- as.data.frame(lme4::VarCorr(fitted))
cat("standard deviations [nat]:\n")
shown <- data.frame(of = deviations$grp, sd = round(deviations$sdcor, 5))
print(shown, row.names = FALSE)
