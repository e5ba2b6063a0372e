# All entries of val.prob, ranks from Hmisc, and proper scores.
source("common.R")
suppressMessages({library(rms); library(pROC)})
names <- c("Dxy", "C (ROC)", "R2", "D", "D:Chi-sq", "U", "U:Chi-sq", "U:p", "Q", "Brier", "Intercept", "Slope", "Emax", "E90", "Eavg", "S:z", "S:p")
# "D:p" is NA in this version.
values("rms", ALL, sprintf("val.prob(risk, y, pl = FALSE)[['%s']]", names))
values("rms", ALL, "val.prob(risk2[risk2 > 0 & risk2 < 1], y[risk2 > 0 & risk2 < 1], pl = FALSE)[c('Intercept', 'Slope', 'Eavg')]")
values("Hmisc", ALL, c(
  "somers2(risk, y)[['C']]",
  "somers2(risk2, y)[['Dxy']]",
  "somers2(risk, y, weights = 1 + seq_along(y) %% 5)[['C']]",
  "rcorr.cens(risk, y)[['C Index']]",
  "wtd.mean(risk - y, 1 + seq_along(y) %% 5)",
  "wtd.mean((risk - y)^2, 1 + seq_along(y) %% 5)"))
values("pROC", ALL, c(
  "auc(y, risk, quiet = TRUE)",
  "auc(y, risk2, quiet = TRUE)"))
write_out()
