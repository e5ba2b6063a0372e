# Numbers that differ by convention: the table "R and calibrant" of docs/conventions.md.
source("common.R")
replicates <- qgamma(ppoints(999), 4) / 40
source_package("ResourceSelection")
source_package("givitiR")
suppressMessages({library(rms); library(survey); library(sandwich); library(boot)})
w <- 1 + 1:126 %% 5
line <- function(y, risk, weights = NULL) {
  rows <- data.frame(y = y, lp = qlogis(risk), weights = if (is.null(weights)) 1 else weights)
  glm(y ~ lp, binomial, rows, weights = weights, control = tight)
}
values("ResourceSelection", "pima", c("hoslem.test(y, risk)$statistic", "hoslem.test(y, risk)$p.value"))
values("rms", "gbsg", c(
  "val.prob(risk, y, pl = FALSE)[['Intercept']]",
  "val.prob(risk, y, pl = FALSE)[['Eavg']]",
  "val.prob(risk, y, pl = FALSE)[['C (ROC)']]"))
values("rms", "ties", "val.prob(risk2, y, pl = FALSE)[['Slope']]")
values("stats", "gbsg", c(
  "sum(y) / sum(risk)",
  "mean(y) - mean(risk)",
  "mean(abs(fitted(loess(y ~ risk, control = loess.control(surface = 'direct'))) - risk))",
  "mean(abs(fitted(loess(y ~ risk, degree = 1)) - risk))"))
values("stats", "pima", c(
  "binom.test(sum(y[centre == 1]), sum(centre == 1), mean(risk[centre == 1]))$p.value",
  "prop.test(sum(y[centre == 1]), sum(centre == 1))$conf.int[1]"))
values("stats", "rare", "qbeta(0.025, 0.5, sum(centre == 2) + 0.5)")
values("Hmisc", "rare", "binconf(sum(y[centre == 4]), sum(centre == 4), method = 'wilson')[2]")
values("sandwich", "birthwt", "coef(line(y, risk))[2] - qnorm(0.975) * sqrt(sandwich(line(y, risk))[2, 2])")
robust <- function(y, risk) svyglm(y ~ qlogis(risk), svydesign(~1, weights = rep(1, length(y)), data = data.frame(y, risk)), family = quasibinomial, control = tight)
values("survey", "birthwt", "confint(robust(y, risk))[2, 1]")
values("stats", "birthwt", "sqrt(vcov(line(y, risk, weights = w))[2, 2])")
values("givitiR", "birthwt", "givitiCalibrationTest(o = y, e = risk, devel = 'internal')$p.value")
made <- function(t) { found <- boot(1:9, function(d, i) 0.1, R = 2); found$t <- matrix(t); found$R <- length(t); found }
values("boot", "birthwt", "boot.ci(made(replicates), type = 'perc')$percent[4]")
values("pROC", "birthwt", "pROC::ci.auc(y, risk, quiet = TRUE)[1]")
values("stats", "gbsg", "predict(loess(y ~ risk), data.frame(risk = 0.5), se = TRUE)$se.fit")
slope_of <- function(y, risk) { fit <- line(y, risk); c(coef(fit)[2], vcov(fit)[2, 2]) }
pooled <- function(y, risk, centre) {
  parts <- sapply(sort(unique(centre)), function(each) slope_of(y[centre == each], risk[centre == each]))
  metafor::rma(parts[1, ], parts[2, ], control = list(threshold = 1e-12, maxiter = 10000))
}
values("metafor", "rotterdam", c("pooled(y, risk, centre)$ci.lb", "predict(pooled(y, risk, centre))$pi.lb"))
suppressMessages({library(ggplot2); source_package("CalibrationCurves")})
values("CalibrationCurves", "gbsg", "val.prob.ci.2(risk, y)$stats[['Emax']]")
write_out()
