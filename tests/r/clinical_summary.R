# The list of val.prob on risks as given, DeLong intervals, Wald intervals of the recalibration, and the distances of loess.
source("common.R")
suppressMessages({library(rms); library(pROC)})
listed <- c("Dxy", "C (ROC)", "R2", "D", "D:Chi-sq", "U", "U:Chi-sq", "U:p", "Q", "Brier", "Intercept", "Slope", "Emax", "E90", "Eavg", "S:z", "S:p")
shift <- function(y, risk) glm(y ~ 1, binomial, offset = qlogis(risk), control = tight)
distance <- function(y, risk) abs(risk - fitted(loess(y ~ risk)))
values("rms", ALL, "val.prob(risk, y, pl = FALSE)[listed]")
values("rms", setdiff(ALL, "ties"), "val.prob(risk2, y, pl = FALSE)[listed]")
values("pROC", ALL, "ci.auc(y, risk, quiet = TRUE, method = 'delong')[c(1, 3)]")
values("stats", ALL, c(
  "confint.default(shift(y, risk))",
  "1 - mean((y - risk)^2) / mean((y - mean(y))^2)",
  "prop.test(sum(y), length(y), correct = FALSE)$conf.int"))
values("stats", setdiff(ALL, "ties"), "with(list(e = distance(y, risk)), c(mean(e), quantile(e, c(0.5, 0.9, 1))))")
write_out()
