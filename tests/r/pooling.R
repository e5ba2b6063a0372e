# Calibration and discrimination by centre, pooled by metafor.
source("common.R")
suppressMessages({library(metafor); library(pROC)})
# Estimate and standard error of one centre, on the scale on which it is pooled.
intercept <- function(y, risk) {
  first <- glm(y ~ 1, binomial, offset = qlogis(risk), control = tight)
  fit <- glm(y ~ 1, binomial, offset = qlogis(risk), control = tight, start = coef(first))
  c(coef(fit), sqrt(vcov(fit)))
}
slope <- function(y, risk) {
  first <- glm(y ~ qlogis(risk), binomial, control = tight)
  fit <- glm(y ~ qlogis(risk), binomial, control = tight, start = coef(first))
  c(coef(fit)[2], sqrt(vcov(fit)[2, 2]))
}
oe <- function(y, risk) c(log(mean(y) / mean(risk)), sqrt(var(y / mean(y) - risk / mean(risk)) / length(y)))
cstat <- function(y, risk) {
  found <- roc(y, risk, direction = "<", quiet = TRUE)
  area <- as.numeric(auc(found))
  c(qlogis(area), sqrt(var(found, method = "delong")) / (area * (1 - area)))
}
kept <- function(y, centre) {
  rows <- table(centre); events <- tapply(y, centre, sum)
  names(rows)[rows >= 10 & events > 0 & events < rows]
}
# Centres with one event have no standard error of C.
by <- function(measure, y, risk, centre) {
  found <- t(sapply(kept(y, centre), function(each) measure(y[centre == each], risk[centre == each])))
  found[is.finite(found[, 2]), ]
}
pool <- function(parts, ...) rma(parts[, 1], sei = parts[, 2], control = list(threshold = 1e-13, maxiter = 10000, stepadj = 0.5), ...)
facts <- function(fit) c(coef(fit), fit$se, fit$ci.lb, fit$ci.ub, fit$tau2, fit$I2 / 100, fit$QE, fit$QEp)
ahead <- function(fit, ...) {found <- predict(fit, ...); c(found$pi.lb, found$pi.ub)}

trend <- function(parts) {
  fit <- pool(parts, test = "knha", mods = as.numeric(rownames(parts)))
  c(fit$beta[2], fit$se[2], fit$ci.lb[2], fit$ci.ub[2], fit$pval[2], fit$tau2)
}

CENTRES <- c("birthwt", "infert", "pima", "rotterdam", "gbsg", "rare", "ties")
for (measure in c("intercept", "slope", "oe", "cstat")) {
  parts <- sprintf("by(%s, y, risk, centre)", measure)
  values("stats", CENTRES, sprintf("t(%s)", parts))
  values("metafor", CENTRES, sprintf(c(
    "facts(pool(%s, test = 'knha'))",
    "ahead(pool(%s, test = 'knha'))",
    "ahead(pool(%s), pi.type = 'riley')",
    "facts(pool(%s))",
    "facts(pool(%s, method = 'DL', test = 'knha'))",
    "facts(pool(%s, test = 'adhoc'))",
    "facts(pool(%s, method = 'FE'))",
    "confint(pool(%s), control = list(tol = 1e-13, maxiter = 10000, tau2.max = 1e4))$random[1, 2:3]",
    "trend(%s)"), parts))
}
write_out()
