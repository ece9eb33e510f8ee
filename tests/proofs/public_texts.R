# The texts of the public tests of statcheck and metacheck, and what statcheck makes of the former.
# Run by public_texts.py: Rscript public_texts.R STATCHECK_TESTS METACHECK_FILE OUT
arguments <- commandArgs(trailingOnly = TRUE)
files <- list.files(arguments[1], "^test-.*\\.R$", full.names = TRUE)

# The test files are run with functions that only note the texts that they are called with.
texts <- character()
noting <- new.env(parent = globalenv())
noting$statcheck <- function(texts, ...) {
  texts <<- c(get("texts", globalenv()), as.character(texts))
  list()
}
noting$context <- function(...) NULL
noting$test_that <- function(description, code) try(code, silent = TRUE)
forced <- function(...) for (i in seq_len(...length())) try(...elt(i), silent = TRUE)
for (name in c("true", "false", "equal", "output", "message", "error", "silent", "s3_class",
               "gt", "named", "type", "is")) {
  assign(paste0("expect_", name), forced, noting)
}
for (file in files) try(source(file, local = noting, encoding = "UTF-8"), silent = TRUE)
texts <- unique(texts[!is.na(texts)])

library(statcheck)
read <- do.call(rbind, lapply(seq_along(texts), function(i) {
  rows <- suppressWarnings(suppressMessages(
    statcheck::statcheck(texts[i], messages = FALSE, OneTailedTxt = TRUE)))
  if (is.null(rows)) return(NULL)
  data.frame(text = i, test = rows$test_type, value = rows$test_value, p = rows$computed_p,
             error = rows$error, decision_error = rows$decision_error, raw = rows$raw)
}))
write.csv(data.frame(text = texts), file.path(arguments[3], "texts.csv"), row.names = FALSE)
write.csv(format(read, digits = 17, trim = TRUE), file.path(arguments[3], "read.csv"),
          row.names = FALSE)

# The p that metacheck must read, and those that it must not.
lists <- list()
walk <- function(code) {
  if (is.call(code) && identical(code[[1]], as.name("<-")) &&
      as.character(code[[2]])[1] %in% c("expected", "not")) {
    lists[[as.character(code[[2]])]] <<- eval(code[[3]])
  } else if (is.call(code) || is.expression(code)) for (part in as.list(code)) walk(part)
}
walk(parse(arguments[2], encoding = "UTF-8", keep.source = FALSE))
metacheck <- do.call(rbind, lapply(names(lists), function(name) {
  data.frame(kind = name, text = lists[[name]])
}))
write.csv(metacheck, file.path(arguments[3], "metacheck.csv"), row.names = FALSE)
