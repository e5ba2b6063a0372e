# Sourced by every script of this folder. `values(package, sets, calls)` evaluates each call on each data set, whose columns are
# variables, and `write_out()` prints all of them as JSON, one entry per line. What stands in the file as "call" is what was run.
# Some functions draw; nothing is written.
pdf(NULL)
RNGkind("Mersenne-Twister", "Inversion", "Rejection")
ALL <- c("birthwt", "infert", "pima", "pbc", "rotterdam", "gbsg", "rare", "ties")
TIMES <- c("pbc", "rotterdam", "gbsg")
# Maximum likelihood to the last digits instead of 8 of the deviance.
tight <- glm.control(epsilon = 1e-14, maxit = 100)
# Folder of the unpacked sources of packages that are not installed.
SOURCES <- Sys.getenv("R_SOURCES", "sources")
entries <- list()

version_of <- function(package) {
  if (requireNamespace(package, quietly = TRUE)) return(as.character(packageVersion(package)))
  read.dcf(file.path(SOURCES, package, "DESCRIPTION"), "Version")[[1]]
}

# A package that is not installed: its R files alone.
source_package <- function(package) {
  for (file in list.files(file.path(SOURCES, package, "R"), "[.][rR]$", full.names = TRUE)) source(file)
}

values <- function(package, sets, calls) {
  version <- version_of(package)
  for (set in sets) {
    columns <- list2env(read.csv(file.path("data", paste0(set, ".csv"))), parent = globalenv())
    for (call in calls) {
      found <- suppressWarnings(eval(parse(text = call), columns))
      if (!is.list(found)) found <- as.numeric(found)
      if (!is.list(found) && any(!is.finite(found))) stop(set, ": ", call, " is not finite")
      entries[[length(entries) + 1]] <<- list(data = set, package = package, version = version, call = call, value = found)
    }
  }
}

write_out <- function() {
  lines <- vapply(entries, function(entry) as.character(jsonlite::toJSON(entry, auto_unbox = TRUE, digits = NA)), "")
  cat("[\n", paste0(" ", lines, collapse = ",\n"), "\n]\n", sep = "")
}
