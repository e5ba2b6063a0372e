# The data sets of these tests, written to data/SET.csv. Run in this folder: Rscript make_data.R
# Each risk is the prediction of a model that was fitted on other rows, or one whose coefficients are wrong on purpose.
suppressMessages({library(MASS); library(survival); library(nnet)})
RNGkind("Mersenne-Twister", "Inversion", "Rejection")

save_set <- function(name, frame) {
  numbers <- vapply(frame, is.double, TRUE)
  frame[numbers] <- lapply(frame[numbers], function(column) formatC(column, digits = 10, format = "g", width = 1))
  write.csv(frame, file.path("data", paste0(name, ".csv")), row.names = FALSE, quote = FALSE, na = "")
  cat(name, nrow(frame), "rows,", sum(frame$y == "1" | frame$y == 1), "events\n")
}
risk_of <- function(model, rows) as.vector(predict(model, rows, type = "response"))

# birthwt: low birth weight. Eight covariates fitted on every third row: overfitted, the risks are too extreme.
rows <- birthwt
fitted_on <- seq_len(nrow(rows)) %% 3 == 0
large <- glm(low ~ age + lwt + factor(race) + smoke + ptl + ht + ui, binomial, rows[fitted_on, ])
small <- glm(low ~ lwt + smoke, binomial, rows[fitted_on, ])
rest <- rows[!fitted_on, ]
save_set("birthwt", data.frame(
  y = rest$low, risk = risk_of(large, rest), risk2 = risk_of(small, rest), centre = rest$race,
  x1 = rest$age, x2 = rest$lwt, x3 = rest$smoke, x4 = rest$ptl, x5 = rest$ht, x6 = rest$ui))

# infert: secondary infertility, a matched study: a third are cases. Fitted on the first 40 strata, then risks that
# are too low, as if the base rate had been that of a population.
fitted_on <- infert$stratum <= 40
large <- glm(case ~ age + parity + induced + spontaneous, binomial, infert[fitted_on, ])
small <- glm(case ~ spontaneous, binomial, infert[fitted_on, ])
rest <- infert[!fitted_on, ]
save_set("infert", data.frame(
  y = rest$case, risk = plogis(predict(large, rest) - 0.7), risk2 = risk_of(small, rest), centre = as.integer(pmin(rest$parity, 3)),
  x1 = rest$age, x2 = rest$parity, x3 = rest$induced, x4 = rest$spontaneous))

# pima: diabetes. Pima.tr for the model, Pima.te for the rows; risk2 is a probit model with coefficients halved.
large <- glm(type ~ npreg + glu + bp + skin + bmi + ped + age, binomial, Pima.tr)
probit <- glm(type ~ glu + bmi, binomial(link = "probit"), Pima.tr)
rest <- Pima.te
save_set("pima", data.frame(
  y = as.integer(rest$type == "Yes"), risk = risk_of(large, rest), risk2 = pnorm(predict(probit, rest) / 2),
  centre = as.integer(cut(rest$age, c(0, 23, 27, 33, 42, 99))),
  x1 = rest$npreg, x2 = rest$glu, x3 = rest$bp, x4 = rest$skin, x5 = rest$bmi, x6 = rest$ped, x7 = rest$age))

# Time to event: `risk` is the risk of the event within five years (1826 days) by a Cox model. `y` is 1 if the event was
# seen within five years, 0 otherwise, ALSO for rows that were censored before: enough to compare arithmetic with, no analysis.
horizon <- 1826
risk_by <- function(model, rows) {
  baseline <- basehaz(model, centered = FALSE)
  hazard <- max(0, baseline$hazard[baseline$time <= horizon])
  1 - exp(-hazard * exp(drop(as.matrix(model.matrix(delete.response(terms(model)), rows)[, -1, drop = FALSE]) %*% coef(model))))
}

# pbc: death. Fitted on the patients with D-penicillamine; the histologic stage (four classes) by a multinomial model.
rows <- subset(pbc, !is.na(stage) & !is.na(protime))
rows$died <- as.integer(rows$status == 2)
fitted_on <- !is.na(rows$trt) & rows$trt == 1
large <- coxph(Surv(time, died) ~ age + edema + log(bili) + albumin + log(protime), rows[fitted_on, ])
small <- coxph(Surv(time, died) ~ age + log(bili), rows[fitted_on, ])
stages <- multinom(stage ~ age + log(bili) + albumin + edema, rows[fitted_on, ], trace = FALSE)
rest <- rows[!fitted_on, ]
p <- predict(stages, rest, type = "probs")
save_set("pbc", data.frame(
  y = as.integer(rest$died == 1 & rest$time <= horizon), risk = risk_by(large, rest), risk2 = risk_by(small, rest),
  time = rest$time, event = rest$died,
  x1 = rest$age, x2 = rest$edema, x3 = rest$bili, x4 = rest$albumin, x5 = rest$protime,
  stage = rest$stage, p1 = p[, 1], p2 = p[, 2], p3 = p[, 3], p4 = p[, 4]))

# rotterdam: recurrence or death. Fitted on patients operated until 1987, validated on the first 1500 from 1988 on; centre is the year.
ready <- function(rows) transform(rows, n = log1p(nodes), high = as.integer(grade == 3), p = log1p(pgr), e = log1p(er))
rows <- ready(rotterdam)
rows$time <- pmin(rows$rtime, rows$dtime)
rows$event <- pmax(rows$recur, rows$death)
fitted_on <- rows$year <= 1987
large <- coxph(Surv(time, event) ~ age + size + high + n + p + e + hormon + chemo, rows[fitted_on, ])
small <- coxph(Surv(time, event) ~ n, rows[fitted_on, ])
external <- coxph(Surv(time, event) ~ age + meno + high + n + p + hormon, rows)
rest <- head(rows[!fitted_on, ], 1500)
save_set("rotterdam", data.frame(
  y = as.integer(rest$event == 1 & rest$time <= horizon), risk = risk_by(large, rest), risk2 = risk_by(small, rest),
  centre = rest$year, time = rest$time, event = rest$event,
  x1 = rest$age, x2 = as.integer(rest$size), x3 = rest$grade, x4 = rest$nodes, x5 = rest$pgr, x6 = rest$er, x7 = rest$hormon, x8 = rest$chemo))

# gbsg: recurrence or death in another country. The model of all Rotterdam patients, transported; centre is the grade.
rest <- ready(gbsg)
save_set("gbsg", data.frame(
  y = as.integer(rest$status == 1 & rest$rfstime <= horizon), risk = risk_by(external, rest), risk2 = risk_by(small, rest),
  centre = rest$grade, time = rest$rfstime, event = rest$status,
  x1 = rest$age, x2 = rest$meno, x3 = rest$size, x4 = rest$nodes, x5 = rest$pgr, x6 = rest$er, x7 = rest$hormon))

# rare: simulated, about 2% events in twelve centres that differ in size and in base rate; the risks are too extreme.
set.seed(20)
n <- 1500
centre <- sample(12, n, replace = TRUE, prob = 1:12)
x1 <- rnorm(n); x2 <- rnorm(n); x3 <- rbinom(n, 1, 0.3)
lp <- -5 + 1.2 * x1 + 0.5 * x2 + 0.8 * x3
shift <- rnorm(12, 0, 0.4)[centre]
y <- rbinom(n, 1, plogis(-4.5 + shift + 0.7 * (lp + 5)))
save_set("rare", data.frame(y = y, risk = plogis(lp), risk2 = plogis(-4.5 + x1), centre = centre, x1 = x1, x2 = x2, x3 = x3))

# ties: simulated, 12 distinct risks from 1e-6 to 1 - 1e-6; risk2 has exact 0 and 1 and 7 distinct values.
set.seed(21)
n <- 600
levels <- c(1e-6, 0.001, 0.02, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.99, 1 - 1e-6)
risk <- sample(levels, n, replace = TRUE, prob = c(1, 2, 3, 4, 5, 5, 4, 4, 3, 3, 2, 1))
levels2 <- c(0, 0.01, 0.1, 0.3, 0.6, 0.9, 1)
risk2 <- levels2[pmin(7, pmax(1, findInterval(risk + rnorm(n, 0, 0.1), c(-1, 0.005, 0.07, 0.2, 0.45, 0.7, 0.985))))]
y <- rbinom(n, 1, plogis(0.2 + 0.7 * pmin(6, pmax(-6, qlogis(risk)))))
save_set("ties", data.frame(y = y, risk = risk, risk2 = risk2, centre = sample(5, n, replace = TRUE),
  x1 = match(risk, levels), x2 = round(rnorm(n), 3)))
