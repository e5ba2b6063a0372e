# Intervals and tests of proportions, by fifths of the risk and by centre, and isotonic regression.
source("common.R")
suppressMessages(library(Hmisc))
fifth <- function(risk) cut(risk, c(0, 0.2, 0.4, 0.6, 0.8, 1), include.lowest = TRUE)
counts <- function(y, group) { n <- tapply(y, group, length); keep <- !is.na(n); rbind(tapply(y, group, sum)[keep], n[keep]) }
# One row per group: lower, then upper limits.
limits <- function(y, risk, interval) { k <- counts(y, fifth(risk)); t(mapply(interval, k[1, ], k[2, ])) }
jeffreys <- function(x, n) {
  ends <- qbeta(c(0.025, 0.975), x + 0.5, n - x + 0.5)
  c(if (x == 0) 0 else ends[1], if (x == n) 1 else ends[2])
}
tests <- function(y, risk, centre, test) { k <- counts(y, centre); mapply(test, k[1, ], k[2, ], tapply(risk, centre, mean)) }
CENTRES <- setdiff(ALL, "pbc")
values("Hmisc", ALL, c(
  "limits(y, risk, function(x, n) binconf(x, n, method = 'exact')[2:3])",
  "limits(y, risk, function(x, n) binconf(x, n, method = 'wilson')[2:3])"))
# Jeffreys intervals end at 0 without events and at 1 without non-events (Brown, Cai and DasGupta 2001).
values("stats", ALL, c(
  "limits(y, risk, function(x, n) prop.test(x, n, correct = FALSE)$conf.int)",
  "limits(y, risk, function(x, n) binom.test(x, n, conf.level = 0.9)$conf.int)",
  "limits(y, risk, jeffreys)"))
values("stats", CENTRES, c(
  "tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'greater')$p.value)",
  "tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'less')$p.value)",
  "p.adjust(tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'greater')$p.value), 'holm')",
  "p.adjust(tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'greater')$p.value), 'BH')",
  "tests(y, risk, centre, function(x, n, p) 2 * min(0.5, pbinom(x, n, p), pbinom(x - 1, n, p, lower.tail = FALSE)))"))
# Isotonic regression, in order of the risk; isoreg sorts tied risks by decreasing outcome, which pools them.
isotonic <- function(y, risk) isoreg(risk, y)$yf
values("stats", ALL, c(
  "range(isotonic(y, risk))",
  "mean((isotonic(y, risk) - sort(risk))^2)",
  "mean(abs(isotonic(y, risk) - sort(risk)))",
  "mean((risk - y)^2) - mean((isotonic(y, risk) - y[order(risk, -y)])^2)",
  "mean((mean(y) - y)^2) - mean((isotonic(y, risk) - y[order(risk, -y)])^2)"))
write_out()
