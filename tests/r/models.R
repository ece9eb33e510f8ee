# Made-up models of seven labs: the rows every other script of this directory reads.
# Run here: Rscript models.R
set.seed(20261120)

lab <- rep(c("Ainu", "Basque", "Catalan", "Dakota", "Ewe", "Faroese", "Guarani"), c(6, 5, 4, 3, 2, 2, 2))
suite <- c("A1", "A1", "A1", "A2", "A2", "A3", "B1", "B1", "B2", "B2", "B2", "C1", "C1", "C2", "C2",
           "D1", "D1", "D2", "E1", "E1", "F1", "F2", "G1", "G1")
n <- length(lab)
heritage <- as.integer(lab %in% c("Ainu", "Catalan", "Faroese"))
layers <- sample(c(12L, 16L, 24L, 32L, 48L), n, replace = TRUE)
density <- round(exp(rnorm(n, -2, 0.7)), 4)
log_parameters <- round(8 + 0.04 * layers + rnorm(n, 0, 0.3), 3)
effect <- rnorm(7, 0, 0.3)[match(lab, unique(lab))]
gain <- 1.2 + 0.25 * heritage + effect - 1.1 * density + 0.1 * log_parameters + rnorm(n, 0, 0.25)

models <- data.frame(model_id = sprintf("m%02d", seq_len(n)), lab, suite, heritage, layers,
                     density, log_parameters, gain = format(gain, digits = 17))
write.csv(models, "models.csv", row.names = FALSE, quote = FALSE)
