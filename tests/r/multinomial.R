# Multinomial logistic recalibration of the stage of pbc: four classes, and three with the first two merged.
source("common.R")
suppressMessages({library(VGAM); library(nnet)})
strict <- vglm.control(epsilon = 1e-14, maxit = 200)
four <- function(p1, p2, p3, p4) cbind(p1, p2, p3, p4)
three <- function(p1, p2, p3, p4) cbind(p1 + p2, p3, p4)
# Labels and log-ratios to the reference class, whose level is first.
rows <- function(class, probs, reference) {
  others <- setdiff(seq_len(ncol(probs)), reference)
  ratios <- log(probs[, others] / probs[, reference])
  colnames(ratios) <- paste0("lp", seq_along(others))
  data.frame(class = factor(class, c(reference, others)), ratios)
}
loglik_before <- function(class, probs) sum(log(probs[cbind(seq_along(class), class)]))
large <- function(d, ...) {
  offset <- as.matrix(d[, -1])
  vglm(class ~ 1, multinomial(refLevel = 1), d, offset = offset, control = strict, ...)
}
own <- function(d, ...) {
  m <- ncol(d) - 1
  only <- lapply(seq_len(m), function(k) diag(m)[, k, drop = FALSE])
  names(only) <- names(d)[-1]
  vglm(reformulate(names(d)[-1], "class"), multinomial(refLevel = 1), d, constraints = c(list("(Intercept)" = diag(m)), only), control = strict, ...)
}
full <- function(d, ...) vglm(reformulate(names(d)[-1], "class"), multinomial(refLevel = 1), d, control = strict, ...)
errors <- function(fit) sqrt(diag(vcov(fit)))
by_nnet <- function(d) multinom(reformulate(names(d)[-1], "class"), d, trace = FALSE, maxit = 10000, abstol = 1e-15, reltol = 1e-15)
counts <- function(class) 1 + seq_along(class) %% 3

for (set in c("rows(stage, four(p1, p2, p3, p4), 1)", "rows(stage, four(p1, p2, p3, p4), 3)",
              "rows(pmax(stage - 1, 1), three(p1, p2, p3, p4), 1)", "rows(pmax(stage - 1, 1), three(p1, p2, p3, p4), 2)")) {
  values("VGAM", "pbc", sprintf(c(
    "coef(large(%s))", "errors(large(%s))", "coef(own(%s))", "errors(own(%s))", "coef(full(%s))", "errors(full(%s))",
    "logLik(large(%s))", "logLik(own(%s))", "logLik(full(%s))",
    "coef(full(%s, weights = counts(stage)))", "errors(full(%s, weights = counts(stage)))"), set))
  values("nnet", "pbc", sprintf("t(coef(by_nnet(%s)))", set))
}
values("base", "pbc", c("loglik_before(stage, four(p1, p2, p3, p4))", "loglik_before(pmax(stage - 1, 1), three(p1, p2, p3, p4))"))
write_out()
