# The GiViTI calibration test : statistic, p-value, degree.
source("common.R")
source_package("givitiR")
test_of <- function(y, risk, ...) {
  found <- givitiCalibrationTest(o = y, e = risk, ...)
  c(found$statistic, found$p.value, length(found$estimate) - 1)
}
values("givitiR", ALL, c(
  "test_of(y, risk, devel = 'external')",
  "test_of(y, risk, devel = 'internal')"))
write_out()
