# What statcheck 1.4.0 makes of results in APA form: recomputed p, error, decision error.
# Its defaults: two-tailed tests, alpha 0.05, p = .05 counts as significant.
# Run here: Rscript statcheck.R
library(statcheck)

results <- c(
  "t(28) = 2.20, p = .036", "t(28) = 2.20, p = .037", "t(28) = 2.20, p = .04",
  "t(28) = 2.20, p = .03", "t(28) = 2.20, p = .06", "t(28) = 2.20, p < .05",
  "t(28) = 2.20, p < .01", "t(28) = 2.20, p > .05", "t(28) = 2.20, ns",
  "t(28) = 1.20, p < .05", "t(28) = 1.20, ns", "t(28) = -2.20, p = .036",
  "t(28) = 2.2, p = .034", "t(28) = 2.2, p = .033", "t(12.5) = 3.125, p = .0083",
  "t(28) = 2.20, p = .018", "t(28) = 2.048, p = .05", "t(28) = 2.00, p = .05",
  "t(28) = 2.00, p = .055", "t(10) = 20.00, p < .001", "t(10) = 20.00, p = .000",
  "F(1, 28) = 4.84, p = .036", "F(2, 57) = 3.15, p = .05", "F(2, 57) = 3.15, p < .05",
  "F(3, 120) = 0.50, p = .683", "F(3, 120) = 0.50, p = .70", "F(4, 1000) = 2.40, p = .048",
  "F(1, 20) = 12.30, p = .003", "F(1, 20) = 12.30, p < .001",
  "r(6) = -.81, p = .014", "r(6) = -.81, p = .015", "r(6) = -.81, p = .013",
  "r(48) = .30, p = .034", "r(48) = .30, p = .04", "r(48) = .30, p < .01", "r(98) = .19, p = .06",
  "r(98) = .19, p > .05", "r(20) = .05, p = .82",
  "Z = 1.96, p = .05", "Z = 1.90, p = .05", "Z = -2.58, p < .01", "Z = 1.20, p = .01",
  "Z = 3.30, p = .001", "Z = 0.40, ns",
  "chi2(1, N = 100) = 4.10, p = .043", "chi2(1, N = 100) = 4.10, p = .05",
  "chi2(2, N = 90) = 6.00, p > .05", "chi2(4, N = 300) = 20.10, p < .001",
  "chi2(3, N = 60) = 2.00, p = .04", "chi2(2, N = 90) = 5.80, p < .05",
  "Q(3) = 7.80, p = .05", "Q(10) = 30.00, p < .001", "Q(10) = 12.00, p < .05")

# statcheck recognises chi-square by the letter's not being one of another test, and z only
# after a character.
as_statcheck <- paste("Result:", gsub("chi2", "X2", results, fixed = TRUE))
checked <- do.call(rbind, lapply(seq_along(results), function(i) {
  found <- suppressMessages(statcheck(as_statcheck[i], messages = FALSE))
  if (is.null(found) || nrow(found) != 1) stop("not understood: ", results[i])
  data.frame(quoted = results[i], test = found$test_type, df1 = found$df1, df2 = found$df2,
             test_value = found$test_value, computed_p = found$computed_p,
             error = found$error, decision_error = found$decision_error)
}))
write.csv(format(checked, digits = 17, trim = TRUE), "statcheck.csv", row.names = FALSE)
