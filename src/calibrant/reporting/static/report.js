// Moves the report's pictures: all numbers come from sums over 300 cells of equal width that the page holds.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("cells").textContent);
  const element = (id) => document.getElementById(id);
  const state = {
    lens: 0,
    group: 0,
    stop: data.stops.indexOf(data.bins),
    binning: data.binning,
    cut: Math.min(data.cells, Math.ceil(data.cells * (data.chosen === null ? 0 : data.chosen) - 1e-9)),
  };
  const drawn = {};
  const sure = `${Number((100 * data.level).toPrecision(6))}%`;

  // ---- numbers -------------------------------------------------------------------------------------------------------

  const sum = (values, from = 0, to = values.length) => {
    let total = 0;
    for (let k = from; k < to; k += 1) total += values[k];
    return total;
  };

  /** One bin: cells `from` up to `to`, with an interval of the rate where there are hard labels. */
  function binOf(cells, from, to, low, high, total) {
    const rows = sum(cells.n, from, to);
    const positives = sum(cells.p, from, to);
    const scores = sum(cells.s, from, to);
    const bin = { low, high, rows, total, share: rows / total, positives, excess: scores - positives };
    if (rows === 0) return { ...bin, says: null, happens: null, gap: null, lower: null, upper: null, side: null };
    bin.says = scores / rows;
    bin.happens = Math.min(1, Math.max(0, positives / rows));
    bin.gap = bin.excess / rows;
    bin.side = bin.gap > 0 ? data.words.high : data.words.low;
    const worth = cells.q ? (rows * rows) / sum(cells.q, from, to) : rows;
    return { ...bin, ...interval(bin.happens, worth) };
  }

  /** Clopper and Pearson's interval of a share of `n` rows, as in the tables. */
  function interval(share, n) {
    if (data.soft || !(n > 0)) return { lower: null, upper: null };
    const hits = share * n;
    const tail = (1 - data.level) / 2;
    return {
      lower: hits > 0 ? window.betaQuantile(tail, hits, n - hits + 1) : 0,
      upper: hits < n ? window.betaQuantile(1 - tail, hits + 1, n - hits) : 1,
    };
  }

  function equalWidth(cells, count) {
    const total = sum(cells.n);
    const step = data.cells / count;
    return Array.from({ length: count }, (_, k) => binOf(cells, k * step, (k + 1) * step, k / count, (k + 1) / count, total));
  }

  /** Each cell is one score, its mean; a cell with weight C before it goes to bin floor(count * C / total). */
  function equalMass(cells, count) {
    const total = sum(cells.n);
    const full = [];
    for (let k = 0; k < data.cells; k += 1) if (cells.n[k] > 0) full.push(k);
    const starts = [0];
    let before = 0;
    let number = 1;
    full.forEach((k, place) => {
      let reached = false;
      while (number < count && before >= least(number, count, total)) {
        number += 1;
        reached = true;
      }
      if (reached && place > 0) starts.push(place);
      before += cells.n[k];
    });
    const ends = [...starts.slice(1), full.length];
    let low = 0;
    return starts.map((start, place) => {
      const last = full[ends[place] - 1];
      const high = place === starts.length - 1 ? 1 : cells.s[last] / cells.n[last];
      const bin = binOf(cells, full[start], last + 1, low, high, total);
      low = high;
      return bin;
    });
  }

  /** The least weight before a cell of bin `number`; sums of importance weights get some slack for rounding. */
  function least(number, count, total) {
    if (data.weights === "importance") return (number - 1e-9 * count) * (total / count);
    const rest = (number * total) % count;
    return (number * total - rest) / count + (rest > 0 ? 1 : 0);
  }

  const tableOf = (cells, binning, count) => (binning === "equal_mass" ? equalMass : equalWidth)(cells, count);

  const eceOf = (bins) => bins.reduce((total, bin) => total + Math.abs(bin.excess), 0) / sum(bins.map((bin) => bin.rows));

  /** What is answered when every row at least as sure as k/300 is. */
  function answeredFrom(cells, k) {
    const on = k === 0 ? undefined : (cells.e || []).find((entry) => entry[0] === k);
    const rows = sum(cells.n, k) + (on ? on[1] : 0);
    const right = sum(cells.p, k) + (on ? on[2] : 0);
    const share = rows > 0 ? Math.min(1, right / rows) : null;
    // Squares of weights are not kept for rows on an edge; those of the cells above are close enough for a band.
    const worth = cells.q ? (rows * rows) / Math.max(sum(cells.q, Math.max(0, k - (on ? 1 : 0))), 1e-300) : rows;
    const band = rows > 0 ? interval(share, worth) : { lower: null, upper: null };
    return { threshold: k / data.cells, rows, right, accuracy: share, coverage: rows / sum(cells.n), ...band };
  }

  // ---- words ---------------------------------------------------------------------------------------------------------

  /** Four significant digits, as everywhere in the report. */
  function number(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    const size = Math.abs(value);
    if (size < 1e-12) return "0"; // what rounding leaves
    if (size < 1e-4 || size >= 1e5) return value.toExponential(3);
    return value.toFixed(Math.min(7, Math.max(0, 3 - Math.floor(Math.log10(size)))));
  }
  // More digits where one would make a share near 0 or 1 seem to be just that, as everywhere else on the page.
  const percent = (value) => {
    if (value === null) return "-";
    const rest = 100 * Math.min(value, 1 - value);
    return `${(100 * value).toFixed(rest > 1e-9 && rest < 1 ? 1 - Math.floor(Math.log10(rest)) : 1)}%`;
  };
  const amount = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  // Importance weights are known up to a factor only, so their sums are shown as shares.
  const rowsOf = (rows, total) => (data.weights === "importance" ? `${percent(rows / total)} of the weight` : amount(rows));
  const signed = (value) => (value === null ? "-" : `${value < -1e-12 ? "\u2212" : "+"}${Math.abs(value).toFixed(3)}`);
  const range = (low, high, write) => (low === null ? "" : `${write(low)} to ${write(high)}`);

  function question(series) {
    if (series.lens === "binary") return "Probability of the positive class";
    if (series.lens === "top_label") return "Confidence in the predicted class";
    return series.lens === "class" ? `Class ${series.name}` : series.name;
  }

  // ---- what is chosen ------------------------------------------------------------------------------------------------

  const series = () => (state.group > 0 ? data.groups[state.group - 1] : data.lenses[state.lens]);
  const bins = () => tableOf(series().cells, state.binning, data.stops[state.stop]);

  /** The cells that thresholds look at: by confidence in the predicted class, for all rows or the chosen group. */
  function sureness() {
    const chosen = state.group > 0 ? data.groups[state.group - 1] : data.lenses[0];
    return chosen.sureness || (chosen.lens === "top_label" ? chosen.cells : null);
  }

  const rowsChosen = () => (state.group > 0 ? data.groups[state.group - 1].name : "all rows");

  // ---- the page ------------------------------------------------------------------------------------------------------

  function write(id, text) {
    const place = element(id);
    if (place.textContent !== text) place.textContent = text;
  }

  function fillTable(found) {
    const rows = found.map((bin) => {
      const row = document.createElement("tr");
      const cells = [
        ["from", number(bin.low)],
        ["to", number(bin.high)],
        ["rows", rowsOf(bin.rows, bin.total)],
        ["says", number(bin.says)],
        ["happens", number(bin.happens)],
        ["gap", signed(bin.gap)],
        ["interval", range(bin.lower, bin.upper, number)],
      ];
      for (const [label, text] of cells) {
        const cell = document.createElement("td");
        cell.className = "number";
        cell.dataset.label = label;
        cell.textContent = text;
        row.append(cell);
      }
      return row;
    });
    element("bin-rows").replaceChildren(...rows);
  }

  function showBins() {
    const found = bins();
    const count = data.stops[state.stop];
    const chosen = series();
    const total = sum(chosen.cells.n);
    const gap = (sum(chosen.cells.s) - sum(chosen.cells.p)) / total;
    const mass = state.binning === "equal_mass" ? " of equal mass" : "";
    write("said", `ece with ${count} ${count === 1 ? "bin" : "bins"}${mass}: ${number(eceOf(found))}`);
    const direction = gap > 0 ? "too high" : "too low";
    const whose = state.group > 0 ? chosen.name : data.lenses.length > 1 ? question(chosen) : "All rows";
    const size = data.weights === "importance" ? "" : `${amount(total)} rows; `;
    write("said-more", `${whose}: ${size}scores ${number(Math.abs(gap))} ${direction} on average.`);
    write("bins-shown", String(count));
    element("bins").setAttribute("aria-valuetext", `${count} bins`);
    fillTable(found);
    if (drawn.reliability) feed(drawn.reliability, { bins: found.filter((bin) => bin.rows > 0) });
    if (drawn.histogram) feed(drawn.histogram, { bins: found });
  }

  function showThreshold() {
    const cells = sureness();
    element("threshold-bench").hidden = cells === null;
    if (cells === null) return;
    const at = answeredFrom(cells, state.cut);
    write("cut-shown", at.threshold.toFixed(3));
    element("cut").setAttribute("aria-valuetext", `confidence ${at.threshold.toFixed(3)}`);
    write(
      "threshold-said",
      at.rows > 0 ? `${percent(at.accuracy)} right, ${percent(at.coverage)} answered` : "Nothing is answered",
    );
    const sureOf = at.lower === null ? "" : ` (${sure} interval ${range(at.lower, at.upper, percent)})`;
    const counted = data.weights === "importance" || data.soft ? percent(at.accuracy) : `${amount(at.right)} of ${amount(at.rows)}`;
    write("threshold-more", `From ${at.threshold.toFixed(3)} on, of ${rowsChosen()}: ${counted} answers are right${sureOf}.`);
    if (drawn.threshold) feed(drawn.threshold, { now: pointsAt(at) });
  }

  const pointsAt = (at) => [
    { threshold: at.threshold, what: data.words.coverage, value: at.coverage },
    ...(at.rows > 0 ? [{ threshold: at.threshold, what: data.words.accuracy, value: at.accuracy }] : []),
  ];

  function curve(cells) {
    const all = Array.from({ length: data.cells + 1 }, (_, k) => answeredFrom(cells, k));
    const answered = all.filter((at) => at.rows > 0);
    const lines = [
      ...all.map((at) => ({ threshold: at.threshold, what: data.words.coverage, value: at.coverage })),
      ...answered.map((at) => ({ threshold: at.threshold, what: data.words.accuracy, value: at.accuracy })),
    ];
    const band = data.soft ? [] : answered.map(({ threshold, lower, upper }) => ({ threshold, lower, upper }));
    const half = 0.5 / data.cells;
    const steps = all.map((at) => ({ ...at, from: Math.max(0, at.threshold - half), to: Math.min(1, at.threshold + half) }));
    return { lines, band, steps, now: pointsAt(all[state.cut]) };
  }

  function showCurve() {
    const cells = sureness();
    if (cells !== null && drawn.threshold) feed(drawn.threshold, curve(cells));
  }

  function feed(view, sources) {
    for (const [name, values] of Object.entries(sources)) view.data(name, values.map((value) => ({ ...value })));
    drawn.last = view.runAsync();
  }

  // ---- hovering ------------------------------------------------------------------------------------------------------

  function facts(datum) {
    if ("coverage" in datum) {
      return [
        ["from confidence", datum.threshold.toFixed(3)],
        ["answered", percent(datum.coverage)],
        ["right", percent(datum.accuracy)],
        [`${sure} interval`, range(datum.lower, datum.upper, percent)],
      ];
    }
    return [
      ["scores", range(datum.low, datum.high, number)],
      ["rows", rowsOf(datum.rows, datum.total)],
      ["says", number(datum.says)],
      ["happens", number(datum.happens)],
      [`${sure} interval`, range(datum.lower, datum.upper, number)],
      ["gap", signed(datum.gap)],
    ];
  }

  function tip(_, event, item, value) {
    const box = element("tip");
    if (value === null || value === undefined || !("rows" in value)) {
      box.hidden = true;
      return;
    }
    box.replaceChildren(
      ...facts(value)
        .filter(([, text]) => text !== "" && text !== "-")
        .map((pair) => {
          const line = document.createElement("div");
          line.append(
            ...pair.map((text) => {
              const part = document.createElement("span");
              part.textContent = text;
              return part;
            }),
          );
          return line;
        }),
    );
    box.hidden = false;
    const room = box.getBoundingClientRect();
    const left = event.clientX + 16 + room.width > window.innerWidth ? event.clientX - 16 - room.width : event.clientX + 16;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, Math.min(event.clientY + 12, window.innerHeight - room.height - 4))}px`;
  }

  // ---- beginning -----------------------------------------------------------------------------------------------------

  const nothingFromOutside = {
    load: () => Promise.reject(new Error("this page loads nothing")),
    sanitize: () => Promise.reject(new Error("this page loads nothing")),
    http: () => Promise.reject(new Error("this page loads nothing")),
    file: () => Promise.reject(new Error("this page loads nothing")),
  };

  async function draw(name, id, sources) {
    // Expressions are interpreted, not compiled, so that the page needs no permission to make code from text.
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: tip, loader: nothingFromOutside };
    const spec = data.specs[name];
    // A scale over no rows at all has no ends, so the picture begins with its data.
    for (const part of [spec, ...(spec.layer || [])]) {
      if (part.data && part.data.name in sources) part.data.values = sources[part.data.name];
    }
    const result = await window.vegaEmbed(element(id), spec, options);
    drawn[name] = result.view;
  }

  function choose(id, texts, chosen) {
    element(id).replaceChildren(
      ...texts.map((text, place) => {
        const option = document.createElement("option");
        option.value = String(place);
        option.textContent = text;
        return option;
      }),
    );
    element(id).value = String(chosen);
    element(`${id}-control`).hidden = texts.length < 2;
  }

  function listen() {
    element("bins").addEventListener("input", (event) => {
      state.stop = Number(event.target.value);
      showBins();
    });
    for (const button of document.querySelectorAll('input[name="binning"]')) {
      button.addEventListener("change", (event) => {
        state.binning = event.target.value;
        showBins();
      });
    }
    // Groups are kept for the first question only, so choosing one choice resets the other.
    element("lens").addEventListener("change", (event) => {
      state.lens = Number(event.target.value);
      state.group = 0;
      element("group").value = "0";
      showAll();
    });
    element("group").addEventListener("change", (event) => {
      state.group = Number(event.target.value);
      state.lens = 0;
      element("lens").value = "0";
      showAll();
    });
    element("cut").addEventListener("input", (event) => {
      state.cut = Number(event.target.value);
      showThreshold();
    });
    for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
    printWhole();
  }

  /** On paper nothing can be opened, so all is open there. */
  function printWhole() {
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const part of closed) part.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const part of closed) part.open = false;
    });
  }

  function showAll() {
    showBins();
    showThreshold();
    showCurve();
  }

  async function begin() {
    element("bins").max = String(data.stops.length - 1);
    element("bins").value = String(state.stop);
    element("cut").max = String(data.cells);
    element("cut").value = String(state.cut);
    for (const button of document.querySelectorAll('input[name="binning"]')) button.checked = button.value === state.binning;
    choose("lens", data.lenses.map(question), 0);
    choose("group", ["All rows", ...data.groups.map((group) => group.name)], 0);
    for (const part of document.querySelectorAll(".live")) part.hidden = false;
    listen();
    showAll();
    const found = bins();
    const cells = sureness();
    await Promise.all([
      draw("reliability", "reliability", { bins: found.filter((bin) => bin.rows > 0) }),
      draw("histogram", "histogram", { bins: found }),
      ...(cells === null ? [] : [draw("threshold", "threshold-chart", curve(cells))]),
    ]);
    for (const part of document.querySelectorAll(".still")) part.hidden = true;
    showAll();
    await drawn.last;
  }

  window.calibrantReport = { data, state, drawn, bins, tableOf, eceOf, answeredFrom, sureness, ready: begin() };
})();
