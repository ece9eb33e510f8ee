# The same analysis as tidy.py: dplyr, tidyr, purrr, broom and lmerTest. It prints the same numbers.
suppressPackageStartupMessages({library(dplyr); library(tidyr); library(purrr)})

query <- "SELECT model_id, lab, suite, log2(n_layers) AS depth, ln(gain_penultimate_block) AS log_gain
            FROM published_model
           WHERE base_model_id IS NULL AND gain_penultimate_block IS NOT NULL ORDER BY model_id"
models <- read.csv(text = system2("python", c("-m", "analysis", "sql", shQuote(query), "--csv"),
  stdout = TRUE, env = "LD_LIBRARY_PATH="))
show <- function(table) print(as.data.frame(table), row.names = FALSE, digits = 6)

# Group and summarise.
models |>
  group_by(suite) |>
  summarise(n = n(), mean = mean(log_gain), below = sum(log_gain < 0)) |>
  arrange(mean) |> show()

# One regression per suite, as one frame.
models |>
  group_by(suite) |> filter(n() > 2) |> nest() |>
  mutate(fit = map(data, \(d) broom::tidy(lm(log_gain ~ depth, d)))) |>
  select(suite, fit) |> unnest(fit) |> ungroup() |>
  filter(term == "depth") |> select(suite, estimate, std.error, p.value) |> arrange(suite) |> show()

# A mixed model, and residuals beside the rows.
fitted <- lmerTest::lmer(log_gain ~ depth + (1 | suite), models)
summary(fitted, ddf = "Kenward-Roger")$coefficients |> as_tibble() |>
  select(estimate = Estimate, std.error = "Std. Error", df, p.value = "Pr(>|t|)") |> show()
models |>
  mutate(residual = residuals(fitted)) |>
  slice_max(abs(residual), n = 3) |> select(model_id, residual) |> show()
