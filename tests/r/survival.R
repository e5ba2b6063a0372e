# Time to event at a horizon: Kaplan-Meier with Greenwood, IPCW scores, weighted regressions and LOESS, and competing risks.
source("common.R")
suppressMessages({library(survival); library(riskRegression); library(survey); library(prodlim)})
# Times are whole days. At half a day no time equals the horizon, where packages differ (see docs/conventions.md).
kaplan_meier <- function(time, event, at) {
  s <- summary(survfit(Surv(time, event) ~ 1, conf.type = "log-log"), times = at)
  c(1 - s$surv, s$std.err, 1 - s$upper, 1 - s$lower)
}
# AUC and Brier score with their standard errors, and IPA.
scores <- function(time, event, risk, at) {
  d <- data.frame(time, event)
  found <- Score(list(model = risk), Hist(time, event) ~ 1, data = d, times = at, cause = 1, metrics = c("auc", "brier"),
                 summary = "ipa", null.model = TRUE, se.fit = TRUE, conservative = FALSE)
  auc <- as.data.frame(found$AUC$score)
  brier <- subset(as.data.frame(found$Brier$score), model == "model")
  c(auc$AUC[1], auc$se[1], brier$Brier, brier$se, brier$IPA)
}
# The weights of prodlim, in which events precede censoring at tied times: G(t-) for events, G(h) for those event-free at the horizon.
design_of <- function(time, event, risk, at) {
  censoring <- prodlim(Hist(time, event) ~ 1, data.frame(time, event), reverse = TRUE)
  until <- pmin(time, at)
  before <- predict(censoring, times = sort(unique(until)) - 1e-6, type = "surv")
  before[is.na(before)] <- 1
  d <- data.frame(status = as.integer(event == 1 & time <= at), risk, logit = qlogis(risk),
                  w = 1 / before[match(until, sort(unique(until)))], known = time >= at | event != 0)
  svydesign(~1, weights = ~w, data = d[d$known, ])
}
line <- function(time, event, risk, at) {
  found <- svyglm(status ~ logit, design_of(time, event, risk, at), family = quasibinomial, control = tight)
  c(coef(found)[2], SE(found)[2])
}
shift <- function(time, event, risk, at) {
  found <- svyglm(status ~ offset(logit), design_of(time, event, risk, at), family = quasibinomial, control = tight)
  c(coef(found), SE(found))
}
indices <- function(time, event, risk, at) {
  d <- design_of(time, event, risk, at)$variables
  fit <- loess(status ~ risk, d, weights = w)
  e <- abs(predict(fit, data.frame(risk = pmin(pmax(risk, min(d$risk)), max(d$risk)))) - risk)
  c(mean(e), quantile(e, c(0.5, 0.9)))
}
# Every third event counts as another cause.
other <- function(event) ifelse(event == 1 & seq_along(event) %% 3 == 0, 2, event)
aalen_johansen <- function(time, event, at) {
  s <- summary(survfit(Surv(time, factor(event, 0:2)) ~ 1), times = at)
  c(s$pstate[1, 2], s$std.err[1, 2])
}
for (at in c("1000.5", "1826.5")) {
  call <- function(text) gsub("AT", at, text, fixed = TRUE)
  values("survival", TIMES, call("kaplan_meier(time, event, AT)"))
  values("riskRegression", TIMES, call("scores(time, event, risk, AT)"))
  values("survey", TIMES, sprintf(call("%s(time, event, risk, AT)"), c("line", "shift")))
  values("stats", TIMES, call("indices(time, event, risk, AT)"))
}
values("survival", TIMES, "aalen_johansen(time, other(event), 1826.5)")
values("riskRegression", TIMES, "scores(time, other(event), risk, 1826.5)")
write_out()
