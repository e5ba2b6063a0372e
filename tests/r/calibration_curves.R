# The statistics of CalibrationCurves::val.prob.ci.2, which computes some of them only while it draws.
source("common.R")
suppressMessages({library(rms); library(ggplot2)})
source_package("CalibrationCurves")
found <- function(y, risk) suppressMessages(val.prob.ci.2(risk, y))
values("CalibrationCurves", ALL, c(
  "found(y, risk)$stats[c('Intercept', 'Slope')]",
  "found(y, risk)$stats[c('U:Chi-sq', 'U:p')]",
  "found(y, risk)$stats[c('Brier', 'Brier scaled')]",
  "found(y, risk)$stats[c('Eavg', 'ECI')]",
  "found(y, risk)$stats['D:Chi-sq']",
  "found(y, risk)$Calibration$Intercept[2:3]",
  "found(y, risk)$Calibration$Slope[2:3]"))
# Its variance of the area is computed from ranks and differs from DeLong's where risks are tied (infert: 5e-5).
values("CalibrationCurves", c("birthwt", "pima", "pbc", "rotterdam", "gbsg", "rare"), "found(y, risk)$Cindex[2:3]")
write_out()
