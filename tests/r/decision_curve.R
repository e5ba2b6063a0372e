# Decision curves of two models at seven thresholds: net benefit of each and of treating all, then interventions avoided per 100.
source("common.R")
suppressMessages({library(dplyr); library(purrr); library(rlang); library(tibble); library(tidyr); library(glue)})
source_package("dcurves")
curves <- function(y, ...) {
  found <- dca(y ~ ., data.frame(y = y, ...), thresholds = c(0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9))
  found <- net_intervention_avoided(found, nper = 100)$dca
  of <- function(model, what) found[[what]][found$variable == model]
  models <- names(list(...))
  c(unlist(lapply(c(models, "all"), of, "net_benefit")), unlist(lapply(models, of, "net_intervention_avoided")))
}
standardized <- function(y, ...) {
  found <- standardized_net_benefit(dca(y ~ ., data.frame(y = y, ...), thresholds = c(0.1, 0.3, 0.5)))$dca
  found$standardized_net_benefit[found$variable == names(list(...))[1]]
}
values("dcurves", ALL, c("curves(y, risk = risk, risk2 = risk2)", "standardized(y, risk = risk)"))
write_out()
