// Charts of the report, drawn from curves that the page contains.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const element = (id) => document.getElementById(id);
  const DIAGRAMS = ["isotonic", "bins", "smooth", "cumulative"];
  const ROUND_ENDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8];
  const state = {
    lens: 0,
    group: data.focus,
    on: new Set(data.sides.flatMap((side, place) => (side.on ? [place] : []))),
    diagram: data.diagram,
    logit: data.logit,
  };
  const drawn = {};

  // ---- text ----------------------------------------------------------------------------------------------------------

  /** Four significant digits, as everywhere in the report. */
  function number(value, digits = 4) {
    if (value == null || Number.isNaN(value)) return "-";
    const size = Math.abs(value);
    if (size < 1e-12) return "0"; // a rounding error
    if (size < 1e-4 || size >= 1e5) return value.toExponential(digits - 1);
    return value.toFixed(Math.min(7, Math.max(0, digits - 1 - Math.floor(Math.log10(size)))));
  }
  // More digits near 0 and 1, as everywhere else on the page.
  const percent = (value) => {
    const rest = 100 * Math.min(value, 1 - value);
    return `${(100 * value).toFixed(rest > 1e-9 && rest < 1 ? 1 - Math.floor(Math.log10(rest)) : 1)}%`;
  };
  const amount = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const signed = (value) => `${value < -1e-12 ? "\u2212" : "+"}${Math.abs(value).toFixed(3)}`;

  /** A lens as text: the named event, or the top label. */
  function lensText(series) {
    if (series.lens === "binary") return data.outcome ? `P(${data.outcome})` : "Positive class";
    if (series.lens === "top_label") return "Top label";
    return series.lens === "class" ? `P(${series.name})` : series.name;
  }

  // ---- selection -----------------------------------------------------------------------------------------------------

  const series = (place = state.group) => data.sides[place].series[state.lens];

  /** The sides that are drawn: those switched on, and the one whose numbers are shown; groups have no other lens than the first. */
  const shownSides = (name) =>
    data.sides.flatMap((_, place) => (series(place) && series(place).charts[name] && (state.on.has(place) || place === state.group) ? [place] : []));

  const onLogits = (name) => state.logit && DIAGRAMS.includes(name) && name !== "cumulative";

  /** Base-10 logit. */
  const logit = (share) => {
    const inner = Math.min(1 - 1e-6, Math.max(1e-6, share));
    return Math.log10(inner / (1 - inner));
  };

  const looks = (place) => {
    const { colour, dash, shape } = data.sides[place];
    return { place, colour: `var(--c${colour})`, dash: dash.split(" ").map(Number), shape };
  };

  // ---- data of the charts --------------------------------------------------------------------------------------------

  /** Curves and points of the sides, and what they are drawn against; bands are those of the selected side. */
  function chartData(name) {
    const places = shownSides(name);
    const floor = onLogits(name) ? leastLogit(places.map((place) => series(place).charts[name])) : 0;
    const put = onLogits(name) ? (value) => Math.max(floor, logit(value)) : (value) => value;
    const found = { reference: [], band: [], lines: [], spans: [], points: [] };
    for (const place of places) {
      const columns = series(place).charts[name];
      const rows = columns.x.map((_, k) => {
        const row = { ...looks(place), number: k, opacity: name === "bins" || name === "plane" ? 1 : 0, tip: facts(name, place, k) };
        for (const key of ["x", "y", "low", "high"]) if (columns[key]) row[key] = columns[key][k] === null ? null : put(columns[key][k]);
        return row;
      });
      found.points.push(...rows);
      if (name !== "plane" && (name !== "bins" || places.length > 1)) found.lines.push(...rows);
      if (columns.low && place === state.group) found[name === "bins" ? "spans" : "band"].push(...rows);
    }
    found.reference = references(titles(name).reference, places.map((place) => series(place).charts[name]), put);
    return found;
  }

  /** Where logit axes begin: at half of the smallest score, so that an observed rate of 0 lies at their edge. */
  const leastLogit = (charts) => logit(Math.min(1, ...charts.flatMap((columns) => columns.x).filter((value) => value)) / 2);

  /** The lines that a chart is read against. */
  function references(kind, charts, put) {
    if (charts.length === 0) return [];
    if (kind === "isolines") return data.lenses[state.lens].isolines;
    if (kind === "diagonal") {
      const values = charts.flatMap((columns) => ["x", "y", "high"].flatMap((key) => columns[key] || [])).filter((value) => value);
      const end = ROUND_ENDS.find((each) => Math.max(...values) <= each) || 1;
      return [0, end].map((at) => ({ x: put(at), y: put(at), what: "" }));
    }
    const [{ x, reference = [] }] = charts;
    const floor = Math.min(...charts.flatMap((columns) => columns.y));
    const ends = kind === "zero" ? [0, Math.max(...x)] : [];
    return [
      ...ends.map((at) => ({ x: at, y: 0, what: "" })),
      ...reference.flatMap((y, k) => (y >= floor ? [{ x: x[k], y, what: "all" }] : [])),
    ];
  }

  /** The distribution of the scores: bars with the event above and without it below, or the outlines of several sides. */
  function scoreData() {
    const name = onLogits(state.diagram) ? "logits" : "scores";
    const places = shownSides(state.diagram);
    const ends = state.diagram === "cumulative" ? [0, 1].map((x) => ({ x })) : chartData(state.diagram).reference;
    const found = { bars: [], steps: [], ends: ends.map(({ x }) => ({ x, share: 0 })) };
    for (const place of places) {
      const { left, right, events, others } = series(place).charts[name];
      if (places.length === 1) {
        for (const [shares, sign, colour] of [[events, 1, "var(--under)"], [others, -1, "var(--soft)"]]) {
          found.bars.push(...shares.map((share, k) => ({ left: left[k], right: right[k], share: sign * share, colour, tip: barFacts(place, name, k) })));
        }
      } else {
        left.forEach((at, k) => {
          if (k > 0 && at > right[k - 1] + 1e-9) found.steps.push({ ...looks(place), x: right[k - 1], share: 0 });
          found.steps.push({ ...looks(place), x: at, share: events[k] + others[k] });
        });
        found.steps.push({ ...looks(place), x: right[right.length - 1], share: 0 });
      }
    }
    return found;
  }

  function facts(name, place, k) {
    const columns = series(place).charts[name];
    const { x, y } = titles(name);
    return [
      ...(data.sides.length > 1 ? [["", data.sides[place].name]] : []),
      ...(columns.left ? [["scores", `${number(columns.left[k])} to ${number(columns.right[k])}`]] : []),
      ...(columns.rows && !data.weighted ? [["rows", amount(columns.rows[k])]] : []),
      ...(columns.threshold ? [["confidence \u2265", number(columns.threshold[k])]] : []),
      [x, number(columns.x[k])],
      [y, number(columns.y[k])],
      ...(columns.low && columns.low[k] !== null ? [[`${data.level} interval`, `${number(columns.low[k])} to ${number(columns.high[k])}`]] : []),
      ...(columns.reference ? [["treat all", number(columns.reference[k])]] : []),
      ...(columns.brier ? [["Brier score", number(columns.brier[k])]] : []),
    ];
  }

  function barFacts(place, name, k) {
    const { left, right, events, others } = series(place).charts[name];
    const share = (at) => (name === "logits" ? 1 / (1 + 10 ** -at) : at);
    return [
      ["scores", `${number(share(left[k]))} to ${number(share(right[k]))}`],
      ["share of rows", percent(events[k] + others[k])],
      [titles("bins").y, percent(events[k] / (events[k] + others[k]))],
    ];
  }

  /** What is written beside a chart; its axes may name the mean score and the observed rate of the selected lens. */
  function titles(name) {
    const named = (text) => text.replace(/^\{(mean|rate)\}$/, (_, key) => data.lenses[state.lens][key]);
    const { x, y, ...others } = data.titles[name];
    return { ...others, x: named(x), y: named(y) };
  }

  // ---- the page ------------------------------------------------------------------------------------------------------

  function write(id, text) {
    const place = element(id);
    if (place.textContent !== text) place.textContent = text;
  }

  /** Copies of the data; a scale without any has no domain, so nothing is an invisible point. */
  function visible(sources) {
    const { x = 0, y = 0 } = Object.values(sources).flat().find((row) => "x" in row) || {};
    const nothing = { x, y, low: y, high: y, left: x, right: x, share: 0, place: -1, number: 0, colour: "transparent", dash: [1, 0], shape: "circle", opacity: 0, what: "" };
    return Object.entries(sources).map(([key, rows]) => [key, rows.length > 0 ? rows.map((row) => ({ ...row })) : [nothing]]);
  }

  async function feed(name, sources, signals) {
    const view = drawn[name];
    if (!view) return;
    for (const [key, value] of Object.entries(signals)) view.signal(key, value);
    for (const [key, rows] of visible(sources)) view.data(key, rows);
    drawn.last = view.runAsync();
    await drawn.last;
  }

  const signalsOf = (name) => ({ xTitle: titles(name).x, yTitle: titles(name).y, logit: onLogits(name) });

  function showDiagram() {
    const found = series();
    const side = data.sides[state.group].name;
    const whose = data.sides.length < 2 ? lensText(data.lenses[state.lens]) : `${side}, ${lensText(data.lenses[state.lens])}`;
    const rows = data.weighted ? "" : `${amount(found.rows)} rows; `;
    const known = state.group === data.focus && state.lens === 0; // the head of the page says it
    write("said", known ? "" : `${whose}: ${rows}difference of the means ${signed(found.mean_score - found.rate)}, ECE ${number(found.ece)}`);
    write("diagram-text", titles(state.diagram).text);
    element("logit").disabled = state.diagram === "cumulative";
    showLegend();
    feed("diagram", chartData(state.diagram), signalsOf(state.diagram));
    feed("scores", scoreData(), {});
  }

  /** The list of sides: which are on, and which have this lens. */
  function showLegend() {
    if (data.sides.length < 2) return;
    const places = new Set(shownSides(state.diagram));
    for (const [place, entry] of [...element("legend").children].entries()) {
      const box = entry.querySelector("input");
      box.disabled = series(place) === undefined;
      box.checked = places.has(place);
      entry.classList.toggle("off", !places.has(place));
    }
  }

  function showAll() {
    showDiagram();
    for (const part of document.querySelectorAll("details[data-chart]")) {
      part.hidden = shownSides(part.dataset.chart).length === 0;
      if (part.open) openChart(part);
    }
  }

  /** Draw a chart when its part is opened. */
  function openChart(part) {
    const name = part.dataset.chart;
    if (shownSides(name).length === 0) return undefined;
    return name in drawn ? feed(name, chartData(name), signalsOf(name)) : draw("lines", name, chartData(name), signalsOf(name));
  }

  // ---- hovering ------------------------------------------------------------------------------------------------------

  function tip(_, event, item, value) {
    const box = element("tip");
    if (!value || !("tip" in value)) {
      box.hidden = true;
      return;
    }
    box.replaceChildren(
      ...value.tip.map((pair) => {
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

  // ---- pictures ------------------------------------------------------------------------------------------------------

  /** Save a chart as SVG or, drawn on a canvas, as PNG, in the colours of the page. */
  async function savePicture(name, kind) {
    const style = getComputedStyle(document.documentElement);
    const text = (await drawn[name].toSVG()).replace(/var\((--\w+)\)/g, (_, key) => style.getPropertyValue(key).trim());
    let address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    if (kind === "png") {
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
      const paper = canvas.getContext("2d");
      paper.fillStyle = style.getPropertyValue("--paper");
      paper.fillRect(0, 0, canvas.width, canvas.height);
      paper.drawImage(image, 0, 0, canvas.width, canvas.height);
      address = canvas.toDataURL("image/png");
    }
    const link = document.createElement("a");
    link.href = address;
    link.download = `${name === "diagram" ? state.diagram : name}.${kind}`;
    link.click();
    return address;
  }

  // ---- start ---------------------------------------------------------------------------------------------------------

  const blocked = async () => {
    throw new Error("this page loads nothing");
  };
  const nothingFromOutside = { load: blocked, sanitize: blocked, http: blocked, file: blocked };

  async function draw(kind, id, sources, signals = {}) {
    drawn[id] = null; // is being drawn
    const spec = structuredClone(window.calibrantCharts[kind]);
    spec.description = element(id).getAttribute("aria-label"); // which Vega would remove
    const rows = Object.fromEntries(visible(sources));
    for (const source of spec.data) if (source.name in rows) source.values = rows[source.name];
    for (const signal of spec.signals) if (signal.name in signals) signal.value = signals[signal.name];
    // Expressions are interpreted, not compiled, so that the content security policy need not allow eval.
    const options = { ast: true, renderer: "svg", tooltip: tip, loader: nothingFromOutside };
    if (window.vegaEmbed) {
      const embedded = { ...options, mode: "vega", actions: false, defaultStyle: false };
      drawn[id] = (await window.vegaEmbed(element(id), spec, embedded)).view;
    } else {
      const more = { ...options, expr: window.expressionInterpreter, container: element(id) };
      drawn[id] = new window.vega.View(window.vega.parse(spec, {}, { ast: true }), more);
    }
    drawn.last = drawn[id].runAsync();
    await drawn.last;
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
    for (const button of document.querySelectorAll('input[name="kind"]')) {
      button.checked = button.value === state.diagram;
      button.addEventListener("change", (event) => {
        state.diagram = event.target.value;
        showDiagram();
      });
    }
    element("logit").checked = state.logit;
    element("logit").addEventListener("change", (event) => {
      state.logit = event.target.checked;
      showDiagram();
    });
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
    for (const part of document.querySelectorAll("details[data-chart]")) part.addEventListener("toggle", () => part.open && openChart(part));
    for (const button of document.querySelectorAll("button[data-picture]")) {
      button.addEventListener("click", () => savePicture(button.dataset.picture, button.dataset.kind));
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
        state.group = [...state.on].sort((one, other) => one - other).find((place) => series(place)) ?? data.focus;
        element("group").value = String(state.group);
      }
      showAll();
    };
    element("legend").addEventListener("change", (event) => {
      const place = Number(event.target.value);
      const shown = shownSides(state.diagram);
      change(event.target.checked ? [...shown, place] : shown.filter((other) => other !== place));
    });
    element("show-all").addEventListener("click", () => change(data.sides.keys()));
    element("show-one").addEventListener("click", () => change([state.group]));
  }

  /** Open all folded parts for printing, and draw their charts. */
  function printWhole() {
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const part of closed) {
        part.open = true;
        if (part.dataset.chart && !(part.dataset.chart in drawn)) openChart(part);
      }
    });
    window.addEventListener("afterprint", () => {
      for (const part of closed) part.open = false;
    });
  }

  async function begin() {
    choose("lens", data.lenses.map(lensText), 0);
    choose("group", data.sides.map((side) => side.name), state.group);
    for (const part of document.querySelectorAll(".live")) part.hidden = false;
    listen();
    await draw("lines", "diagram", chartData(state.diagram), signalsOf(state.diagram));
    await draw("scores", "scores", scoreData());
    for (const [place, { name, data: sources }] of data.features.entries()) await draw("feature", `feature-${place}`, sources, { xTitle: name });
    showAll();
    await drawn.last;
  }

  window.calibrantReport = { data, state, drawn, chartData, scoreData, openChart, savePicture, ready: begin() };
})();
