# Net benefit of two models and of treating all, and interventions avoided, at many thresholds.
source("common.R")
suppressMessages({library(dplyr); library(survival); library(rlang); library(purrr); library(ggplot2); library(tibble)})
source_package("dcurves")
at <- c(0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
curve <- function(y, model, column, standardize = FALSE) {
  found <- dca(y ~ risk, data.frame(y = y, risk = model), thresholds = at)
  if (standardize) found <- standardized_net_benefit(found)
  if (column == "net_intervention_avoided") found <- net_intervention_avoided(found)
  rows <- as.data.frame(as_tibble(found))
  rows <- rows[rows$variable == (if (column == "all") "all" else "risk"), ]
  rows[[if (column == "all") "net_benefit" else column]]
}
values("dcurves", ALL, c(
  "curve(y, risk, 'net_benefit')",
  "curve(y, risk2, 'net_benefit')",
  "curve(y, risk, 'all')",
  "curve(y, risk, 'standardized_net_benefit', standardize = TRUE)",
  "curve(y, risk, 'net_intervention_avoided')"))
write_out()
