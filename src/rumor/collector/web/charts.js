/** The charts: Vega-Lite specifications in the page's colours, drawn without eval. */

import { printable } from "./bars.js";

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
 * Draw a specification in an element, after whatever is being drawn there; `label` says what it shows. The new picture takes
 * the old one's place only when it is whole; an element that is gone meanwhile gets none. Rows of figures are put there as
 * they are: they are text.
 * @param {HTMLElement} element
 * @param {object} spec
 * @param {string} label
 */
export function draw(element, spec, label) {
  if (spec instanceof HTMLElement) return element.replaceChildren(spec);
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);
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

// Names that every object has: a chart keeps its values by name.
const named = (value) => {
  const text = printable(value);
  return text in {} ? `\u2060${text}` : text;
};

const whole = { width: "container", autosize: { type: "fit-x", contains: "padding", resize: true } };

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

// Colours of lines that light and dark pages bear, and that everyone can tell apart.
const LINES = ["#3b82c4", "#d9480f", "#2f9e44", "#8f5fc7", "#a68423", "#0b8a9c"];

/** How values moved: a smoothed line each, with its band; days past retention stand at the first of several. */
export function moved(given, isShare, width) {
  // A share is drawn within the axis; the numbers beside the pointer are as they are.
  const within = (number) => (isShare && number !== null ? Math.min(1, Math.max(0, number)) : number);
  const rows = given.map((row) => ({ ...row, value: named(row.value), first: row.period.slice(0, 10), at: within(row.line), from: within(row.low), to: within(row.high) }));
  const axis = { tickCount: 5, grid: true, ...(isShare ? { format: "%" } : {}) };
  const number = (field, title) => ({ field, type: "quantitative", format: isShare ? ".2%" : ".4~g", title });
  const color = { field: "value", type: "nominal", title: null, sort: null, scale: { range: LINES }, legend: { orient: "top", labelColor: colour("--ink"), labelFontSize: 12, symbolType: "stroke", symbolOpacity: 1, symbolStrokeWidth: 3, columns: Math.max(1, Math.floor(width / 200)), labelLimit: Math.min(width - 40, 300) } };
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
      { mark: { type: "area", opacity: 0.15 }, encoding: { y: y("from"), y2: { field: "to" } } },
      { mark: { type: "line", strokeWidth: 2 }, encoding: { y: y("at") } },
    ],
  };
}

// The least number of days on the axis of a chart of reports: of fewer, a bar would be as wide as the chart.
const LEAST = 14;

/** The day of a time, as Vega takes days. */
const utcDay = (time) => {
  const [year, month, date] = new Date(time).toISOString().slice(0, 10).split("-").map(Number);
  return { year, month, date, utc: true };
};

/** Reports of each day; of days past retention, several together. */
export function days(given) {
  const end = Date.parse(given[given.length - 1].last) + 864e5;
  const first = Math.min(Date.parse(given[0].day), end - LEAST * 864e5);
  const rows = given.map((row) => ({ ...row, days: row.last === row.day ? row.day : `${row.day}..${row.last}` }));
  return {
    ...whole,
    height: 130,
    data: { values: rows },
    mark: { type: "bar", color: colour("--bar"), cornerRadiusEnd: 2, width: { band: 0.8 } },
    encoding: {
      x: { field: "day", type: "temporal", timeUnit: "utcyearmonthdate", scale: { domain: [first, end].map(utcDay) }, title: null, axis: { format: "%-d %b", tickCount: 5, grid: false, labelOverlap: true } },
      y: { field: "reports", type: "quantitative", title: null, axis: { tickCount: 3, grid: true, labelFontSize: 12, labelColor: colour("--soft") } },
      tooltip: [{ field: "days", type: "nominal" }, { field: "reports", type: "quantitative", format: "," }],
    },
  };
}
