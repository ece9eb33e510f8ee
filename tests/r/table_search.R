# Exact p of 2xk tables (Fisher; Freeman and Halton beyond 2x2), as fisher.test gives it.
# Run here: Rscript table_search.R
tables <- list(
  tea = list(hits = c(3, 1), totals = c(4, 4)), claimed = list(hits = c(4, 0), totals = c(5, 18)),
  hunt = list(hits = c(4, 2), totals = c(5, 11)), larger = list(hits = c(12, 3), totals = c(20, 15)),
  three = list(hits = c(4, 1, 0), totals = c(5, 6, 7)), flat = list(hits = c(2, 2, 2), totals = c(5, 5, 5)),
  four = list(hits = c(1, 0, 5, 2), totals = c(6, 3, 6, 9)),
  seven = list(hits = c(4, 1, 1, 0, 0, 0, 0), totals = c(5, 5, 4, 2, 3, 1, 2)))
p <- sapply(tables, function(t) fisher.test(rbind(t$hits, t$totals - t$hits), workspace = 2e6)$p.value)
joined <- function(which) sapply(tables, function(t) paste(t[[which]], collapse = " "))
answers <- data.frame(name = names(tables), hits = joined("hits"), totals = joined("totals"), p_value = p)
write.csv(format(answers, digits = 17, trim = TRUE), "table_search.csv", row.names = FALSE, quote = FALSE)
