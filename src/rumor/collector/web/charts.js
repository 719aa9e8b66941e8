/** The charts: Vega-Lite specifications in the page's colours, drawn without eval. */

const ROWS = 20;
const STEP = 30;

let loading = null;

/** Vega's script, loaded when the first chart is drawn. */
function vega() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/vega.js";
    script.onload = resolve;
    script.onerror = () => reject(new Error("the charts' script cannot be loaded"));
    document.head.append(script);
  });
  return loading;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function config() {
  const [ink, soft, line] = [colour("--ink"), colour("--soft"), colour("--line")];
  const font = getComputedStyle(document.body).fontFamily;
  return {
    font,
    aria: false,
    background: null,
    view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 8,
    },
    axisY: { domain: false, ticks: false, grid: false, labelPadding: 8, labelFontSize: 13, labelColor: ink },
  };
}

/**
 * Draw a specification in an element, after whatever is being drawn there. The new picture takes
 * the old one's place only when it is whole; an element that is gone meanwhile gets none.
 * @param {HTMLElement} element
 * @param {object} spec
 */
export function draw(element, spec) {
  element.turn = (element.turn ?? vega()).then(() => element.isConnected && drawn(element, spec));
  return element.turn;
}

async function drawn(element, spec) {
  const canvas = document.createElement("div");
  canvas.className = "drawing";
  canvas.setAttribute("aria-hidden", "true"); // the element around it says what it shows
  element.append(canvas);
  const made = await window.vegaEmbed(canvas, { ...spec, config: config() }, {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
    tooltip: { disableDefaultStyle: true, theme: "custom" },
  });
  for (const old of [...element.children]) if (old !== canvas) old.remove();
  element.finish?.();
  element.finish = () => made.finalize();
}

// Texts that turn others around, and names that every object has: a chart keeps its values by name.
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const named = (value) => {
  const text = String(value).replace(TURNS, "");
  return text in {} ? `\u2060${text}` : text;
};

const whole = { width: "container", autosize: { type: "fit-x", contains: "padding", resize: true } };

function rowsOf(estimates, quantity) {
  const prefix = quantity === "mean" ? "mean_" : "";
  return estimates
    .slice(0, ROWS)
    .map((row) => ({ value: named(row.value), answer: row[quantity], low: row[`${prefix}low`], high: row[`${prefix}high`] }));
}

const byValue = (rows) => ({
  field: "value", type: "nominal", sort: rows.map((row) => row.value), title: null,
  axis: { labelLimit: Math.min(220, Math.max(90, window.innerWidth / 3.2)) },
});

const tooltip = (format, title) => [
  { field: "value", title: "answer" },
  { field: "answer", type: "quantitative", format, title },
  { field: "low", type: "quantitative", format, title: "from" },
  { field: "high", type: "quantitative", format, title: "to" },
];

/** Shares as bars, each with its interval. */
export function shares(estimates) {
  const rows = rowsOf(estimates, "frequency");
  const x = (field) => ({ field, type: "quantitative", axis: { format: "%", tickCount: 5 }, title: "share of people" });
  return {
    ...whole,
    height: STEP * rows.length,
    data: { values: rows },
    encoding: { y: byValue(rows), tooltip: tooltip(".2%", "share") },
    layer: [
      { mark: { type: "bar", color: colour("--bar"), height: { band: 0.62 }, cornerRadiusEnd: 3 }, encoding: { x: x("answer") } },
      { mark: { type: "rule", color: colour("--accent"), strokeWidth: 2 }, encoding: { x: x("low"), x2: { field: "high" } } },
      { mark: { type: "tick", color: colour("--accent"), thickness: 2, size: 10 }, encoding: { x: x("low") } },
      { mark: { type: "tick", color: colour("--accent"), thickness: 2, size: 10 }, encoding: { x: x("high") } },
    ],
  };
}

/** Means as points on the whole range, each with its interval. */
export function means(estimates, range, title) {
  const rows = rowsOf(estimates.map((row) => ({ frequency: 0, mean_low: row.low, mean_high: row.high, ...row })), "mean");
  const x = (field) => ({ field, type: "quantitative", scale: { domain: range, nice: false }, axis: { tickCount: 6, grid: true }, title });
  return {
    ...whole,
    height: STEP * rows.length,
    data: { values: rows },
    encoding: { y: rows.length > 1 ? byValue(rows) : { ...byValue(rows), axis: null }, tooltip: tooltip(".4~g", "mean") },
    layer: [
      { mark: { type: "rule", color: colour("--accent"), strokeWidth: 2 }, encoding: { x: x("low"), x2: { field: "high" } } },
      { mark: { type: "point", color: colour("--accent"), filled: true, size: 70, opacity: 1 }, encoding: { x: x("answer") } },
    ],
  };
}

/** Tables of two answers as heat maps, one below the other: each cell with its share, and its interval at hand. */
export function tables(found) {
  const maps = found.map(({ parts: [first, second], cells }) => {
    const order = (key) => [...new Set(cells.map((cell) => cell[key]))];
    const most = Math.max(...cells.map((cell) => cell.frequency));
    const dark = { test: `datum.frequency > ${0.6 * most}`, value: colour("--paper") || "white" };
    return {
      height: 44 * order("row").length,
      data: { values: cells },
      encoding: {
        x: { field: "column", type: "nominal", sort: order("column"), title: second, axis: { orient: "top", labelAngle: 0, domain: false, ticks: false, grid: false } },
        y: { field: "row", type: "nominal", sort: order("row"), title: first },
        tooltip: [
          { field: "row", title: first }, { field: "column", title: second },
          ...[["frequency", "share"], ["low", "from"], ["high", "to"]].map(([field, title]) => ({ field, type: "quantitative", format: ".2%", title })),
          { field: "ratio", type: "quantitative", format: ".2f", title: "times independence" },
        ],
      },
      layer: [
        { mark: { type: "rect", stroke: colour("--line") }, encoding: { color: { field: "frequency", type: "quantitative", legend: null, scale: { domainMin: 0, interpolate: "rgb", range: [colour("--card") || "white", colour("--accent")] } } } },
        { mark: { type: "text", fontSize: 13, fontWeight: 600 }, encoding: { text: { field: "frequency", type: "quantitative", format: ".1%" }, color: { condition: dark, value: colour("--ink") } } },
      ],
    };
  });
  return maps.length === 1 ? { ...whole, ...maps[0] } : { vconcat: maps.map((map) => ({ width: 360, ...map })) };
}

/** How values moved: a smoothed line each, with its band; days past retention stand at the first of several. */
export function moved(given, isShare) {
  const rows = given.map((row) => ({ ...row, first: row.period.slice(0, 10) }));
  const axis = { tickCount: 5, grid: true, ...(isShare ? { format: "%" } : {}) };
  const number = (field, title) => ({ field, type: "quantitative", format: isShare ? ".2%" : ".4~g", title });
  const color = { field: "value", type: "nominal", title: null, sort: null, legend: { orient: "top", labelColor: colour("--ink"), columns: 3 } };
  const y = (field) => ({ field, type: "quantitative", title: null, axis, scale: { zero: false } });
  return {
    ...whole,
    height: 240,
    data: { values: rows },
    encoding: {
      x: { field: "first", type: "temporal", timeUnit: "utcyearmonthdate", title: null, axis: { format: "%-d %b", tickCount: 5, grid: false, labelOverlap: true } },
      color,
      tooltip: [{ field: "period", type: "nominal" }, { field: "value", type: "nominal" }, number("line", "line"), number("low", "from"), number("high", "to")],
    },
    layer: [
      { mark: { type: "area", opacity: 0.15 }, encoding: { y: y("low"), y2: { field: "high" } } },
      { mark: { type: "line", strokeWidth: 2 }, encoding: { y: y("line") } },
    ],
  };
}

/** Differences as points around zero, each with its interval. */
export function differences(estimates) {
  const isShare = ["share", "up to"].includes(estimates[0].quantity);
  const rows = estimates.filter(({ quantity }) => quantity === estimates[0].quantity).slice(0, ROWS)
    .map((row) => ({ value: named(row.value), answer: row.difference, low: row.low, high: row.high }));
  const x = (field) => ({ field, type: "quantitative", axis: { tickCount: 5, grid: true, ...(isShare ? { format: "+%" } : {}) }, title: "second less first" });
  return {
    ...whole,
    height: STEP * rows.length,
    data: { values: rows },
    encoding: { y: byValue(rows), tooltip: tooltip(isShare ? "+.2%" : "+.4~g", "difference") },
    layer: [
      { mark: { type: "rule", color: colour("--soft"), strokeDash: [3, 3] }, encoding: { x: { datum: 0 }, y: null } },
      { mark: { type: "rule", color: colour("--accent"), strokeWidth: 2 }, encoding: { x: x("low"), x2: { field: "high" } } },
      { mark: { type: "point", color: colour("--accent"), filled: true, size: 70, opacity: 1 }, encoding: { x: x("answer") } },
    ],
  };
}

/** Reports of each day; of days past retention, several together. */
export function days(given) {
  const rows = given.map((row) => ({ ...row, days: row.last === row.day ? row.day : `${row.day}..${row.last}` }));
  return {
    ...whole,
    height: 130,
    data: { values: rows },
    mark: { type: "bar", color: colour("--bar"), cornerRadiusEnd: 2, width: { band: 0.8 } },
    encoding: {
      x: { field: "day", type: "temporal", timeUnit: "utcyearmonthdate", title: null, axis: { format: "%-d %b", tickCount: 5, grid: false, labelOverlap: true } },
      y: { field: "reports", type: "quantitative", title: null, axis: { tickCount: 3, grid: true, labelFontSize: 12, labelColor: colour("--soft") } },
      tooltip: [{ field: "days", type: "nominal" }, { field: "reports", type: "quantitative", format: "," }],
    },
  };
}
