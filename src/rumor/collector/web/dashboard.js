/** The analysts' page: a token, the questions, and the estimate of one of them as it sharpens. */

import { Refused, ask, askJson, token, tokenFromAddress } from "./api.js";
import { place, remember } from "./address.js";
import { days, differences, draw, moved } from "./charts.js";
import { byId, h } from "/client/view/dom.js";
import { counted } from "./numbers.js";
import { alarms, comparison, figures, halving, loadPanels, movement, panelOf, promise, remarks, table } from "./panels.js";
import { looksOf, looksSwitch } from "./looks.js";
import { groupControls, range } from "./range.js";

// How often the collector is asked for news, in milliseconds; and after how much growth the
// newest reports are tested again.
const POLL = 3000;
const GROWTH = 1.1;

// Rows are sorted by their estimates, on the page and in its files, so their intervals are adjusted for ranking.
const VIEW = { order: "estimate" };

const page = { overview: null, collection: null, question: null, from: null, to: null, looks: null, group: [], estimate: null, integrity: null, timer: null, away: false, asked: null };

const current = () => page.overview.questions.find(({ id }) => id === page.question);

/** Return the identity of an estimate: question, number of reports, days, looks and groups; a new one is requested when it changes. */
const stamp = ({ reports }) => [page.question, reports, page.from, page.to, page.looks, ...page.group].join(" ");

// The longest list of questions without a search field.
const MANY = 8;

// Signing in and out

function signIn(sentence = null) {
  clearTimeout(page.timer);
  page.overview = null;
  byId("session").replaceChildren();
  byId("name").textContent = "Rumor";
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true, "aria-describedby": "token-hint" });
  const submit = (event) => {
    event.preventDefault();
    token.set(field.value.trim());
    open();
  };
  byId("main").replaceChildren(
    h("form", { class: "card sign-in", onsubmit: submit },
      h("h1", {}, "Look at the estimates"),
      h("p", { class: "soft", id: "token-hint" }, "With an analyst's token (rumor token FILE). It stays in this tab, and is forgotten when the tab is closed."),
      sentence && h("p", { class: "notice", role: "alert" }, sentence),
      h("label", { for: "token" }, "Token"),
      field,
      h("button", { class: "primary" }, "Sign in")));
  field.focus();
}

async function open() {
  Object.assign(page, place());
  byId("main").setAttribute("aria-busy", "true");
  try {
    const overview = await askJson("/v1/overview", { collection: page.collection });
    await loadPanels(overview.questions);
    page.overview = overview;
  } catch (problem) {
    failed(problem);
    return;
  } finally {
    byId("main").removeAttribute("aria-busy");
  }
  page.group = page.group.filter((each) => page.overview.groups?.some(({ name, groups }) => groups.some((group) => each === `${name}=${group}`)));
  page.question = page.overview.questions.some(({ id }) => id === page.question) ? page.question : page.overview.questions[0].id;
  byId("name").textContent = page.overview.name;
  document.title = `Rumor: ${page.overview.name}`;
  byId("session").replaceChildren(...[collections(), h("button", { type: "button", class: "quiet", onclick: signOut }, "Sign out")].filter(Boolean));
  byId("main").replaceChildren(
    h("nav", { "aria-label": "Questions" }, search(), h("ul", { id: "questions" })),
    h("div", { id: "content", class: "content" }));
  renderQuestions();
  await show(page.question);
}

function signOut() {
  token.forget();
  signIn();
}

function failed(problem) {
  if (!(problem instanceof Refused)) throw problem;
  if (problem.status === 401 || problem.status === 403) {
    token.forget();
    signIn(problem.status === 401 ? "This token is not known here." : problem.message);
  } else if (!page.overview) signIn(problem.message);
  else {
    page.away = true;
    unheard();
    complain(problem.message);
  }
}

const complain = (sentence) => byId("problem")?.replaceChildren(h("p", { class: "notice", role: "alert" }, sentence));

function collections() {
  const known = page.overview.collections;
  if (known.length < 2) return null;
  const option = ({ digest, name, state }) =>
    h("option", { value: digest, selected: digest === page.overview.collection }, `${name} (${state}, ${digest.slice(0, 8)})`);
  const change = (event) => {
    Object.assign(page, { collection: event.target.value, question: null, from: null, to: null, group: [] });
    remember(page);
    open();
  };
  return h("label", { class: "collections" }, h("span", {}, "Collection"), h("select", { onchange: change }, [...known].reverse().map(option)));
}

// One question

function renderQuestions() {
  byId("questions").replaceChildren(...page.overview.questions.map((question) =>
    h("li", {}, h("button", { type: "button", "aria-current": question.id === page.question ? "true" : null, onclick: () => turnTo(question.id) },
      h("span", { dir: "auto" }, question.text || question.id), h("small", {}, counted(question.reports, "report"))))));
  narrow();
}

/** A field that narrows a long list of questions. */
function search() {
  if (page.overview.questions.length <= MANY) return null;
  return h("label", { class: "search" }, h("span", {}, "Find a question"), h("input", { id: "search", type: "search", oninput: narrow }));
}

function narrow() {
  const wanted = (byId("search")?.value ?? "").trim().toLowerCase();
  for (const [i, item] of [...byId("questions").children].entries()) {
    const { id, text } = page.overview.questions[i];
    item.hidden = !`${id} ${text ?? ""}`.toLowerCase().includes(wanted);
  }
}

/** Show another question, or other days of it. */
function turnTo(id, from = null, to = null) {
  Object.assign(page, { question: id, from, to });
  remember(page);
  show(id);
}

async function show(id) {
  Object.assign(page, { question: id, estimate: null, integrity: null, asked: null });
  const focused = document.activeElement?.closest("#questions");
  renderQuestions();
  if (focused) document.querySelector("#questions [aria-current]").focus();
  const question = current();
  const section = (name, title, ...children) =>
    h("section", { class: `card ${name}`, "aria-labelledby": `${name}-title` }, h("h2", { id: `${name}-title` }, title), children);
  byId("content").replaceChildren(...[
    h("div", { class: "head" }, h("h1", { dir: "auto" }, question.text || question.id), h("p", { id: "status", class: "soft live" })),
    h("div", { id: "figures" }),
    h("div", { id: "alarms" }),
    section("estimate", "Estimate",
      question.groups ? groupControls(question.groups, page.group, (group) => {
        page.group = group;
        turnTo(id, page.from, page.to);
      }) : null,
      range(question.days, page, (from, to) => turnTo(id, from, to)),
      looksSwitch(question, page.looks, watch),
      h("div", { id: "problem" }),
      h("div", { class: "charts" }, Object.keys(panelOf(question).charts).map((name) => h("div", { id: name, class: "chart", role: "img", "aria-label": `Chart of the estimated ${name} with their intervals; the table has the same numbers.` }))),
      h("div", { id: "remarks", class: "remarks" }),
      h("details", { id: "as-table", ontoggle: tabulate }, h("summary", {}, "As a table"), h("div", { id: "table" })),
      h("div", { class: "downloads" }, h("span", { id: "downloads-label" }, "Download"),
        Object.entries(FORMATS).map(([format, name]) => h("button", { type: "button", onclick: (event) => download(event.target, format) }, name)))),
    section("days", "Reports per day", h("div", { id: "perday", class: "chart", role: "img", "aria-label": "Chart of the reports of each day." })),
    section("halving", "To halve the error", h("div", { id: "halving" })),
    question.days.length >= 2 && section("over-time", "Over time",
      question.days.length >= 3 && h("details", { ontoggle: (event) => event.target.open && overTime() }, h("summary", {}, "Trend"),
        h("div", { id: "moved", class: "chart", role: "img", "aria-label": "Chart of the answers over time; the table below has their changes." }),
        h("div", { id: "changes" })),
      periods(question)),
    section("promise", "What people were promised", h("div", { id: "promise" }, promise(question, page.overview))),
  ].filter(Boolean));
  try {
    await refresh();
  } finally {
    schedule(); // also after a failure
  }
}

const FORMATS = { csv: "CSV", parquet: "Parquet", svg: "SVG", png: "PNG" };

/** Show intervals for "one" look, or for any (null). */
function watch(looks) {
  page.looks = looks;
  remember(page);
  refresh();
}

/** Return the query of the estimate: its looks, rows, days and groups. */
const query = (question) => ({ collection: page.overview.collection, ...VIEW, looks: looksOf(question, page.looks), rows: panelOf(question).most ?? null, from: page.from, to: page.to, group: page.group });

/** Show the rows as a table when it is opened: it may have hundreds of rows. */
function tabulate() {
  if (!page.estimate || !byId("as-table").open) byId("table").replaceChildren();
  else byId("table").replaceChildren(table(current(), page.estimate));
}

/** Show the time of the collector's last answer; not announced to screen readers, since it changes every few seconds. */
function heard() {
  if (!byId("status")) return;
  byId("status").classList.remove("away");
  byId("status").textContent = `Live, as of ${new Date().toLocaleTimeString("en-GB")}`;
}

/** Show that the collector does not answer, and since when. */
function unheard() {
  const status = byId("status");
  if (!status || status.classList.contains("away")) return;
  status.classList.add("away");
  status.textContent = status.textContent.replace("Live, as", "Not live: as");
}

/** Return whether the collector refused this request alone: neither the connection nor the token is at fault. */
const refusedFor = (problem) =>
  problem instanceof Refused && problem.status >= 400 && problem.status !== 401 && problem.status !== 403;

/** Request outdated estimates, and draw them. */
async function refresh() {
  const question = current();
  const [collection, wanted] = [page.overview.collection, stamp(question)];
  try {
    if (page.asked !== wanted && question.reports > 0) {
      const estimate = await askJson(`/v1/estimates/${question.id}`, query(question));
      if (stamp(question) !== wanted) return;
      Object.assign(page, { estimate, asked: wanted });
    }
  } catch (problem) {
    if (stamp(question) !== wanted) return;
    if (refusedFor(problem)) {
      Object.assign(page, { estimate: null, asked: wanted }); // the same question would get the same answer
      complain(problem.message);
    } else failed(problem);
  }
  if (!page.overview) return;
  await test(question, collection);
  if (page.question === question.id) await render();
}

/** Test whether the newest reports look crafted; again once their number has grown by `GROWTH`. */
async function test(question, collection) {
  try {
    if (page.integrity && !page.integrity.failed && question.reports <= GROWTH * page.integrity.seen) return;
    const integrity = await askJson(`/v1/integrity/${question.id}`, { collection });
    if (page.question !== question.id) return;
    page.integrity = { ...integrity, seen: question.reports };
  } catch (problem) {
    if (page.question !== question.id) return;
    // A failed test must not read as "no alarm", so its failure is shown.
    if (refusedFor(problem)) page.integrity = { failed: problem.message, seen: question.reports };
    else failed(problem);
  }
}

async function render() {
  if (!page.overview || !byId("figures")) return;
  const [question, { estimate, integrity }] = [current(), page];
  byId("figures").replaceChildren(figures(question, estimate));
  byId("alarms").replaceChildren(...alarms(estimate, integrity));
  for (const button of document.querySelectorAll(".downloads button")) button.disabled = !estimate;
  const drawings = question.days.length ? [draw(byId("perday"), days(question.days))] : [];
  byId("content").classList.toggle("empty", !question.reports);
  if (!question.reports) byId("problem").replaceChildren(h("p", {}, "No reports yet."), h("p", { class: "soft" }, "People answer at ", h("a", { href: "/answer" }, `${location.origin}/answer`), "."));
  // Without an estimate the charts stay empty, so they take no space.
  const silent = !estimate && (!question.reports || page.asked === stamp(question));
  if (silent) for (const chart of document.querySelectorAll(".charts > *")) chart.hidden = true;
  byId("perday").hidden = !question.days.length;
  if (estimate) {
    byId("problem").replaceChildren();
    byId("remarks").replaceChildren(...remarks(question, estimate));
    tabulate();
    byId("halving").replaceChildren(...halving(question, estimate).filter(Boolean));
    const some = estimate.estimates.length > 0;
    for (const chart of document.querySelectorAll(".charts > *")) chart.hidden = !some;
    for (const [name, chart] of some ? Object.entries(panelOf(question).charts) : []) drawings.push(draw(byId(name), chart(question, estimate)));
  }
  await Promise.all(drawings);
  if (page.question === question.id) heard();
}

/** Request and show the trend over the days. */
async function overTime() {
  const id = page.question;
  try {
    const found = movement(await askJson(`/v1/trends/${id}`, { collection: page.overview.collection, group: page.group }));
    if (page.question !== id) return;
    byId("changes").replaceChildren(...found.parts);
    await draw(byId("moved"), moved(found.rows, found.isShare));
  } catch (problem) {
    if (refusedFor(problem)) byId("changes").replaceChildren(h("p", { class: "notice" }, problem.message));
    else failed(problem);
  }
}

/** Show the form for two periods to compare, by default the first and the second half of the days. */
function periods({ days }) {
  const middle = Math.floor(days.length / 2);
  const ends = [days[0].day, days[middle - 1].last, days[middle].day, days[days.length - 1].last];
  const field = (name, value) => h("label", {}, h("span", {}, name), h("input", { type: "date", name, value, required: true }));
  const submit = (event) => {
    event.preventDefault();
    const [from, to, since, until] = [...event.target.elements].filter(({ type }) => type === "date").map(({ value }) => value);
    compare(`${from}..${to}`, `${since}..${until}`);
  };
  return h("details", {}, h("summary", {}, "Compare two periods"),
    h("form", { class: "periods", onsubmit: submit }, ["First from", "to", "Second from", "until"].map((name, i) => field(name, ends[i])), h("button", {}, "Compare")),
    h("div", { id: "compared" }));
}

async function compare(first, second) {
  const id = page.question;
  try {
    const found = await askJson(`/v1/comparisons/${id}`, { collection: page.overview.collection, first, second, looks: page.looks ?? "any", group: page.group });
    if (page.question !== id) return;
    byId("compared").replaceChildren(h("div", { id: "differences", class: "chart", role: "img", "aria-label": "Chart of the differences with their intervals; the table has the same numbers." }), ...comparison(found));
    await draw(byId("differences"), differences(found.estimates));
  } catch (problem) {
    if (refusedFor(problem)) byId("compared").replaceChildren(h("p", { class: "notice" }, problem.message));
    else failed(problem);
  }
}

// News

function schedule() {
  clearTimeout(page.timer);
  page.timer = setTimeout(look, POLL);
}

async function look() {
  if (document.hidden || !page.overview) {
    schedule();
    return;
  }
  try {
    const before = current().reports;
    page.overview = await askJson("/v1/overview", { collection: page.collection });
    if (!byId("questions")) return;
    renderCounts();
    if (page.away) byId("problem").replaceChildren();
    page.away = false;
    heard();
    const { reports } = current();
    if (reports !== before || page.asked !== stamp(current())) await refresh();
  } catch (problem) {
    failed(problem);
  }
  if (page.overview) schedule();
}

/** Update the counts alone, so that the focus stays where it is. */
function renderCounts() {
  const counts = document.querySelectorAll("#questions small");
  page.overview.questions.forEach(({ reports }, i) => (counts[i].textContent = counted(reports, "report")));
}

async function download(button, format) {
  button.disabled = true;
  try {
    const response = await ask(`/v1/estimates/${page.question}`, { ...query(current()), rows: null, format });
    const url = URL.createObjectURL(await response.blob());
    const name = [page.overview.series, page.question, page.from, page.to].filter(Boolean).join("-");
    h("a", { href: url, download: `${name}.${format}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch (problem) {
    failed(problem);
  }
  button.disabled = false;
}

tokenFromAddress();
addEventListener("hashchange", () => {
  tokenFromAddress();
  if (token.get()) open();
});
document.addEventListener("visibilitychange", () => !document.hidden && page.overview && look());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.overview && render());
if (token.get()) open();
else signIn();
