# The GiViTI calibration belt: risks, then lower and upper bounds at 95% and at 80%.
source("common.R")
source_package("givitiR")
suppressMessages(library(alabama, lib.loc = file.path(SOURCES, "lib")))
# Without rootSolve, which needs Fortran, the bounds come from the package's slower and more precise optimiser.
belt_of <- function(y, risk, ...) {
  sink(tempfile()); on.exit(sink())
  belt <- givitiCalibrationBelt(o = y, e = risk, nPoints = 12, ...)
  c(belt$seqP, unlist(belt$cbBoundByConfLevel))
}
values("givitiR", c("birthwt", "infert", "pima", "pbc", "gbsg"), c(
  "belt_of(y, risk, devel = 'external')",
  "belt_of(y, risk, devel = 'internal')"))
write_out()
