# Four classes (the stage of pbc): losses, areas, and the calibrators as regressions.
source("common.R")
suppressMessages({library(survival); library(nnet); library(pROC)})
probs <- function(...) cbind(...)
# One row for each patient and stage; a conditional logit chooses the stage of each patient from its log-probabilities.
long <- function(stage, p) {
  n <- length(stage)
  data.frame(row = rep(1:n, 4), stage = factor(rep(1:4, each = n)), chosen = as.integer(rep(stage, 4) == rep(1:4, each = n)), lp = c(log(p)))
}
chosen_by <- function(form, stage, p) clogit(form, long(stage, p), control = coxph.control(eps = 1e-14, iter.max = 100))
values("stats", "pbc", c(
  "-mean(log(probs(p1, p2, p3, p4)[cbind(seq_along(stage), stage)]))",
  "mean(rowSums((outer(stage, 1:4, '==') - probs(p1, p2, p3, p4))^2))",
  "mean(rowSums((outer(stage, 1:3, '<=') - t(apply(probs(p1, p2, p3, p4), 1, cumsum))[, 1:3])^2)) / 3",
  "colMeans(probs(p1, p2, p3, p4)) - tabulate(stage) / length(stage)"))
values("pROC", "pbc", "mean(sapply(1:4, function(k) auc(stage == k, probs(p1, p2, p3, p4)[, k], direction = '<', quiet = TRUE)))")
values("survival", "pbc", c(
  "coef(chosen_by(chosen ~ lp + strata(row), stage, probs(p1, p2, p3, p4)))",
  "coef(chosen_by(chosen ~ lp + stage + strata(row), stage, probs(p1, p2, p3, p4)))",
  "coef(chosen_by(chosen ~ lp:stage + stage + strata(row), stage, probs(p1, p2, p3, p4)))[c(4:7, 1:3)]"))
# Without penalties, matrix scaling is a multinomial regression on the log-probabilities; its coefficients are not unique, its likelihood is.
values("nnet", "pbc", "multinom(stage ~ log(p1) + log(p2) + log(p3) + log(p4), trace = FALSE, reltol = 1e-15, maxit = 5000)$deviance / 2 / length(stage)")
write_out()
