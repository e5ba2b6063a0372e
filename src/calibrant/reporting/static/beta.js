// Quantiles of the beta distribution, for Clopper-Pearson intervals.
"use strict";
(() => {
  /** Logarithm of the gamma function above 1/2, by Lanczos's series. */
  function logGamma(x) {
    const terms = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
    const series = terms.reduce((total, term, place) => total + term / (x + place), 0.99999999999980993);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(x + 6.5) - (x + 6.5) + Math.log(series);
  }

  const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);

  /** Regularized incomplete beta function by its continued fraction, which converges fast on this side of the mean. */
  function betaBelow(x, a, b, scale) {
    if (x > (a + 1) / (a + b + 2)) return 1 - betaBelow(1 - x, b, a, scale);
    const away = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
    let d = 1 / away(1 - ((a + b) * x) / (a + 1));
    let c = 1;
    let found = d;
    for (let m = 1; m < 20000; m += 1) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      let last = 1;
      for (const step of [even, odd]) {
        d = 1 / away(1 + step * d);
        c = away(1 + step / c);
        last = c * d;
        found *= last;
      }
      if (Math.abs(last - 1) < 1e-16) break;
    }
    return (Math.exp(a * Math.log(x) + b * Math.log1p(-x) - scale) * found) / a;
  }

  /** Quantile of the beta distribution, by bracketed Newton steps. */
  function betaQuantile(share, a, b) {
    const scale = logBeta(a, b);
    let [low, high, x] = [0, 1, a / (a + b)];
    for (let round = 0; round < 100; round += 1) {
      const excess = betaBelow(x, a, b, scale) - share;
      if (excess > 0) high = x;
      else low = x;
      const slope = Math.exp((a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x) - scale);
      const step = x - excess / slope;
      const next = step > low && step < high ? step : (low + high) / 2;
      if (Math.abs(next - x) <= 1e-15 * x) return next;
      x = next;
    }
    return x;
  }

  window.betaQuantile = betaQuantile;
})();
