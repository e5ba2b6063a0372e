# Intervals of the calibration intercept and slope and of observed over expected events.
source("common.R")
suppressMessages({library(MASS); library(survey)})
line <- function(y, risk) glm(y ~ lp, binomial, data.frame(y = y, lp = qlogis(risk)), control = tight)
shift <- function(y, risk) glm(y ~ 1, binomial, data.frame(y = y), offset = qlogis(risk), control = tight)
# Fitted twice: glm's covariance is that of the step before the last, here of the maximum itself.
wald_shift <- function(y, risk) {
  confint.default(glm(y ~ 1, binomial, offset = qlogis(risk), control = tight, start = coef(shift(y, risk))))
}
# MASS interpolates the profile by a spline; these are its ends to all digits.
ends <- function(fit, deviance_at, i, level = 0.95) {
  drop <- qchisq(level, 1)
  off <- function(at) deviance_at(at) - deviance(fit) - drop
  se <- sqrt(diag(vcov(fit)))[i]
  c(uniroot(off, coef(fit)[i] - c(8, 0) * se, tol = 1e-13)$root, uniroot(off, coef(fit)[i] + c(0, 8) * se, tol = 1e-13)$root)
}
slope_ends <- function(y, risk, level = 0.95) ends(line(y, risk), function(at) deviance(glm(y ~ 1, binomial, offset = at * qlogis(risk), control = tight)), 2, level)
intercept_ends <- function(y, risk, level = 0.95) ends(line(y, risk), function(at) deviance(glm(y ~ 0 + qlogis(risk), binomial, offset = rep(at, length(y)), control = tight)), 1, level)
shift_ends <- function(y, risk, level = 0.95) ends(shift(y, risk), function(at) -2 * sum(dbinom(y, 1, plogis(at + qlogis(risk)), log = TRUE)), 1, level)
clustered <- function(y, risk, centre) svydesign(~centre, weights = ~1, data = data.frame(y = y, risk = risk, centre = centre))
svy_errors <- function(form, ...) sqrt(diag(vcov(svyglm(form, clustered(...), family = quasibinomial, control = tight))))

values("MASS", ALL, c("t(confint(line(y, risk)))", "confint(shift(y, risk))"))
values("stats", ALL, c(
  "slope_ends(y, risk)",
  "slope_ends(y, risk, 0.8)",
  "intercept_ends(y, risk)",
  "shift_ends(y, risk)",
  "wald_shift(y, risk)",
  "poisson.test(sum(y), sum(risk))$conf.int",
  "exp(log(sum(y) / sum(risk)) + qnorm(c(0.025, 0.975)) * sqrt((1 - mean(y)) / sum(y)))"))
values("survey", c("birthwt", "infert", "pima", "rotterdam", "gbsg", "ties"), c(
  "svy_errors(y ~ qlogis(risk), y, risk, centre)",
  "svy_errors(y ~ 1 + offset(qlogis(risk)), y, risk, centre)",
  "SE(svyratio(~risk, ~y, clustered(y, risk, centre))) * sum(y) / sum(risk)"))
write_out()
