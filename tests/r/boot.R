# Bootstrap intervals from given replicates, which are quantiles of a skewed distribution, and the acceleration of BCa.
source("common.R")
library(boot)
made <- function(R, t0) {
  found <- boot(data.frame(x = 1:10), function(d, i) t0, R = 2)
  found$t <- matrix(qgamma(ppoints(R), 4) / 40); found$t0 <- t0; found$R <- R
  found
}
values("boot", "birthwt", c(
  "boot.ci(made(999, 0.1), type = 'perc')$percent[4:5]",
  "boot.ci(made(999, 0.1), type = 'basic')$basic[4:5]",
  "boot.ci(made(999, 0.1), type = 'perc', conf = 0.9)$percent[4:5]"))
# Influence of each row by the jackknife, about its mean (Efron and Tibshirani 1993, 14.15), where boot has the estimate on all rows; the
# acceleration is the skewness of its sum over 6.
accelerated <- function(y, risk, statistic) {
  L <- empinf(data = data.frame(y = y, risk = risk), statistic = function(d, i) statistic(d$y[i], d$risk[i]), type = "jack", stype = "i")
  L <- L - mean(L)
  sum(L^3) / (6 * sum(L^2)^1.5)
}
values("boot", c("birthwt", "infert", "pima"), c(
  "accelerated(y, risk, function(y, risk) mean((y - risk)^2))",
  "accelerated(y, risk, function(y, risk) sum(risk) / sum(y))"))
values("boot", "birthwt", c(
  "accelerated(y, risk, function(y, risk) coef(glm(y ~ qlogis(risk), family = binomial, control = tight))[2])"))
write_out()
