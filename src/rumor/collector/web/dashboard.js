/** The analysts' page: a token, the questions, and the estimate of one of them as it sharpens. */

import { Refused, ask, askJson, token, tokenFromAddress } from "./api.js";
import { place, remember } from "./address.js";
import { ROWS, differences } from "./bars.js";
import { card } from "./cards.js";
import { saidChange } from "./changes.js";
import { days, draw, moved } from "./charts.js";
import { groupCharts, shownGroups } from "./groups.js";
import { changesIn, headline } from "./headline.js";
import { byId, h } from "/client/view/dom.js";
import { counted, whole } from "./numbers.js";
import { alarms, comparison, figures, halving, loadPanels, movement, panelOf, promise, remarks, standing, table } from "./panels.js";
import { looksOf, looksSwitch } from "./looks.js";
import { groupControls, periodBefore, range } from "./range.js";

// How often the collector is asked for news, in milliseconds; and after how much growth the
// newest reports are tested again.
const POLL = 3000;
const GROWTH = 1.1;

// Rows are sorted by their estimates, on the page and in its files, so their intervals are adjusted for ranking.
const VIEW = { order: "estimate" };

const page = {
  overview: null, collection: null, view: null, question: null, from: null, to: null, against: null, looks: null, group: [], // what is looked at
  estimate: null, integrity: null, trend: null, followed: null, compared: null, found: null, sort: "share", // what is known of it
  timer: null, away: false, asked: null, heard: null,
  known: new Map(), // by what is looked at: the last estimate, shown while a new one is made
};

const current = () => page.overview.questions.find(({ id }) => id === page.question);

/** Return what is looked at: question, days, looks and groups. */
const lookedAt = () => [page.overview.collection, page.question, page.from, page.to, page.looks, ...page.group].join(" ");

/** Return what is followed over time: a question in groups, on all days. */
const followedAt = (id) => [page.overview.collection, id, ...page.group].join(" ");

/** Return the identity of an estimate: what is looked at, and the number of reports; a new one is requested when it changes. */
const stamp = ({ reports }) => `${lookedAt()} ${reports}`;

// The most values whose trend is followed without being asked: each of them is followed for every day.
const FOLLOWED = 200;

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
    h("nav", { "aria-label": "Questions" },
      page.overview.questions.length > 1 && h("button", { type: "button", id: "all", onclick: turnToAll }, h("span", {}, "All questions")),
      search(), h("ul", { id: "questions" })),
    h("div", { id: "content", class: "content" }));
  await (page.view ? showAll() : show(page.question));
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
    Object.assign(page, { collection: event.target.value, question: null, from: null, to: null, against: null, group: [] });
    remember(page);
    open();
  };
  return h("label", { class: "collections" }, h("span", {}, "Collection"), h("select", { onchange: change }, [...known].reverse().map(option)));
}

// One question

function renderQuestions() {
  if (page.view) byId("all")?.setAttribute("aria-current", "true");
  else byId("all")?.removeAttribute("aria-current");
  byId("questions").replaceChildren(...page.overview.questions.map((question) =>
    h("li", {}, h("button", { type: "button", "aria-current": !page.view && question.id === page.question ? "true" : null, onclick: () => turnTo(question.id) },
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

/** Show another question, or other days of it, perhaps against the days before. */
function turnTo(id, from = null, to = null, against = null) {
  Object.assign(page, { view: null, question: id, from, to, against: against ? "1" : null });
  remember(page);
  show(id);
}

function turnToAll() {
  Object.assign(page, { view: "all", from: null, to: null, against: null });
  remember(page);
  showAll();
}

async function show(id) {
  const isOther = page.followed?.of !== followedAt(id);
  Object.assign(page, { question: id, integrity: null, asked: null, compared: null, found: null, sort: "share", ...(isOther ? { trend: null, followed: null } : {}) });
  page.estimate = page.known.get(lookedAt()) ?? null;
  const focused = document.activeElement?.closest("#questions");
  renderQuestions();
  if (focused) document.querySelector("#questions [aria-current]").focus();
  const question = current();
  const section = (name, title, ...children) =>
    h("section", { class: `card ${name}`, "aria-labelledby": `${name}-title` }, h("h2", { id: `${name}-title` }, title), children);
  byId("content").replaceChildren(...[
    h("div", { class: "head" }, longTitle(question.text || question.id), h("p", { id: "status", class: "soft live" })),
    h("p", { id: "headline", class: "headline", dir: "auto" }),
    h("div", { id: "figures" }),
    h("div", { id: "alarms" }),
    section("estimate", "Estimate",
      range(question.days, page, (from, to, against) => turnTo(id, from, to, against)),
      question.groups ? groupControls(question.groups, page.group, (group) => {
        page.group = group;
        turnTo(id, page.from, page.to, page.against);
      }) : null,
      h("div", { id: "problem" }),
      panelOf(question).isList ? listControls() : null,
      h("div", { class: "charts" }, Object.keys(panelOf(question).charts).map((name) => h("div", { id: name, class: "chart" }))),
      looksSwitch(question, page.looks, watch),
      h("div", { id: "remarks", class: "remarks" }),
      h("details", { id: "as-table", ontoggle: tabulate }, h("summary", {}, "As a table"), h("div", { id: "table" })),
      h("div", { class: "downloads" }, h("span", { id: "downloads-label" }, "Download"),
        Object.entries(FORMATS).map(([format, name]) => h("button", { type: "button", onclick: (event) => download(event.target, format) }, name)))),
    question.days.length >= 2 && section("over-time", "Over time",
      question.days.length >= 3 && h("details", { id: "trend", ontoggle: follow }, h("summary", {}, "Trend"),
        h("div", { id: "moved", class: "chart" }),
        h("div", { id: "changes" })),
      periods(question)),
    shownGroups(question).length > 0 && !page.group.length && !panelOf(question).whole && section("groups", "In each group", h("div", { id: "groups" })),
    section("days", "Reports per day", h("div", { id: "perday", class: "chart" })),
    section("halving", "To halve the error", h("div", { id: "halving" })),
    section("promise", "What people were promised", h("div", { id: "promise" }, promise(question, page.overview))),
  ].filter(Boolean));
  try {
    if (page.estimate) await render();
    if (page.overview) await refresh();
  } finally {
    schedule(); // also after a failure
  }
}

// A title of more characters is shortened until somebody asks for all of it.
const LONG = 140;

function longTitle(text) {
  const title = h("h1", { dir: "auto" }, text);
  if (text.length <= LONG) return title;
  title.classList.add("long");
  const whole = h("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: () => {
    title.classList.toggle("long");
    const isShort = title.classList.contains("long");
    whole.setAttribute("aria-expanded", String(!isShort));
    whole.textContent = isShort ? "Show the whole question" : "Shorten the question";
  } }, "Show the whole question");
  return h("div", {}, title, whole);
}

// Long lists

const ORDERS = { share: "share", name: "name", change: "change" };

/** Return the search and the order of the answers, which only long lists show. */
function listControls() {
  const sort = ({ target }) => {
    page.sort = target.value;
    renderCharts();
  };
  return h("div", { class: "list" },
    h("p", { id: "standing" }),
    h("label", { class: "find" }, h("span", {}, "Find an answer"), h("input", { id: "find", type: "search", oninput: seek })),
    h("label", { class: "sort" }, h("span", {}, "Sort by"),
      h("select", { id: "sort", onchange: sort }, Object.entries(ORDERS).map(([value, name]) => h("option", { value, selected: value === page.sort }, name)))));
}

/** Find answers by a part of their names: among the rows that are here, or by the collector where these are not all. */
async function seek() {
  const wanted = byId("find").value.trim();
  const { estimate } = page;
  if (!wanted || !estimate) page.found = null;
  else if (estimate.above_noise.of <= estimate.estimates.length) {
    const found = estimate.estimates.filter(({ value }) => String(value).toLowerCase().includes(wanted.toLowerCase()));
    page.found = { wanted, estimates: found, count: found.length };
  } else {
    try {
      const found = await askJson(`/v1/estimates/${page.question}`, { ...query(current()), rows: ROWS, find: wanted });
      if (byId("find")?.value.trim() !== wanted) return;
      page.found = { wanted, estimates: found.estimates, count: found.found };
    } catch (problem) {
      failed(problem);
      return;
    }
  }
  renderCharts();
}

/** Return rows in the order that is chosen. */
function sorted(rows, changes) {
  const p = ({ value }) => changes.get(String(value))?.p ?? 1;
  if (page.sort === "name") return [...rows].sort((one, other) => String(one.value).localeCompare(String(other.value), "en", { numeric: true }));
  return page.sort === "change" ? [...rows].sort((one, other) => p(one) - p(other)) : rows;
}

/** Draw the charts of the estimate, and return when they are there. */
function renderCharts() {
  const [question, { estimate, found }] = [current(), page];
  const panel = panelOf(question);
  const some = estimate.estimates.length > 0;
  for (const chart of document.querySelectorAll(".charts > .chart")) chart.hidden = !some;
  let [shown, how] = [estimate, undefined];
  if (panel.isList) {
    const changes = changesIn(page, "share");
    const isTold = page.compared || page.sort === "change";
    const more = (row) => (isTold && changes.has(String(row.value)) ? saidChange(changes.get(String(row.value))) : null);
    shown = { ...estimate, estimates: sorted(found ? found.estimates : estimate.estimates, changes) };
    how = { more, isRanked: true, isCut: page.sort === "share" };
    const isLong = estimate.estimates.length > ROWS || found !== null;
    byId("standing").textContent = found ? `${found.count === 1 ? "1 answer contains" : `${whole(found.count)} answers contain`} “${found.wanted}”.` : standing(estimate) ?? "";
    document.querySelector(".find").hidden = !isLong;
    document.querySelector(".sort").hidden = estimate.estimates.length < 3;
    byId("sort").querySelector("[value=change]").disabled = !changes.size;
  }
  return some ? Object.entries(panel.charts).map(([name, chart]) => draw(byId(name), chart(question, shown, how), `Chart of the ${name}; the table has the same numbers.`)) : [];
}

const FORMATS = { csv: "CSV", parquet: "Parquet", svg: "SVG", png: "PNG" };

/** Show intervals for "one" look, or for any (null). */
function watch(looks) {
  Object.assign(page, { looks, compared: null });
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
  page.heard = new Date().toLocaleTimeString("en-GB");
  byId("status").textContent = `Live, as of ${page.heard}`;
}

/** Show that the collector does not answer, and since when. */
function unheard() {
  const status = byId("status");
  if (!status || status.classList.contains("away")) return;
  status.classList.add("away");
  status.textContent = page.heard ? `Not live: as of ${page.heard}` : "Not live";
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
      estimating();
      const estimate = await askJson(`/v1/estimates/${question.id}`, query(question));
      if (page.view || stamp(question) !== wanted) return;
      Object.assign(page, { estimate, asked: wanted });
      page.known.set(lookedAt(), estimate);
      await compareBefore(question);
    }
  } catch (problem) {
    if (page.view || stamp(question) !== wanted) return;
    if (refusedFor(problem)) {
      Object.assign(page, { estimate: null, asked: wanted }); // the same question would get the same answer
      complain(problem.message);
    } else failed(problem);
  }
  if (!page.overview) return;
  await test(question, collection);
  if (page.view || page.question !== question.id) return;
  await render();
  if (!page.overview) return;
  if (page.found) await seek();
  await follow();
  await showGroups(question, wanted);
}

/** Say that an estimate is being made; the last one stays to be read. */
function estimating() {
  const { estimate } = page;
  byId("status").textContent = estimate ? `Estimating …, the figures are those of ${counted(estimate.reports, "report")}` : "Estimating …";
  if (!estimate) byId("problem").replaceChildren(h("p", { class: "soft" }, "Estimating …"));
}

/** Request the comparison with the days before, where it is wanted. */
async function compareBefore(question) {
  const before = page.against && periodBefore(question.days, page);
  if (!before) return;
  const [first, second] = [before.first, before.second];
  const found = await askJson(`/v1/comparisons/${question.id}`, { collection: page.overview.collection, first, second, looks: looksOf(question, page.looks), group: page.group });
  if (page.question === question.id) page.compared = { found, before: before.said };
}

/** Request the estimate of each group, and show them side by side. */
async function showGroups(question, wanted) {
  if (!byId("groups") || !page.estimate || byId("groups").dataset.of === wanted) return;
  const columns = shownGroups(question);
  const estimates = new Map();
  for (const { name, groups } of columns) {
    for (const { group } of groups) {
      try {
        estimates.set(`${name}=${group}`, await askJson(`/v1/estimates/${question.id}`, { ...query(question), group: [`${name}=${group}`] }));
      } catch (problem) {
        failed(problem);
        return;
      }
      if (page.view || stamp(question) !== wanted || !byId("groups")) return;
    }
  }
  byId("groups").setAttribute("data-of", wanted);
  byId("groups").replaceChildren(...groupCharts(question, page.estimate, columns, estimates));
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
  renderHeadline();
  byId("figures").replaceChildren(figures(question, estimate));
  byId("alarms").replaceChildren(...alarms(estimate, integrity));
  for (const button of document.querySelectorAll(".downloads button")) button.disabled = !estimate;
  const drawings = question.days.length ? [draw(byId("perday"), days(question.days), "Chart of the reports of each day.")] : [];
  byId("content").classList.toggle("empty", !question.reports);
  if (!question.reports) byId("problem").replaceChildren(h("p", {}, "No reports yet."), h("p", { class: "soft" }, "People answer at ", h("a", { href: "/answer" }, `${location.origin}/answer`), "."));
  // Without an estimate the charts stay empty, so they take no space.
  const silent = !estimate && (!question.reports || page.asked === stamp(question));
  if (silent) for (const chart of document.querySelectorAll(".charts > .chart")) chart.hidden = true;
  if (document.querySelector(".list")) document.querySelector(".list").hidden = !estimate;
  byId("perday").hidden = !question.days.length;
  if (estimate) {
    byId("problem").replaceChildren();
    byId("remarks").replaceChildren(...remarks(question, estimate));
    tabulate();
    byId("halving").replaceChildren(...halving(question, estimate).filter(Boolean));
    drawings.push(...renderCharts());
    const trend = byId("trend");
    if (trend && !trend.dataset.seen) {
      trend.setAttribute("data-seen", "true"); // opened once; who closes it keeps it closed
      trend.open = (estimate.above_noise?.of ?? 0) <= FOLLOWED;
    }
  }
  await Promise.all(drawings);
  if (page.question === question.id && (!question.reports || page.asked)) heard();
}

/** Show the answer in one line, with how it moved. */
function renderHeadline() {
  if (!page.estimate) {
    byId("headline").replaceChildren();
    return;
  }
  const { figure, change } = headline(current(), page.estimate, page);
  byId("headline").replaceChildren(h("strong", {}, figure), change ? `, ${change}` : "");
}

/** Request the trend over the days, if it is open and not known yet, and show it. */
async function follow() {
  const question = current();
  const wanted = followedAt(question.id);
  if (!byId("trend")?.open) return;
  if (page.followed?.of !== wanted || question.reports > GROWTH * page.followed.seen) {
    page.followed = { of: wanted, seen: question.reports, problem: null };
    try {
      const trend = await askJson(`/v1/trends/${question.id}`, { collection: page.overview.collection, group: page.group });
      if (page.followed?.of === wanted) page.trend = trend;
    } catch (problem) {
      if (!refusedFor(problem)) {
        page.followed = null;
        failed(problem);
        return;
      }
      page.followed.problem = problem.message;
    }
  } else if (byId("changes").hasChildNodes()) return;
  if (!page.view && page.question === question.id && byId("changes")) await renderTrend();
}

async function renderTrend() {
  byId("moved").hidden = !page.trend;
  if (!page.trend) {
    if (page.followed.problem) byId("changes").replaceChildren(h("p", { class: "notice info" }, page.followed.problem));
    return;
  }
  const { rows, isShare, parts } = movement(page.trend);
  byId("changes").replaceChildren(...parts);
  if (page.estimate) {
    renderHeadline();
    renderCharts();
  }
  await draw(byId("moved"), moved(rows, isShare, byId("moved").clientWidth || 600), "Chart of the answers over time; the table below has their changes.");
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
  return h("details", { id: "compare" }, h("summary", {}, "Compare two periods"),
    h("form", { class: "periods", onsubmit: submit }, ["First from", "to", "Second from", "until"].map((name, i) => field(name, ends[i])), h("button", {}, "Compare")),
    h("div", { id: "compared" }));
}

async function compare(first, second) {
  const id = page.question;
  try {
    const found = await askJson(`/v1/comparisons/${id}`, { collection: page.overview.collection, first, second, looks: page.looks ?? "any", group: page.group });
    if (page.question !== id) return;
    byId("compared").replaceChildren(h("div", { id: "differences", class: "chart" }, differences(found.estimates)), ...comparison(found));
  } catch (problem) {
    if (refusedFor(problem)) byId("compared").replaceChildren(h("p", { class: "notice" }, problem.message));
    else failed(problem);
  }
}

// All questions

async function showAll() {
  Object.assign(page, { from: null, to: null, against: null, group: [] });
  renderQuestions();
  byId("content").replaceChildren(
    h("div", { class: "head" }, h("h1", {}, "All questions"), h("p", { id: "status", class: "soft live" })),
    h("div", { id: "problem" }),
    h("div", { id: "cards", class: "cards" }, page.overview.questions.map((question) => card(question, glance(question), turnTo))));
  try {
    await refreshAll();
  } finally {
    schedule();
  }
}

const glanceAt = ({ id }) => `glance ${page.overview.collection} ${id}`;

/** Return what is known of a question for its card. */
const glance = (question) => ({ looks: looksOf(question, page.looks), ...page.known.get(glanceAt(question)) });

/** Request what has changed since the cards were drawn, question by question, and draw those anew. */
async function refreshAll() {
  for (const [i, question] of page.overview.questions.entries()) {
    if (!question.reports || question.reports <= GROWTH * (glance(question).seen ?? 0)) continue;
    const known = { seen: question.reports };
    const get = async (name, path, more = {}) => {
      try {
        known[name] = await askJson(`/v1/${path}/${question.id}`, { collection: page.overview.collection, ...more });
      } catch (problem) {
        if (!refusedFor(problem)) throw problem;
        if (name === "estimate") known.problem = problem.message;
      }
    };
    try {
      await get("estimate", "estimates", { ...VIEW, looks: looksOf(question, page.looks), rows: panelOf(question).most ?? null });
      await get("integrity", "integrity");
      if (question.days.length >= 3 && (known.estimate?.above_noise?.of ?? 0) <= FOLLOWED) await get("trend", "trends");
    } catch (problem) {
      failed(problem);
      return;
    }
    if (!byId("cards")) return;
    page.known.set(glanceAt(question), known);
    const old = byId("cards").children[i];
    const isFocused = document.activeElement?.closest("article") === old;
    old.replaceWith(card(question, glance(question), turnTo));
    if (isFocused) byId("cards").children[i].querySelector("button").focus();
  }
  heard();
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
    const before = current()?.reports;
    page.overview = await askJson("/v1/overview", { collection: page.collection });
    if (!byId("questions")) return;
    renderCounts();
    if (page.away) byId("problem").replaceChildren();
    page.away = false;
    heard();
    if (page.view) {
      await refreshAll();
      schedule();
      return;
    }
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
