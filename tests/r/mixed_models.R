# One-stage models of calibration by centre: random intercepts, fitted by lme4 with 15 quadrature points.
source("common.R")
suppressMessages(library(lme4))
tight_mixed <- glmerControl(optimizer = "bobyqa", optCtrl = list(rhobeg = 0.02, rhoend = 1e-9, maxfun = 1e5))
facts <- function(fit) c(fixef(fit), sqrt(diag(as.matrix(vcov(fit)))), as.numeric(VarCorr(fit)$g))
lp <- function(risk) qlogis(pmin(pmax(risk, 1e-12), 1 - 1e-12))
intercept <- function(y, risk, g) glmer(y ~ 1 + (1 | g), family = binomial, offset = lp(risk), nAGQ = 15, control = tight_mixed)
slope <- function(y, risk, g) {x <- lp(risk); glmer(y ~ x + (1 | g), family = binomial, nAGQ = 15, control = tight_mixed)}
oe <- function(y, risk, g) {
  parts <- data.frame(events = as.numeric(tapply(y, g, sum)), expected = as.numeric(tapply(risk, g, sum)))
  parts$g <- factor(seq_len(nrow(parts)))
  glmer(events ~ 1 + (1 | g), family = poisson, data = parts, offset = log(parts$expected), nAGQ = 15, control = tight_mixed)
}
CENTRES <- c("birthwt", "infert", "pima", "rotterdam", "gbsg", "rare", "ties")
values("lme4", CENTRES, sprintf("facts(%s(y, risk, factor(centre)))", c("intercept", "slope", "oe")))
write_out()
