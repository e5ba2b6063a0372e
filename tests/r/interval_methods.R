# Confidence intervals: profile likelihood, sandwich with weights and with clusters, exact limits of O/E, means over rows.
source("common.R")
suppressMessages({library(MASS); library(survey)})
w <- function(y) 1 + seq_along(y) %% 5
sampled <- function(y, risk, ids = ~1, weights = rep(1, length(y))) {
  svydesign(ids, weights = weights, data = data.frame(y = y, lp = qlogis(risk), risk = risk))
}
robust <- function(...) svyglm(y ~ lp, sampled(...), family = quasibinomial, control = tight)
# svyglm's own intervals take quantiles of t; these are of the normal distribution.
normal <- function(fit) unname(c(rbind(coef(fit), coef(fit)) + qnorm(c(0.025, 0.975)) %o% sqrt(diag(vcov(fit)))))
line <- function(y, risk) glm(y ~ lp, binomial, data.frame(y = y, lp = qlogis(risk)), control = tight)
shift <- function(y, risk) glm(y ~ 1, binomial, data.frame(y = y), offset = qlogis(risk), control = tight)
# The slope's profile without the spline: where the deviance exceeds its minimum by the quantile.
profiled <- function(y, risk) {
  lp <- qlogis(risk); fit <- line(y, risk); step <- 4 * sqrt(vcov(fit)[2, 2])
  excess <- function(b) deviance(glm(y ~ 1, binomial, offset = b * lp, control = tight)) - deviance(fit) - qchisq(0.95, 1)
  b <- coef(fit)[2]
  c(uniroot(excess, c(b - step, b), tol = 1e-12)$root, uniroot(excess, c(b, b + step), tol = 1e-12)$root)
}
quiet <- function(call) suppressMessages(call)
values("MASS", ALL, c(
  "c(t(quiet(confint(line(y, risk)))))",
  "c(t(quiet(confint(line(y, risk), level = 0.9))))",
  "quiet(confint(shift(y, risk)))"))
values("stats", ALL, c(
  "profiled(y, risk)",
  "confint.default(shift(y, risk))",
  "poisson.test(sum(y), sum(risk))$conf.int",
  "mean((risk - y)^2) + c(-1, 1) * qnorm(0.975) * sd((risk - y)^2) / sqrt(length(y))"))
values("survey", ALL, c(
  "normal(robust(y, risk))",
  "normal(robust(y, risk, weights = w(y)))"))
values("survey", c("rotterdam", "rare", "pima"), "normal(robust(y, risk, ids = centre))")
write_out()
