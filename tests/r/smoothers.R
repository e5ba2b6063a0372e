# Flexible calibration curves and the indices made from them.
source("common.R")
suppressMessages(library(rms))
direct <- loess.control(surface = "direct")
# ICI, E50, E90, Emax (Austin and Steyerberg 2019).
indices <- function(curve, risk) { off <- abs(curve - risk); c(mean(off), quantile(off, c(0.5, 0.9)), max(off)) }
at_ranks <- function(curve, risk) curve[order(risk)][floor(seq(1, length(risk), length.out = 9))]
curve_of <- function(y, risk, ...) fitted(loess(y ~ risk, ...))
spline <- function(y, risk, k) fitted(glm(y ~ rcs(qlogis(risk), k), family = binomial, control = tight))
at_lowess <- function(y, risk, ...) { fit <- lowess(risk, y, iter = 0, ...); approx(fit, xout = risk, ties = mean)$y }
w <- function(y) 1 + seq_along(y) %% 5
values("stats", ALL, c(
  "indices(curve_of(y, risk), risk)",
  "indices(curve_of(y, risk, control = direct), risk)",
  "indices(curve_of(y, risk, degree = 1), risk)",
  "indices(curve_of(y, risk, degree = 1, control = direct), risk)",
  "indices(curve_of(y, risk, span = 0.5), risk)",
  "indices(curve_of(y, risk, span = 0.5, control = direct), risk)",
  "weighted.mean(abs(curve_of(y, risk, weights = w(y)) - risk), w(y))",
  "max(abs(curve_of(y, risk, weights = w(y)) - risk))",
  "at_ranks(curve_of(y, risk), risk)",
  "at_ranks(curve_of(y, risk, control = direct), risk)",
  "100 * mean((curve_of(y, risk) - risk)^2)"))
values("stats", ALL, c(
  "indices(at_lowess(y, risk), risk)",
  "indices(at_lowess(y, risk, f = 0.3), risk)",
  "indices(at_lowess(y, risk, delta = 0), risk)"))
values("rms", ALL, c(
  "indices(spline(y, risk, 3), risk)",
  "indices(spline(y, risk, 4), risk)",
  "indices(spline(y, risk, 5), risk)"))
write_out()
