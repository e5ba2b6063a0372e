// Interactive charts of the report, computed from sums over cells of equal width.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("cells").textContent);
  const element = (id) => document.getElementById(id);
  const state = {
    lens: 0,
    group: data.focus,
    on: new Set(data.sides.flatMap((side, place) => (side.on ? [place] : []))),
    stop: data.stops.indexOf(data.bins),
    binning: data.binning,
    cut: Math.min(data.cells, Math.ceil(data.cells * (data.chosen === null ? 0 : data.chosen) - 1e-9)),
  };
  // Charts whose data are computed here; the others have theirs.
  const OWN = ["reliability", "histogram", "threshold"];
  // Categories as the charts name them.
  const NAMES = {
    above: "predicted > observed",
    below: "predicted < observed",
    accuracy: "accuracy of the answers",
    coverage: "coverage",
    rows: "rows",
    share: "share of rows",
  };
  const drawn = {};
  const sure = `${Number((100 * data.level).toPrecision(6))}%`;

  // ---- numbers -------------------------------------------------------------------------------------------------------

  const sum = (values, from = 0, to = values.length) => {
    let total = 0;
    for (let k = from; k < to; k += 1) total += values[k];
    return total;
  };

  /** One bin: cells `from` up to `to`, with an interval of the rate unless the labels are soft. */
  function binOf(cells, from, to, left, right, total) {
    const rows = sum(cells.n, from, to);
    const positives = sum(cells.p, from, to);
    const scores = sum(cells.s, from, to);
    const bin = { left, right, rows, total, share: rows / total, positives, excess: scores - positives, weighted: Boolean(cells.q) };
    if (rows === 0) return { ...bin, mean_score: null, rate: null, gap: null, low: null, high: null, side: null };
    bin.mean_score = scores / rows;
    bin.rate = Math.min(1, Math.max(0, positives / rows));
    bin.gap = bin.excess / rows;
    bin.side = bin.gap > 0 ? NAMES.above : NAMES.below;
    const worth = cells.q ? (rows * rows) / sum(cells.q, from, to) : rows;
    return { ...bin, ...interval(bin.rate, worth) };
  }

  /** Clopper-Pearson interval of a share of `n` rows, as in the tables. */
  function interval(share, n) {
    if (data.soft || !(n > 0)) return { low: null, high: null };
    const hits = share * n;
    const tail = (1 - data.level) / 2;
    return {
      low: hits > 0 ? window.betaQuantile(tail, hits, n - hits + 1) : 0,
      high: hits < n ? window.betaQuantile(1 - tail, hits + 1, n - hits) : 1,
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
      while (number < count && before >= least(number, count, total, Boolean(cells.q))) {
        number += 1;
        reached = true;
      }
      if (reached && place > 0) starts.push(place);
      before += cells.n[k];
    });
    const ends = [...starts.slice(1), full.length];
    let left = 0;
    return starts.map((start, place) => {
      const last = full[ends[place] - 1];
      const right = place === starts.length - 1 ? 1 : cells.s[last] / cells.n[last];
      const bin = binOf(cells, full[start], last + 1, left, right, total);
      left = right;
      return bin;
    });
  }

  /** The least weight before a cell of bin `number`; sums of importance weights get some slack for rounding. */
  function least(number, count, total, weighted) {
    if (weighted) return (number - 1e-9 * count) * (total / count);
    const rest = (number * total) % count;
    return (number * total - rest) / count + (rest > 0 ? 1 : 0);
  }

  const tableOf = (cells, binning, count) => (binning === "equal_mass" ? equalMass : equalWidth)(cells, count);

  const eceOf = (bins) => bins.reduce((total, bin) => total + Math.abs(bin.excess), 0) / sum(bins.map((bin) => bin.rows));

  /** Coverage and accuracy where rows with a confidence of at least k/300 are answered. */
  function answeredFrom(cells, k) {
    const on = k === 0 ? undefined : (cells.e || []).find((entry) => entry[0] === k);
    const rows = sum(cells.n, k) + (on ? on[1] : 0);
    const right = sum(cells.p, k) + (on ? on[2] : 0);
    const share = rows > 0 ? Math.min(1, right / rows) : null;
    // Squared weights are not stored for rows on an edge; those of the cells above approximate them.
    const worth = cells.q ? (rows * rows) / Math.max(sum(cells.q, Math.max(0, k - (on ? 1 : 0))), 1e-300) : rows;
    const band = rows > 0 ? interval(share, worth) : { low: null, high: null };
    return { threshold: k / data.cells, rows, right, accuracy: share, coverage: rows / sum(cells.n), ...band };
  }

  // ---- text ----------------------------------------------------------------------------------------------------------

  /** Four significant digits, as everywhere in the report. */
  function number(value, digits = 4) {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    const size = Math.abs(value);
    if (size < 1e-12) return "0"; // a rounding error
    if (size < 1e-4 || size >= 1e5) return value.toExponential(digits - 1);
    return value.toFixed(Math.min(7, Math.max(0, digits - 1 - Math.floor(Math.log10(size)))));
  }
  // More digits near 0 and 1, as everywhere else on the page.
  const percent = (value) => {
    if (value === null) return "-";
    const rest = 100 * Math.min(value, 1 - value);
    return `${(100 * value).toFixed(rest > 1e-9 && rest < 1 ? 1 - Math.floor(Math.log10(rest)) : 1)}%`;
  };
  const amount = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  // Importance weights are relative, so their sums are shown as shares.
  const rowsOf = (bin) => (bin.weighted ? `${percent(bin.rows / bin.total)} of the weight` : amount(bin.rows));
  const signed = (value) => (value === null ? "-" : `${value < -1e-12 ? "\u2212" : "+"}${Math.abs(value).toFixed(3)}`);
  const points = (value) => (value === null ? "-" : `${value > 1e-12 ? "+" : ""}${number(100 * value, 3)}`);
  const range = (low, high, write) => (low === null ? "" : `${write(low)} to ${write(high)}`);

  /** A lens as text: the named event, or the top label. */
  function lensText(series) {
    if (series.lens === "binary") return data.outcome ? `P(${data.outcome})` : "Positive class";
    if (series.lens === "top_label") return "Top label";
    return series.lens === "class" ? `P(${series.name})` : series.name;
  }

  const lens = () => data.lenses[state.lens];
  const meanName = () => (lens().lens === "top_label" ? "mean confidence" : "mean predicted probability");
  const rateName = () => (lens().lens === "top_label" ? "accuracy" : "observed rate");

  // ---- selection -----------------------------------------------------------------------------------------------------

  const series = () => data.sides[state.group].series[state.lens];
  const bins = () => tableOf(series().cells, state.binning, data.stops[state.stop]);

  /** The sides in the diagram: those switched on, and the one whose numbers are shown; groups have no other lens than the first. */
  const shownSides = () =>
    data.sides.flatMap((side, place) => (side.series[state.lens] && (state.on.has(place) || place === state.group) ? [place] : []));

  /** The cells for thresholds: by confidence of the top label, for the selected side; a page without them has none. */
  function sureness() {
    if (element("threshold-bench") === null) return null;
    const chosen = data.sides[state.group].series[0];
    return chosen.sureness || (data.lenses[0].lens === "top_label" ? chosen.cells : null);
  }

  const rowsChosen = () => (data.sides.length > 1 && data.sides[state.group].name !== "All rows" ? data.sides[state.group].name : "all rows");

  // ---- the page ------------------------------------------------------------------------------------------------------

  function write(id, text) {
    const place = element(id);
    if (place.textContent !== text) place.textContent = text;
  }

  function fillTable(found) {
    const body = element("bin-rows");
    const headings = [...body.parentElement.tHead.rows[0].cells];
    [headings[2].textContent, headings[3].textContent] = [meanName(), rateName()];
    const rows = found.map((bin) => {
      const row = document.createElement("tr");
      const cells = [
        range(bin.left, bin.right, number),
        rowsOf(bin),
        percent(bin.mean_score),
        percent(bin.rate),
        range(bin.low, bin.high, percent) || "-",
        points(bin.gap),
      ];
      for (const [place, text] of cells.entries()) {
        const cell = document.createElement("td");
        cell.className = "number";
        cell.dataset.label = headings[place].textContent;
        cell.textContent = text;
        row.append(cell);
      }
      return row;
    });
    body.replaceChildren(...rows);
  }

  function showBins() {
    const found = bins();
    const count = data.stops[state.stop];
    const chosen = series();
    const total = sum(chosen.cells.n);
    const gap = (sum(chosen.cells.s) - sum(chosen.cells.p)) / total;
    const mass = state.binning === "equal_mass" ? " of equal mass" : "";
    write("said", `ECE with ${count} ${count === 1 ? "bin" : "bins"}${mass}: ${number(eceOf(found))}`);
    const side = data.sides[state.group].name;
    const whose = data.lenses.length < 2 ? side : data.sides.length < 2 ? lensText(lens()) : `${side}, ${lensText(lens())}`;
    const size = chosen.cells.q ? "" : `${amount(total)} rows; `;
    const means = `${meanName()} ${percent(sum(chosen.cells.s) / total)}, ${rateName()} ${percent(sum(chosen.cells.p) / total)}`;
    write("said-more", `${whose}: ${size}${means}, difference ${signed(gap)}.`);
    write("bins-shown", String(count));
    element("bins").setAttribute("aria-valuetext", `${count} bins`);
    fillTable(found);
    if (data.sides.length > 1) {
      write("numbers-of", side);
      showLegend(count);
    }
    const { points, bars } = pictures(found);
    if (drawn.reliability) feed(entitled(drawn.reliability), points);
    if (drawn.histogram) {
      const { heightTitle, heightMax } = heights(bars);
      feed(drawn.histogram.signal("heightTitle", heightTitle).signal("heightMax", heightMax), bars);
    }
  }

  /** One side is drawn with its distances from the diagonal; several as lines over each other, with the intervals of few or of the selected one. */
  function pictures(found) {
    const places = shownSides();
    element("reliability").classList.toggle("overlaid", places.length > 1);
    if (places.length < 2) return { points: { bins: found.filter((bin) => bin.rows > 0), lines: [], spans: [] }, bars: { bins: found, steps: [] } };
    const tables = places.map((place) => [place, tableOf(data.sides[place].series[state.lens].cells, state.binning, data.stops[state.stop])]);
    const look = (place) => {
      const { colour, dash, shape } = data.sides[place];
      return { place, colour: `var(--c${colour})`, dash: dash.split(" ").map(Number), shape };
    };
    const lines = tables.flatMap(([place, table]) => table.filter((bin) => bin.rows > 0).map((bin) => ({ ...bin, ...look(place) })));
    const spans = lines.filter((bin) => bin.low !== null && (places.length <= 3 || bin.place === state.group));
    const steps = tables.flatMap(([place, table]) =>
      table.flatMap((bin, k) => [bin.left, ...(k === table.length - 1 ? [bin.right] : [])].map((at) => ({ at, share: bin.share, ...look(place) }))),
    );
    return { points: { bins: [], lines, spans }, bars: { bins: [], steps } };
  }

  /** The axis of the histogram: rows or, for several sides, shares. */
  const heights = ({ bins: found, steps }) =>
    steps.length > 0
      ? { heightTitle: NAMES.share, heightMax: Math.max(...steps.map((step) => step.share)) }
      : { heightTitle: NAMES.rows, heightMax: Math.max(...found.map((bin) => bin.rows)) };

  /** The list of sides: which are on, which have this lens, and the ECE of each. */
  function showLegend(count) {
    const places = new Set(shownSides());
    for (const [place, entry] of [...element("legend").children].entries()) {
      const own = data.sides[place].series[state.lens];
      const box = entry.querySelector("input");
      box.disabled = own === undefined;
      box.checked = places.has(place);
      entry.classList.toggle("off", !places.has(place));
      const text = own === undefined ? "" : `ECE ${number(eceOf(tableOf(own.cells, state.binning, count)))}`;
      entry.querySelector("output").textContent = text;
    }
  }

  function showThreshold() {
    const cells = sureness();
    if (element("threshold-bench") !== null) element("threshold-bench").hidden = cells === null;
    if (cells === null) return;
    const at = answeredFrom(cells, state.cut);
    write("cut-shown", at.threshold.toFixed(3));
    element("cut").setAttribute("aria-valuetext", `confidence ${at.threshold.toFixed(3)}`);
    write(
      "threshold-said",
      at.rows > 0 ? `Accuracy ${percent(at.accuracy)}, coverage ${percent(at.coverage)}` : "No row is answered",
    );
    const sureOf = at.low === null ? "" : ` (${sure} interval ${range(at.low, at.high, percent)})`;
    const counted = cells.q || data.soft ? percent(at.accuracy) : `${amount(at.right)} of ${amount(at.rows)}`;
    write("threshold-more", `Confidence \u2265 ${at.threshold.toFixed(3)}, ${rowsChosen()}: ${counted} answers correct${sureOf}.`);
    if (drawn.threshold) feed(drawn.threshold, { now: pointsAt(at) });
  }

  const pointsAt = (at) => [
    { threshold: at.threshold, what: NAMES.coverage, value: at.coverage },
    ...(at.rows > 0 ? [{ threshold: at.threshold, what: NAMES.accuracy, value: at.accuracy }] : []),
  ];

  function curve(cells) {
    const all = Array.from({ length: data.cells + 1 }, (_, k) => answeredFrom(cells, k));
    const answered = all.filter((at) => at.rows > 0);
    const lines = [
      ...all.map((at) => ({ threshold: at.threshold, what: NAMES.coverage, value: at.coverage })),
      ...answered.map((at) => ({ threshold: at.threshold, what: NAMES.accuracy, value: at.accuracy })),
    ];
    const band = data.soft ? [] : answered.map(({ threshold, low, high }) => ({ threshold, low, high }));
    const half = 0.5 / data.cells;
    const steps = all.map((at) => ({ ...at, from: Math.max(0, at.threshold - half), to: Math.min(1, at.threshold + half) }));
    return { lines, band, steps, now: pointsAt(all[state.cut]) };
  }

  function showCurve() {
    const cells = sureness();
    if (cells !== null && drawn.threshold) feed(drawn.threshold, curve(cells));
  }

  /** The axes of the diagram bear the names of the selected lens. */
  function entitled(view) {
    const [mean, rate] = data.titles[state.lens];
    return view.signal("meanTitle", mean).signal("rateTitle", rate);
  }

  function feed(view, sources) {
    for (const [name, values] of Object.entries(sources)) view.data(name, values.map((value) => ({ ...value })));
    drawn.last = view.runAsync();
  }

  // ---- hovering ------------------------------------------------------------------------------------------------------

  function facts(datum) {
    if ("tip" in datum) return datum.tip;
    if ("coverage" in datum) {
      return [
        ["confidence \u2265", datum.threshold.toFixed(3)],
        ["coverage", percent(datum.coverage)],
        ["accuracy", percent(datum.accuracy)],
        [`${sure} interval`, range(datum.low, datum.high, percent)],
      ];
    }
    return [
      ...("place" in datum ? [["", data.sides[datum.place].name]] : []),
      ["scores", range(datum.left, datum.right, number)],
      ["rows", rowsOf(datum)],
      [meanName(), number(datum.mean_score)],
      [rateName(), number(datum.rate)],
      [`${sure} interval`, range(datum.low, datum.high, number)],
      ["gap", signed(datum.gap)],
    ];
  }

  function tip(_, event, item, value) {
    const box = element("tip");
    if (value === null || value === undefined || !("rows" in value || "tip" in value)) {
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

  // ---- start ---------------------------------------------------------------------------------------------------------

  const blocked = async () => {
    throw new Error("this page loads nothing");
  };
  const nothingFromOutside = { load: blocked, sanitize: blocked, http: blocked, file: blocked };

  async function draw(name, id, sources, signals = {}) {
    // Expressions are interpreted, not compiled, so that the content security policy need not allow eval.
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: tip, loader: nothingFromOutside };
    const spec = data.charts[name];
    // A scale without data has no domain, so the chart starts with its data.
    for (const part of [spec, ...(spec.layer || [])]) {
      if (part.data && part.data.name in sources) part.data.values = sources[part.data.name];
    }
    for (const param of spec.params || []) if (param.name in signals) param.value = signals[param.name];
    const meta = spec.usermeta || {};
    if (meta.square || meta.narrow) {
      // The plot is a square: its width is that of the page less the axis, as far as there is room.
      spec.width = Math.min(420, element(id).clientWidth - 90);
      if (meta.square) spec.height = spec.width;
      spec.autosize = { type: "pad" };
    }
    // Two entries of a legend may be wider than a narrow chart.
    if (element(id).clientWidth < 480) {
      for (const { encoding = {} } of [spec, ...(spec.layer || [])]) if (encoding.color && encoding.color.legend) encoding.color.legend.columns = 1;
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
    // Groups are stored for the main lens only, so selecting one resets the other.
    element("lens").addEventListener("change", (event) => {
      state.lens = Number(event.target.value);
      if (!series()) state.group = data.focus;
      element("group").value = String(state.group);
      showAll();
    });
    element("group").addEventListener("change", (event) => {
      state.group = Number(event.target.value);
      if (!series()) state.lens = 0;
      element("lens").value = String(state.lens);
      showAll();
    });
    if (data.sides.length > 1) switchSides();
    if (element("cut") !== null) {
      element("cut").max = String(data.cells);
      element("cut").value = String(state.cut);
      element("cut").addEventListener("input", (event) => {
        state.cut = Number(event.target.value);
        showThreshold();
      });
    }
    for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
    // In the frame of a notebook, an address within the page would be resolved against that of the notebook.
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        element(link.hash.slice(1)).scrollIntoView();
      });
    }
    printWhole();
  }

  /** Switch sides on and off; the one whose numbers are shown gives way to the first that is left. */
  function switchSides() {
    const change = (places) => {
      state.on = new Set(places);
      if (state.on.size > 0 && !state.on.has(state.group)) {
        state.group = [...state.on].sort((one, other) => one - other).find((place) => data.sides[place].series[state.lens]) ?? data.focus;
        element("group").value = String(state.group);
      }
      showAll();
    };
    element("legend").addEventListener("change", (event) => {
      const place = Number(event.target.value);
      change(event.target.checked ? [...shownSides(), place] : shownSides().filter((other) => other !== place));
    });
    element("show-all").addEventListener("click", () => change(data.sides.keys()));
    element("show-one").addEventListener("click", () => change([state.group]));
  }

  /** Open all folded parts for printing. */
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
    for (const button of document.querySelectorAll('input[name="binning"]')) button.checked = button.value === state.binning;
    choose("lens", data.lenses.map(lensText), 0);
    choose("group", data.sides.map((side) => side.name), state.group);
    for (const part of document.querySelectorAll(".live")) part.hidden = false;
    listen();
    showAll();
    const found = bins();
    const cells = sureness();
    const { points, bars } = pictures(found);
    const charts = [
      draw("reliability", "reliability", points),
      draw("histogram", "histogram", bars, heights(bars)),
      ...(cells === null ? [] : [draw("threshold", "threshold-chart", curve(cells))]),
      ...Object.keys(data.charts).filter((name) => !OWN.includes(name)).map((name) => draw(name, name, {})),
    ];
    for (const chart of charts) await chart;
    showAll();
    await drawn.last;
  }

  window.calibrantReport = { data, state, drawn, bins, tableOf, eceOf, answeredFrom, sureness, ready: begin() };
})();
