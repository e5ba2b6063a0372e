# Wald tests of a parabola through the outcomes, distances between samples of risks, bounds of rates, kernel regression.
source("common.R")
suppressMessages(library(sandwich))
parabola <- function(y, risk) lm(y ~ risk + I(risk^2))
wald <- function(fit, covariance) { b <- coef(fit) - c(0, 1, 0); b %*% solve(covariance, b) }
implied <- function(fit, risk) { X <- model.matrix(fit); B <- solve(crossprod(X)); B %*% crossprod(X, X * risk * (1 - risk)) %*% B }
values("stats", ALL, c(
  "wald(parabola(y, risk), implied(parabola(y, risk), risk))",
  "wald(parabola(y, risk), vcov(parabola(y, risk)))"))
values("sandwich", ALL, c(
  "wald(parabola(y, risk), vcovHC(parabola(y, risk), type = 'HC0'))",
  "wald(parabola(y, risk), NeweyWest(parabola(y, risk), lag = 3, prewhite = FALSE, adjust = FALSE))"))
values("stats", ALL, "ks.test(risk[y == 1], risk[y == 0])$statistic")
# Pluto and Tasche: each grade pooled with all worse ones; bounds do not decrease.
pooled <- function(y, centre, level) { n <- rev(cumsum(rev(table(centre)))); k <- rev(cumsum(rev(tapply(y, centre, sum)))); cummax(qbeta(level, k + 1, n - k)) }
values("stats", c("pima", "gbsg", "rare"), c("pooled(y, centre, 0.9)", "pooled(y, centre, 0.5)"))
# Local means with a Gaussian kernel at nine risks; `dnorm` has no end, ksmooth stops at 4 standard deviations.
local_mean <- function(y, risk, at, sd) sapply(at, function(x) weighted.mean(y, dnorm(risk, x, sd)))
values("stats", ALL, "local_mean(y, risk, seq(0.1, 0.9, 0.1), 0.05)")
write_out()
