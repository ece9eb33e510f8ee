# Commonality components and dominance from R squared of lm() on every subset of blocks.
# Run here: Rscript subsets.R
models <- read.csv("models.csv")
blocks <- list(lab = "lab", suite = "suite", geometry = c("density", "layers"), scale = "log_parameters")
k <- length(blocks)
names_of <- function(s) names(blocks)[bitwAnd(s, 2^(seq_len(k) - 1)) > 0]
r_squared <- function(names) {
  columns <- unlist(blocks[names], use.names = FALSE)
  if (length(columns) == 0) return(0)
  summary(lm(reformulate(columns, "gain"), models))$r.squared
}
all_subsets <- 0:(2^k - 1)
value <- sapply(all_subsets, function(s) r_squared(names_of(s)))
at <- function(names) value[1 + sum(2^(match(names, names(blocks)) - 1))]

# Mood's rule: expand -(product over inside of (1 - x)) * (product over outside of x).
component <- function(inside) {
  outside <- setdiff(names(blocks), inside)
  parts <- lapply(0:(2^length(inside) - 1), function(s) inside[bitwAnd(s, 2^(seq_along(inside) - 1)) > 0])
  -sum(sapply(parts, function(part) (-1)^length(part) * at(c(outside, part))))
}
components <- do.call(rbind, lapply(all_subsets[-1], function(s) data.frame(
  kind = "component", block = paste(names_of(s), collapse = " + "), size = length(names_of(s)),
  share = component(names_of(s)))))

# Conditional dominance: mean rise of R squared over the subsets of each size without the block.
conditional <- do.call(rbind, lapply(names(blocks), function(block) {
  without <- Filter(function(names) !(block %in% names), lapply(all_subsets, names_of))
  rise <- sapply(without, function(names) at(c(names, block)) - at(names))
  data.frame(kind = "conditional", block = block, size = 0:(k - 1),
             share = as.vector(tapply(rise, lengths(without), mean)))
}))
general <- aggregate(share ~ block, conditional, mean)
general <- data.frame(kind = "general", block = general$block, size = 0, share = general$share)

# Complete dominance: 1 if the first adds more to every subset of the others, 0 if less, else 0.5.
pairs <- combn(names(blocks), 2)
complete <- do.call(rbind, apply(pairs, 2, function(pair) {
  without <- Filter(function(names) !any(pair %in% names), lapply(all_subsets, names_of))
  lead <- sapply(without, function(names) at(c(names, pair[1])) - at(c(names, pair[2])))
  data.frame(kind = "complete", block = paste(pair, collapse = " over "), size = 0,
             share = if (all(lead > 1e-10)) 1 else if (all(lead < -1e-10)) 0 else 0.5)
}, simplify = FALSE))
answers <- rbind(components, conditional, general, complete)
answers$share <- format(answers$share, digits = 17, trim = TRUE)
write.csv(answers, "subsets.csv", row.names = FALSE, quote = FALSE)
