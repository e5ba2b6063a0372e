# Sample sizes of pmvalsampsize.
#
# pmvalsampsize simulates the linear predictor. Here its random numbers are replaced by the quantiles of the same distribution, so that its
# sums are integrals; "seed" entries are simulated as the package does.
source("common.R")
suppressMessages(library(pROC))
source_package("pmvalsampsize")

calls <- list(
  list(prevalence = 0.2, cstatistic = 0.68, lpbeta = c(2, 8)),
  list(prevalence = 0.2, cstatistic = 0.68, lpbeta = c(2, 8), csciwidth = 0.4),
  list(prevalence = 0.2, cstatistic = 0.68, lpbeta = c(2, 8), threshold = 0.2, sensitivity = 0.7, specificity = 0.6),
  list(prevalence = 0.018, cstatistic = 0.8, lpnormal = c(-5, 2.5), oeciwidth = 1),
  list(prevalence = 0.018, cstatistic = 0.8, lpbeta = c(0.5, 0.5), oeciwidth = 1),
  list(prevalence = 0.43, cstatistic = 0.77, lpnormal = c(-0.3, 1.2)),
  list(prevalence = 0.5, cstatistic = 0.9, lpbeta = c(1, 1), cstatciwidth = 0.05, oeciwidth = 0.1),
  list(prevalence = 0.1, cstatistic = 0.6, lpnormal = c(-2.3, 0.5), csciwidth = 0.3, oe = 0.9),
  list(prevalence = 0.3, cstatistic = 0.75, lpbeta = c(3, 7), oe = 1.2, oeciwidth = 0.3,
       threshold = 0.15, sensitivity = 0.95, specificity = 0.3, nbciwidth = 0.1),
  list(prevalence = 0.05, cstatistic = 0.85, lpnormal = c(-3.8, 1.6), oeciwidth = 0.5,
       threshold = 0.08, sensitivity = 0.6, specificity = 0.85, nbciwidth = 0.25),
  list(prevalence = 0.2, cstatistic = 0.71, lpbeta = c(2, 8), threshold = 0.1),
  list(prevalence = 0.35, cstatistic = 0.83, lpnormal = c(-0.9, 1.7), threshold = 0.3)
)

rbeta <- function(n, shape1, shape2) qbeta(ppoints(n, 0.5), shape1, shape2)
rnorm <- function(n, mean, sd) qnorm(ppoints(n, 0.5), mean, sd)
entry <- function(given, name) {
  found <- suppressMessages(do.call(pmvalsampsize, c(list(type = "b"), given)))
  rows <- found$results_table[, "Samp_size"]
  list(data = name, package = "pmvalsampsize", version = version_of("pmvalsampsize"), call = given,
       value = as.list(unname(rows)))
}
entries <- lapply(calls, entry, name = "quantiles")
rm(rbeta, rnorm)
simulated <- list(
  list(prevalence = 0.2, cstatistic = 0.68, lpbeta = c(2, 8)),
  list(prevalence = 0.2, cstatistic = 0.68, lpbeta = c(2, 8), csciwidth = 0.4, seed = 1),
  list(prevalence = 0.2, cstatistic = 0.8, lpcstat = -2.0946, increment = 0.001),
  list(prevalence = 0.1, cstatistic = 0.7, lpcstat = -2.4722, increment = 0.001)
)
entries <- c(entries, lapply(simulated, entry, name = "seed"))
write_out()
