# Bootstrap intervals from given replicates, which are quantiles of a skewed distribution.
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
write_out()
