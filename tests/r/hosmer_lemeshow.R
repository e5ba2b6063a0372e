# Hosmer-Lemeshow tests: two classes for several numbers of groups, and the four stages of pbc.
source("common.R")
source_package("ResourceSelection")
melt <- reshape2::melt; cast <- reshape2::dcast
source(file.path(SOURCES, "generalhoslem", "R", "logitgof.R"))
statistic_of <- function(test) c(test$statistic, test$parameter, test$p.value)
# With ties and other numbers of groups, one of them is empty and the statistic NaN.
for (g in c(5, 8, 10, 20)) {
  values("ResourceSelection", if (g %in% c(5, 10)) ALL else setdiff(ALL, "ties"), sprintf("statistic_of(hoslem.test(y, risk, g = %d))", g))
}
for (g in c(5, 10)) {
  values("generalhoslem", ALL, sprintf("statistic_of(logitgof(y, risk, g = %d))", g))
}
for (g in c(4, 6, 9, 12)) values("generalhoslem", "pbc", sprintf("statistic_of(logitgof(stage, cbind(p1, p2, p3, p4), g = %d))", g))
# The groups of Hmisc's cut2, and the statistic that they give.
grouped <- function(y, risk, group) {
  n <- tapply(y, group, length); o <- tapply(y, group, sum); e <- tapply(risk, group, sum)
  sum((o - e)^2 / (e * (1 - e / n)))
}
values("Hmisc", ALL, c("Hmisc::cut2(risk, g = 10, onlycuts = TRUE)", "grouped(y, risk, Hmisc::cut2(risk, g = 10))"))
write_out()
