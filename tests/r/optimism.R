# Optimism of a logistic regression by rms::validate and rms::calibrate, and by a loop over glm with the same resamples.
# Without the rare indicators of birthwt, which separate the outcomes of some resamples: the likelihood then has no maximum.
source("common.R")
suppressMessages(library(rms))

formulas <- list(birthwt = y ~ x1 + x2 + x3 + x6, pima = y ~ x1 + x2 + x3 + x4 + x5 + x6 + x7)
B <- 12
FOLDS <- 6

area <- function(p, y) { r <- rank(p); n1 <- sum(y); (mean(r[y == 1]) - (n1 + 1) / 2) / (length(y) - n1) }
statistics <- function(p, y) {
  lp <- qlogis(p)
  line <- coef(glm(y ~ lp, family = binomial, control = tight))
  c(auroc = area(p, y), brier = mean((y - p)^2), intercept = line[[1]], slope = line[[2]], oe = sum(y) / sum(p))
}
fitted_on <- function(form, d, rows) {
  fit <- glm(form, family = binomial, data = d[rows, ], control = tight)
  predict(fit, d, type = "response")
}
loop <- function(form, d, pairs) {
  apparent <- statistics(fitted_on(form, d, seq_len(nrow(d))), d$y)
  each <- lapply(pairs, function(pair) {
    p <- fitted_on(form, d, pair$train)
    list(train = statistics(p[pair$train], d$y[pair$train]), test = statistics(p[pair$test], d$y[pair$test]))
  })
  train <- rowMeans(sapply(each, `[[`, "train"))
  test <- rowMeans(sapply(each, `[[`, "test"))
  as.list(apparent - (train - test))
}
put <- function(set, package, call, value) {
  entries[[length(entries) + 1]] <<- list(data = set, package = package, version = version_of(package), call = call, value = value)
}

for (set in names(formulas)) {
  d <- read.csv(file.path("data", paste0(set, ".csv")))
  n <- nrow(d)
  form <- formulas[[set]]
  fit <- lrm(form, data = d, x = TRUE, y = TRUE)
  set.seed(1)
  rows <- lapply(seq_len(B), function(b) sample(n, replace = TRUE))
  set.seed(1)
  order <- sample(n, replace = FALSE)
  per <- n / FOLDS
  folds <- lapply(seq_len(FOLDS), function(i) { s <- 1 + round((i - 1) * per); order[s:min(n, round(s + per - 1))] })
  put(set, "base", "rows of the resamples", rows)
  put(set, "base", "rows of the folds", folds)
  set.seed(1)
  v <- validate(fit, method = "boot", B = B)
  put(set, "rms", "validate(method = 'boot')", list(dxy = v["Dxy", "index.corrected"], brier = v["B", "index.corrected"],
      intercept = v["Intercept", "index.corrected"], slope = v["Slope", "index.corrected"]))
  set.seed(1)
  v <- validate(fit, method = "crossvalidation", B = FOLDS)
  put(set, "rms", "validate(method = 'crossvalidation')", list(dxy = v["Dxy", "index.corrected"],
      brier = v["B", "index.corrected"], intercept = v["Intercept", "index.corrected"], slope = v["Slope", "index.corrected"]))
  for (method in c("boot", "crossvalidation")) {
    set.seed(1)
    k <- unclass(calibrate(fit, method = method, B = if (method == "boot") B else FOLDS))
    put(set, "rms", paste0("calibrate(method = '", method, "')"),
        list(predy = as.numeric(k[, "predy"]), apparent = as.numeric(k[, "calibrated.orig"]),
             corrected = as.numeric(k[, "calibrated.corrected"])))
  }
  all <- seq_len(n)
  put(set, "stats", "glm on resamples, bootstrap", loop(form, d, lapply(rows, function(r) list(train = r, test = all))))
  put(set, "stats", "glm on folds", loop(form, d, lapply(folds, function(f) list(train = setdiff(all, f), test = f))))
}
write_out()
