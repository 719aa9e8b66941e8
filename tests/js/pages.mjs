/**
 * Do with a page what a person does, step by step: { browser, network, steps } as JSON on the standard input. For each step
 * the whole page after it, and what was asked for, waited, kept, drawn and told meanwhile, as JSON on the standard output.
 *
 *     node --experimental-vm-modules --no-warnings pages.mjs
 */

import { readFileSync } from "node:fs";

import { Browser, idle } from "./page/browser.mjs";
import { outline } from "./page/dom.mjs";
import { Network } from "./page/network.mjs";

const PAGES = {
  answer: { html: "collector/web/answer.html", script: "/assets/answer.js" },
  file: { html: "collector/web/answer.html", script: "/assets/answer.js", file: "<html>a page as one file</html>" },
  dashboard: { html: "collector/web/dashboard.html", script: "/assets/dashboard.js" },
  element: { script: "/client/element.js" },
};

const given = JSON.parse(readFileSync(0, "utf8"));
const network = new Network(given.network ?? {});
const browser = new Browser({ ...given.browser, answer: (request) => network.answer(request) });
const tabs = [];
let page;

// What a collector puts into the page that it serves: a link for each language.
browser.before = (opened, { file }) => {
  const { document } = opened;
  if (file) {
    document.documentElement.outerHTML = file;
    document.body.setAttribute("data-file", "");
    document.body.append(Object.assign(document.createElement("footer"), { id: "file" }));
  }
  for (const lang of document.getElementById("languages") ? ["en", "ja", "zh"] : []) {
    const link = document.createElement("a");
    for (const [name, value] of Object.entries({ href: `?lang=${lang}`, hreflang: lang, lang })) link.setAttribute(name, value);
    link.append(lang);
    document.getElementById("languages").append(link);
  }
  for (const name of ["rumor-drawn", "rumor-sent", "rumor-withdrawn", "rumor-problem"]) {
    document.addEventListener(name, ({ detail }) => void opened.told.push([name, detail]));
  }
};

/** Every element, those within custom elements too. */
function all(node, found = []) {
  found.push(node);
  for (const each of [...(node.shadowRoot?.children ?? []), ...node.children]) all(each, found);
  return found;
}

function find({ at, text, nth = 0 }) {
  const found = all(page.document.documentElement).filter((each) => each.matches(at) && (text === undefined || each.textContent.includes(text)));
  if (!found.at(nth)) throw new Error(`nothing on the page is ${at} ${text ?? ""}:\n${outline(page.document.body).join("\n")}`);
  return found.at(nth);
}

const ACTIONS = {
  async visit({ page: name, address = "/" }) {
    page = await browser.visit(address, PAGES[name]);
    tabs.push(page);
  },
  /** Go on with a page that was opened before. */
  tab: ({ number }) => (page = tabs[number]).enter(),
  click: (step) => find(step).click(),
  toggle: (step) => find(step).toggle(!find(step).open),
  type: (step) => find(step).enter(step.text ?? step.value),
  enter: (step) => find(step).enter(step.value),
  key: (step) => find(step).dispatchEvent(Object.assign(new Event("keydown", { bubbles: true }), { key: step.key })),
  back: () => page.back(),
  hash: ({ to }) => page.hash(to),
  tell: ({ type }) => page.tell(type),
  hear: ({ type, media }) => (media === undefined ? page.document : page.media[media]).dispatchEvent(new Event(type)),
  pass: ({ ms }) => page.pass(ms),
  set: ({ of, ...values }) => void Object.assign({ browser, network, document: page?.document }[of], values),
  add: ({ tag, attributes, property = {} }) => {
    const element = Object.assign(page.document.createElement(tag), property);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    page.document.body.append(element);
  },
  /** Every field of a place, with everything that people type into such: as many steps. */
  probe: ({ at }) => {
    const all = find({ at }).querySelectorAll("input, select");
    // Of the answers that a search finds, two are as good as all.
    const fields = all.slice(0, all[0].type === "search" ? 3 : undefined);
    queue.unshift(...fields.flatMap((field, nth) => PROBES[field.localName === "select" ? "select" : field.type](field).map((value) =>
      (value === CLICK ? { do: "click", at: `${at} input`, nth } : { do: "enter", at: `${at} ${field.localName}`, nth: fields.filter(({ localName }) => localName === field.localName).indexOf(field), value }))));
  },
  /** Some answer, by whatever fields a place has. */
  answer: ({ at }) => {
    const place = find({ at });
    const of = (type) => place.querySelectorAll(`input[type=${type}]`);
    for (const group of place.querySelectorAll("[role=radiogroup]")) group.querySelectorAll("input")[1].click();
    for (const box of of("checkbox").slice(1, 2)) box.click();
    for (const field of of("number").filter(({ hidden }) => !hidden)) field.enter(field.getAttribute("max"));
    if (!of("number").length) for (const field of of("range")) field.enter(field.getAttribute("max"));
    for (const field of of("text")) field.enter("word");
  },
  attribute: (step) => find(step).setAttribute(step.name, step.value),
};

/** How long the sheets are that the page and its elements are styled with. */
const sheets = () =>
  [page.document, ...all(page.document.documentElement).map(({ shadowRoot }) => shadowRoot)].filter((root) => root?.adoptedStyleSheets.length)
    .map((root) => `styled by ${root.adoptedStyleSheets.map(({ text }) => text?.length)} characters`);

const CLICK = Symbol("a click");
const ends = (field) => ["min", "max"].map((name) => Number(field.getAttribute(name)));
/** What is typed into a field of each type: what fits, what does not, and what nearly does. */
const PROBES = {
  number: (field) => {
    const [low, high] = ends(field);
    return ["abc", "", String(low), String(high), String(low - 1), String(high + 0.5), "-", "1.5", ".5", "1e1", " 2", "0"].filter((text) => !field.hidden || text);
  },
  range: (field) => ends(field).flatMap((end) => [String(end), String((end + ends(field)[0]) / 3)]),
  text: () => ["word", "", " padded ", "e\u0301🙂"],
  search: () => ["LABEL 1", "label 17", " label 69 ", "label 70", "bel 5", ""],
  checkbox: () => [CLICK],
  radio: () => [CLICK],
  select: (field) => ["label 3", "", field.children.at(-1).getAttribute("value")],
};

const hex = (body) => (body instanceof Uint8Array ? { hex: Buffer.from(body).toString("hex") } : body);

const results = [];

/** A page as what differs from the one before: lines that stay at its beginning and its end, and those between. */
let last = [];
function changed(lines) {
  const least = Math.min(last.length, lines.length);
  let [head, tail] = [0, 0];
  while (head < least && last[head] === lines[head]) head++;
  while (tail < least - head && last.at(-1 - tail) === lines.at(-1 - tail)) tail++;
  last = lines;
  return { head, tail, lines: lines.slice(head, lines.length - tail) };
}

const queue = [...given.steps];
while (queue.length) {
  const { do: name, ...step } = queue.shift();
  const told = structuredClone({ do: name, ...step });
  const from = { requests: browser.requests.length, pauses: browser.pauses.length, drawn: page?.drawn.length ?? 0, told: page?.told.length ?? 0 };
  const before = page;
  await ACTIONS[name](step);
  await idle();
  const fresh = page === before ? from : { ...from, drawn: 0, told: 0 };
  const { document } = page ?? {};
  results.push({
    step: told,
    page: changed(!page ? [] : [
      `address ${page.location.href} (${page.at + 1} of ${page.entries.length})`, `title ${document.title}`,
      ...(document.scrolled ? [`scrolled to ${document.scrolled}`] : []), ...(page.reloads ? [`reloaded ${page.reloads}`] : []),
      `html lang ${document.documentElement.lang}`, ...sheets(), ...outline(document.body),
    ]),
    requests: browser.requests.slice(from.requests).map(({ body, ...request }) => ({ ...request, ...(body !== undefined && { body: hex(body) }) })),
    opened: network.opened.splice(0),
    pauses: browser.pauses.slice(from.pauses),
    persisted: browser.persisted,
    databases: Object.fromEntries(Object.entries(browser.databases.kept).map(([db, { version, values }]) => [
      `${db} ${version}`, Object.fromEntries(Object.entries(values).map(([store, rows]) => [store, Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, JSON.parse(row)]))]))])),
    session: { ...browser.session.kept },
    downloads: document?.downloads.splice(0) ?? [],
    drawn: page?.drawn.slice(fresh.drawn) ?? [],
    told: page?.told.slice(fresh.told) ?? [],
    said: page?.said.splice(0) ?? [],
  });
}
console.log(JSON.stringify(results));
