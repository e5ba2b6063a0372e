# Flexible calibration curves with pointwise limits at seven quantiles of the risk: LOESS with exact statistics, spline of the log-odds.
source("common.R")
suppressMessages(library(rms))
at <- function(risk) unname(quantile(risk, c(0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)))
around <- function(middle, error) c(middle, middle - qnorm(0.975) * error, middle + qnorm(0.975) * error)
smooth <- function(y, risk, ...) {
  found <- predict(loess(y ~ risk, statistics = "exact", ...), data.frame(risk = at(risk)), se = TRUE)
  ends <- around(found$fit, found$se.fit)
  c(found$fit, pmin(1, pmax(0, ends[-(1:7)])))
}
spline <- function(y, risk, k) {
  lp <- qlogis(risk); knots <- attr(rcs(lp, k), "parms")
  found <- predict(glm(y ~ rcs(lp, knots), family = binomial, control = tight), list(lp = qlogis(at(risk))), se.fit = TRUE)
  plogis(around(found$fit, found$se.fit))
}
SMALL <- c("birthwt", "infert", "pima", "pbc", "gbsg", "ties")
values("stats", SMALL, c("smooth(y, risk)", "smooth(y, risk, degree = 1)", "smooth(y, risk, span = 0.5)"))
values("rms", ALL, c("spline(y, risk, 3)", "spline(y, risk, 5)"))
write_out()
