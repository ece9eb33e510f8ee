# Fit every design of a JSON file by lme4 and evaluate its deviance at a theta of ours.
#
# Rscript mixed_optimum.R designs.json answers.json
# A design: formula, reml, columns, theta (a list of label and value). An answer: lme4's optimum
# and its deviance function at the theta; both missing where lme4 refuses.

suppressMessages({
  library(jsonlite)
  library(lme4)
})

plain <- function(label) {
  # lme4 numbers the later terms of a group: g.1.x is x among g.
  gsub("\\.[0-9]+(\\.|$)", "\\1", label)
}

theta_names <- function(parts) {
  names <- mapply(function(group, effects) {
    pairs <- outer(effects, effects, function(row, column) {
      ifelse(row == column, row, paste(row, column, sep = "."))
    })
    paste(group, pairs[lower.tri(pairs, diag = TRUE)], sep = ".")
  }, names(parts$reTrms$cnms), parts$reTrms$cnms, SIMPLIFY = FALSE)
  unlist(names, use.names = FALSE)
}

answer <- function(design) {
  data <- as.data.frame(design$columns)
  for (group in c("g", "h")) data[[group]] <- factor(data[[group]])
  parts <- lFormula(as.formula(design$formula), data, REML = design$reml)
  deviance <- do.call(mkLmerDevfun, parts)
  # The optimiser, its restart at the edge and its tolerance are those of lmer.
  defaults <- lmerControl()
  found <- optimizeLmer(
    deviance,
    optimizer = defaults$optimizer, restart_edge = defaults$restart_edge,
    boundary.tol = defaults$boundary.tol, control = list(), calc.derivs = FALSE
  )
  labels <- plain(theta_names(parts))
  values <- setNames(as.numeric(unlist(design$theta)), names(design$theta))
  stopifnot(setequal(labels, names(values)))
  list(
    optimum = deviance(found$par),
    at_ours = deviance(unname(values[labels]))
  )
}

arguments <- commandArgs(TRUE)
designs <- fromJSON(arguments[1], simplifyVector = TRUE, simplifyDataFrame = FALSE)
answers <- lapply(designs, function(design) {
  tryCatch(answer(design), error = function(e) list(error = conditionMessage(e)))
})
write_json(answers, arguments[2], digits = NA, auto_unbox = TRUE)
