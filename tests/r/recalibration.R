# Logistic recalibration: y on the log-odds of the risk.
source("common.R")
suppressMessages({library(sandwich); library(survey)})
# Fitted twice: glm's covariance is that of the step before the last, here of the maximum itself.
line <- function(y, risk, weights = rep(1, length(y))) {
  rows <- data.frame(y = y, lp = qlogis(risk), weights = weights)
  first <- glm(y ~ lp, binomial, rows, weights = weights, control = tight)
  glm(y ~ lp, binomial, rows, weights = weights, control = tight, start = coef(first))
}
shift <- function(y, risk, ...) glm(y ~ 1, binomial, data.frame(y = y), offset = qlogis(risk), control = tight, ...)
own <- function(y, risk) -2 * sum(dbinom(y, 1, risk, log = TRUE))
away <- function(fit) coef(fit) - c(0, 1)
bent <- function(y, risk, form) glm(form, binomial, data.frame(y = y, p = risk, lp = qlogis(risk)), control = tight)
w <- function(y) 1 + seq_along(y) %% 5
sampled <- function(y, risk) svydesign(~1, weights = w(y), data = data.frame(y = y, risk = risk))
survey_line <- function(y, risk) svyglm(y ~ qlogis(risk), sampled(y, risk), family = quasibinomial, control = tight)

values("stats", ALL, c(
  "coef(shift(y, risk))",
  "coef(line(y, risk))",
  "sqrt(diag(vcov(line(y, risk))))",
  "confint.default(line(y, risk))",
  "own(y, risk) - deviance(line(y, risk))",
  "pchisq(own(y, risk) - deviance(line(y, risk)), 2, lower.tail = FALSE)",
  "away(line(y, risk)) %*% solve(vcov(line(y, risk)), away(line(y, risk)))",
  "deviance(shift(y, risk)) - deviance(line(y, risk))",
  "deviance(bent(y, risk, y ~ 0 + lp)) - deviance(line(y, risk))",
  "anova(glm(y ~ 0 + offset(qlogis(risk)), family = binomial), glm(y ~ qlogis(risk) + offset(qlogis(risk)), family = binomial, control = tight), test = 'Rao')$Rao[2]",
  "own(y, risk) - deviance(bent(y, risk, y ~ log(p) + log1p(-p)))",
  "own(y, risk) / 2 / length(y)",
  "coef(line(y, risk, weights = w(y)))",
  "sqrt(diag(vcov(line(y, risk, weights = w(y)))))",
  "coef(shift(y, risk, weights = w(y)))"))
values("stats", c("birthwt", "pima", "rotterdam", "gbsg"), "coef(bent(y, risk, y ~ lp + I(lp^2)))")
# Beta calibration: both exponents are positive on these sets; on birthwt the second is 0, since it may not be negative.
values("stats", "birthwt", "coef(bent(y, risk, y ~ log(p)))")
values("stats", c("pima", "rotterdam", "gbsg"), c(
  "coef(bent(y, risk, y ~ log(p) + I(-log1p(-p))))"))
values("sandwich", ALL, c(
  "sqrt(diag(sandwich(line(y, risk))))",
  "away(line(y, risk)) %*% solve(sandwich(line(y, risk)), away(line(y, risk)))"))
values("survey", c("birthwt", "pima", "pbc", "rotterdam", "gbsg", "ties"), c(
  "coef(survey_line(y, risk))",
  "sqrt(diag(vcov(survey_line(y, risk))))",
  "svymean(~I(risk - y), sampled(y, risk))",
  "svyratio(~risk, ~y, sampled(y, risk))$ratio"))
write_out()
