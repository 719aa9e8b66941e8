/**
 * The respondent's page. Answers live in this page's memory alone; the client turns them into
 * reports, which are shown before they are sent and kept by the browser until they arrive.
 */

import { BrowserStore, Respondent, RumorError, fetchContract } from "/client/rumor.js";
import { byId, h } from "/client/view/dom.js";
import { control, loadControls, mistakeIn, problemView, showMistake } from "/client/view/controls.js";
import { formatNumber, formatPercent, fullSentence, noteDrawn, oddsView, posteriorBound, reportsView, takesMore, updateCard } from "/client/view/report.js";
import { styled } from "/client/view/style.js";
import { wordsFor } from "/client/view/words.js";

/** The page's state. A card is "open", "drawn", "sent", "full" or, where another day is assigned, "away". */
const page = {
  words: null, lang: "en", contract: null, person: null, invitation: "", cards: new Map(), older: 0, busy: false, say: null,
  refusal: null, steps: null, asking: false, assignment: null, notices: null, withdrawable: 0, groups: {}, closed: false,
  collector: "", file: null,
};

const number = (value, digits) => formatNumber(page.words, value, digits);
const percent = (value) => formatPercent(page.words, value);

/** Where the window is narrow, one question is a screen. */
const narrow = matchMedia("(max-width: 30rem)");

function wantedLanguage() {
  const asked = [new URLSearchParams(location.search).get("lang"), page.file?.said.get("lang"), ...(navigator.languages ?? [])];
  const found = asked.map((tag) => (tag ?? "").slice(0, 2).toLowerCase());
  // The collector's page lists the available languages.
  const known = [...byId("languages").querySelectorAll("a")].map(({ hreflang }) => hreflang);
  return found.find((tag) => known.includes(tag)) ?? "en";
}

async function speak(lang) {
  page.wanted = lang;
  const words = await wordsFor(lang);
  if (page.wanted !== lang) return; // another was chosen while this one loaded
  Object.assign(page, { words, lang });
  document.documentElement.lang = words.tag;
  for (const link of byId("languages").querySelectorAll("a")) {
    if (link.hreflang === lang) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  document.title = page.contract ? `${words.title}: ${page.contract.name}` : words.title;
  byId("languages").setAttribute("aria-label", words.language);
  byId("title").textContent = words.title;
  byId("lead").textContent = words.lead;
  page.file?.show(words);
}

// How a sentence of the status line looks: as information, or as what was received.
const LOOKS = { drawn: "notice info", otherTab: "notice info", sentAll: "notice received", withdrawn: "notice received" };

/** Show a sentence in the status line, by its name and arguments, so that it can be translated later. */
function announce(name, ...values) {
  page.say = name && [name, values];
  const sentence = name ? page.words[name] : "";
  byId("status").className = `status ${LOOKS[name] ?? ""}`.trim();
  byId("status").textContent = typeof sentence === "function" ? sentence(...values) : sentence;
}

function complain(problem, sentence) {
  byId("problem").replaceChildren(h("div", { class: "notice" }, problemView(problem, page.words, sentence)));
}

const calm = () => byId("problem").replaceChildren();

// The cards

/** Read what this device keeps; what is shown is made of it. */
async function takeStock() {
  const { person, contract } = page;
  page.withdrawable = await person.withdrawable(contract?.series);
  if (!contract) return;
  page.spending = await person.spending();
  const pending = await person.pending(contract);
  page.older = (await person.pending()).length - pending.length;
  // The assignment is drawn and stored before anything is shown.
  page.assignment = await person.assignment(contract);
  page.standing = await person.budget(contract);
  const mine = contract.questions.filter(({ id }) => page.assignment.questions.includes(id));
  for (const question of mine) {
    const card = page.cards.get(question.id) ?? { question, value: undefined, state: "open", envelopes: [] };
    updateCard(card, contract, page.spending, pending, page.assignment.open && !page.closed, page.standing);
    page.cards.set(question.id, card);
  }
}

const open = () => [...page.cards.values()].filter((card) => card.state === "open");
const answered = () => open().filter((card) => card.value !== undefined);
const drawn = () => [...page.cards.values()].filter((card) => card.state === "drawn");

function render() {
  const { words, contract } = page;
  if (!page.assignment) return renderBack(); // reports can be withdrawn even if no question can be asked
  byId("name").textContent = contract.name;
  byId("invitation").replaceChildren(...invitationView());
  byId("cards").replaceChildren(...(page.notices?.noticesView(contract, contract.linked, page.assignment, words, page.lang, page.groups, open().length > 0) ?? []), ...[...page.cards.values()].map(cardView));
  byId("footer").replaceChildren(
    h("p", {}, `${words.contact}: ${contract.contact}`),
    h("p", {}, `${words.digest}: `, h("code", {}, contract.digest)),
  );
  page.steps?.arrange();
  renderAction();
  if (page.say) announce(page.say[0], ...page.say[1]);
  renderSpent();
  renderBack();
}

/** Show the field for the invitation, if the collection needs one; the address may have filled it. */
function invitationView() {
  const wanted = open().length || page.refusal === "not-admitted";
  if (page.contract.admission === "open" || !wanted) return [];
  const { words } = page;
  const field = h("input", {
    id: "code", type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", value: page.invitation,
    "aria-describedby": "code-hint", oninput: (event) => (page.invitation = event.target.value),
  });
  return [h("label", { for: "code" }, words.invitation), field, h("p", { id: "code-hint", class: "soft" }, page.contract.issuer ? words.blind : words.invitationHint)];
}

/** Read the invitation from an address that ends in #invitation=...; browsers do not send this part. */
function takeInvitation() {
  const said = new URLSearchParams(location.hash.slice(1));
  page.invitation = said.get("invitation") ?? "";
  said.delete("invitation");
  if (page.invitation) history.replaceState(null, "", location.pathname + location.search + (String(said) && `#${said}`));
}

/** Read the respondent's groups from an address with ?group=NAME=GROUP; whatever the contract lacks is left out. */
function takeGroups() {
  for (const text of [...new URLSearchParams(location.search).getAll("group"), ...(page.file?.said.getAll("group") ?? [])]) {
    const [name, ...rest] = text.split("=");
    if (Object.hasOwn(page.contract.groups ?? {}, name)) page.groups[name] = rest.join("=");
  }
}

function cardView(card) {
  const { question } = card;
  const title = `q-${question.id}`;
  return h("section", { class: `card ${card.state}`, "aria-labelledby": title, "data-question": question.id },
    h("h2", { id: title, tabindex: "-1", dir: "auto" }, question.text || question.id),
    body(card, title));
}

function body(card, title) {
  const { words } = page;
  if (card.state === "away") return null;
  if (card.state === "full") return h("p", { class: "done" }, fullSentence(card, words, page.withdrawable));
  if (card.state === "open") {
    const tried = h("div", {});
    const button = h("button", { type: "button", class: "quiet", onclick: () => showTrial(card, tried) }, words.tryIt);
    return [oddsView(card.question, words, card === open()[0]), control(card, title, words, () => (tried.replaceChildren(), renderAction())), button, tried];
  }
  return [
    reportsView(card, words, [...page.cards.values()].filter(({ envelopes }) => envelopes.length).length > 1),
    card.state === "sent" && h("p", { class: "done" }, words.sent),
    card.state === "sent" && takesMore(card) && !page.closed
      ? h("button", { type: "button", class: "quiet", onclick: () => answerAgain(card) }, words.again)
      : null,
  ];
}

/** Show trial reports of an answer; none of them is sent or counted. */
async function showTrial(card, place) {
  const sentence = card.value === undefined ? page.words.addNone : mistakeIn(card, page.words);
  if (sentence) {
    showMistake(card, sentence)?.focus();
    return;
  }
  const { trialView } = await import("./trial.js");
  place.replaceChildren(await trialView(card, page.words));
  place.scrollIntoView({ block: "center" });
}

function answerAgain(card) {
  Object.assign(card, { state: "open", value: undefined, mine: undefined, envelopes: [] });
  announce(null);
  render();
  page.steps?.show(card);
  byId(`q-${card.question.id}`).focus();
}

// The action button

function renderAction() {
  const { words } = page;
  const [ready, waiting] = [answered().length, drawn().length + page.older];
  if (!open().length && !waiting) {
    byId("action").replaceChildren();
    byId("hint").textContent = [...page.cards.values()].some(({ state }) => state === "sent") ? words.thanks : "";
    return;
  }
  // What is closed takes no report, so none is sent, and no noise is drawn and spent.
  if (page.closed) {
    byId("action").replaceChildren();
    byId("hint").textContent = "";
    return;
  }
  const [label, act] = waiting ? [words.send(waiting), send] : [ready ? words.add(ready) : words.addNone, addNoise];
  const button = h("button", { type: "button", id: "go", class: "primary", onclick: act, disabled: page.busy || !(ready || waiting) },
    page.busy && waiting ? words.sending : label);
  byId("hint").textContent = waiting ? words.sendHint : ready ? words.addHint : "";
  byId("action").replaceChildren(button);
  page.steps?.bar();
}

async function addNoise() {
  const cards = answered();
  const wrong = cards.map((card) => [card, mistakeIn(card, page.words)]).filter(([, sentence]) => sentence);
  if (wrong.length) page.steps?.show(wrong[0][0]);
  const [field] = wrong.map(([card, sentence]) => showMistake(card, sentence));
  if (wrong.length) {
    (field ?? byId(`q-${wrong[0][0].question.id}`)).focus();
    byId(`q-${wrong[0][0].question.id}-wrong`).scrollIntoView({ block: "center" });
    return;
  }
  // This storage has the ledger, so the browser should keep it when space is short.
  navigator.storage?.persist?.().catch(() => {});
  await busily(async () => {
    await takeStock();
    if (cards.some(({ state }) => state !== "open")) throw new RumorError("tab", "another tab has answered meanwhile");
    const answers = Object.fromEntries(cards.map((card) => [card.question.id, card.value]));
    const groups = page.contract.groups && { groups: page.groups };
    const made = await page.person.prepare(page.contract, answers, { invitation: page.invitation, ...groups });
    for (const report of made) {
      const card = page.cards.get(report.question);
      card.notes = report.notes;
      noteDrawn(card, [report]);
    }
    await takeStock();
    announce("drawn", cards.length);
  });
  if (page.wrong) {
    page.steps?.show(page.cards.get(page.wrong));
    showMistake(page.cards.get(page.wrong), page.words.wrong.answer)?.focus();
  } else byId(`q-${cards[0].question.id}`).focus();
  page.wrong = null;
  showProblem();
}

async function send() {
  const cards = drawn();
  await busily(async () => {
    const outcome = await page.person.send(page.collector, page.contract, { invitation: page.invitation });
    page.refusal = outcome.refusal;
    page.closed ||= outcome.refusal === "closed";
    // If another report of a card is pending, takeStock sets the card's state again.
    for (const card of cards) if (outcome.arrived.includes(card.question.id)) card.state = "sent";
    if (outcome.refusal) throw Object.assign(new RumorError("refused", outcome.problem), { type: outcome.refusal });
    if (outcome.pending) throw new RumorError("unreachable", outcome.problem);
    const [count, over] = [outcome.accepted + outcome.duplicates, outcome.dropped ? new RumorError("over", outcome.problem) : null];
    if (over && !count) throw over;
    await takeStock();
    page.older = 0;
    if (count) announce("sentAll", count);
    else announce("otherTab");
    if (over) complain(over);
  });
  // On success the button is gone, so the status line takes the focus.
  byId("status").textContent ? byId("status").focus() : (byId("retry") ?? byId("go") ?? byId("title")).focus();
  showProblem();
}

/** Scroll to the error, which is above the questions; the pressed button may be below them. */
const showProblem = () => byId("problem").firstChild?.scrollIntoView({ block: "nearest" });

const retry = (act) => h("button", { type: "button", id: "retry", onclick: act }, page.words.retry);

/** Run `work` unless other work runs; show an error as a sentence, and update the page. */
async function busily(work) {
  if (page.busy) return;
  page.busy = true;
  calm();
  if (page.contract) renderAction();
  try {
    await work();
  } catch (problem) {
    announce(null);
    // If takeStock fails too, the first problem is shown.
    await takeStock().catch(() => {});
    if (problem.code === "unreachable") byId("problem").replaceChildren(h("div", { class: "notice" }, h("p", {}, page.words.waiting), retry(send)));
    // A refused answer is shown at its question.
    else if (problem.code === "answer" && page.cards.has(problem.question)) page.wrong = problem.question;
    else complain(problem);
  } finally {
    page.busy = false;
    render();
  }
}

function renderSpent() {
  const { words } = page;
  const { series } = page.contract;
  const all = page.spending;
  const rows = all.filter((row) => row.series === series);
  const others = all.filter((row) => row.series !== series).reduce((sum, row) => sum + row.epsilon, 0);
  const { spent, ceiling } = page.standing;
  // The total privacy loss is shown before any noise is drawn.
  byId("cost").textContent = open().length ? words.costAll(percent(posteriorBound(ceiling)), number(ceiling, 4), page.contract.questions.length) : "";
  const meter = h("div", { class: "meter", "aria-hidden": "true" }, h("span"));
  meter.style.setProperty("--share", Math.min(1, spent / ceiling));
  const text = (row) => page.contract.questions.find((each) => each.id === row.question)?.text || row.question;
  const order = (row) => page.contract.questions.findIndex((each) => each.id === row.question);
  rows.sort((a, b) => order(a) - order(b));
  byId("spent").replaceChildren(...h("div", {},
    h("h2", { id: "spent-title" }, words.spentTitle),
    h("p", { id: "total" }, (spent ? words.spent : words.spentNone)(number(ceiling), number(spent))),
    meter,
    rows.length
      ? h("ul", {}, rows.map((row) => h("li", {}, h("span", {}, text(row)), h("span", {}, `${words.reports(row.reports)}, ${words.epsilon(number(row.epsilon))}`))))
      : null,
    h("p", { class: "soft" }, words.spentWhy, others ? words.space + words.elsewhere(number(others)) : null),
  ).childNodes);
}

// Withdrawal

/** Show the button that withdraws reports; it asks for confirmation, since a withdrawal is final. */
function renderBack() {
  const { words, withdrawable: count } = page;
  if (!count) {
    byId("back").replaceChildren();
    return;
  }
  const button = (id, label, kind, onclick) => h("button", { type: "button", id, class: kind, onclick, disabled: page.busy }, label);
  const ask = (asking) => {
    page.asking = asking;
    renderBack();
    byId(asking ? "back-no" : "back-ask").focus();
  };
  byId("back").replaceChildren(...h("div", {},
    h("h2", { id: "back-title" }, words.withdrawTitle),
    h("p", { class: "soft" }, words.withdrawHint),
    page.asking
      ? h("p", { class: "choices" }, button("back-yes", words.withdrawYes(count), "primary", takeBack), " ", button("back-no", words.withdrawNo, "quiet", () => ask(false)))
      : button("back-ask", words.withdraw(count), "quiet", () => ask(true)),
  ).childNodes);
}

async function takeBack() {
  await busily(async () => {
    const outcome = await page.person.withdraw(page.collector, { series: page.contract?.series });
    reopen();
    page.asking = false;
    page.refusal = null;
    await takeStock();
    if (outcome.left && outcome.refusal) throw Object.assign(new RumorError("refused", outcome.problem), { type: outcome.refusal });
    if (outcome.left) throw new RumorError("away", outcome.problem);
    announce("withdrawn", outcome.withdrawn + outcome.absent);
  });
  // The pressed button is gone: focus the sentence, or the button that asks again.
  (byId("status").textContent ? byId("status") : byId("back-ask") ?? byId("title")).focus();
  showProblem();
}

/** Forget reports that were taken back. */
function reopen() {
  for (const card of page.cards.values()) if (card.state === "sent") Object.assign(card, { state: "open", mine: undefined, envelopes: [] });
}

/** Show what another tab did meanwhile. */
async function lookAgain() {
  if (document.hidden || page.busy || !page.cards.size) return;
  const seen = () => JSON.stringify([...page.cards.values()].map(({ state, made, envelopes }) => [state, made, envelopes.map(({ id }) => String(id))]));
  const before = seen();
  if (page.withdrawable && !(await page.person.withdrawable(page.contract.series))) reopen();
  await takeStock();
  if (seen() !== before) render();
}

async function loadSteps() {
  if (!narrow.matches || page.steps) return;
  page.steps = (await import("./steps.js")).makeSteps(page, narrow, { open, drawn, renderAction });
}

async function start() {
  if (document.body.hasAttribute("data-file")) page.file = (await import("./anywhere.js")).fromFile(document.documentElement.outerHTML);
  takeInvitation();
  await speak(wantedLanguage());
  listen();
  if (page.file && !page.file.collector) return;
  announce("loading");
  try {
    const consent = async (change) => (await import("/client/view/consent.js")).askConsent(change, page.words);
    page.person = await Respondent.open({ store: new BrowserStore(), consent });
    page.collector = page.file?.collector ?? "";
    const contract = await fetchContract(`${page.collector}/v1/collection`, page.file?.pinned);
    await loadControls(contract.questions);
    if (contract.ask || contract.linked || contract.relay || contract.groups) page.notices = await import("/client/view/notices.js");
    page.contract = contract;
    takeGroups();
    await speak(page.lang);
    await takeStock();
    await loadSteps();
    announce(null);
    render();
    narrow.addEventListener("change", async () => {
      await loadSteps();
      render();
    });
  } catch (problem) {
    announce(null);
    complain(problem, problem.code === "unreachable" ? page.file?.unreachable(page.words) : undefined);
    await takeStock().catch(() => {});
    render();
    if (problem.code === "unreachable") byId("problem").firstChild.append(retry(() => location.reload()));
  }
}

function listen() {
  byId("languages").addEventListener("click", async (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.href);
    calm();
    await speak(link.hreflang);
    render();
  });
  document.addEventListener("visibilitychange", lookAgain);
  addEventListener("beforeunload", (event) => answered().length && event.preventDefault());
  // Reports that were on their way when the network went away go out when it is back.
  addEventListener("online", () => page.cards.size && document.querySelector("#problem .notice") && drawn().length && !page.closed && send());
}

styled(document);
start();
