/**
 * `<rumor-question collector="https://collector.example" question="homepage">`: a question of a collection on any
 * page, with the controls of the answer page and the ledger of the page's origin. Importing this defines it.
 *
 * Attributes: `collector`, the address of the collector (by default the page's own origin); `question`, its id;
 * `digest` pins the contract; `lang` is one of the page's languages, by default the language of the surrounding page. An invitation is a property, not an
 * attribute, so that it is in no markup. Events, which bubble and never hold an answer: `rumor-drawn` and
 * `rumor-sent` with the question, `rumor-withdrawn` with a count, `rumor-problem` with a code. Looks: the custom properties of `HOST`.
 */

import { BrowserStore, Respondent, RumorError, fetchContract } from "./rumor.js";
import { control, loadControls, mistakeIn, problemView, showMistake } from "./view/controls.js";
import { h } from "./view/dom.js";
import { formatNumber, fullSentence, noteDrawn, oddsView, reportsView, takesMore, updateCard } from "./view/report.js";
import { styled } from "./view/style.js";
import { wordsFor } from "./view/words.js";

// Light or dark as the page is; each colour can be set from outside.
const HOST = `
:host {
  --card: var(--rumor-card, light-dark(#ffffff, #1b1e23)); --ink: var(--rumor-ink, light-dark(#1d1f23, #e9e8e5));
  --soft: var(--rumor-soft, light-dark(#5c6168, #a3a8b0)); --line: var(--rumor-line, light-dark(#e3e0da, #2e333a));
  --accent: var(--rumor-accent, light-dark(#1d5a96, #8cc1f5)); --on-accent: var(--rumor-on-accent, light-dark(#ffffff, #0c1a28));
  --wash: var(--rumor-wash, light-dark(#eaf1f8, #1d2a38)); --warn: var(--rumor-warn, light-dark(#9a3412, #f4a98a));
  --good: var(--rumor-good, light-dark(#1c6638, #93d6aa));
  --warn-wash: color-mix(in srgb, var(--warn) 8%, var(--card)); --good-wash: color-mix(in srgb, var(--good) 8%, var(--card));
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  display: block;
}
:host([hidden]) { display: none; }
*, ::before, ::after { box-sizing: border-box; }
/* A page's rules for everything reach the element itself, and what it would hand down: inside, all is set anew, but for the
   spaces between letters and words, which people widen to read. */
[part="box"] {
  padding: var(--rumor-padding, 1.5rem); color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: var(--rumor-radius, 1rem); font: var(--rumor-font, 400 1rem/1.6 system-ui, sans-serif); -webkit-text-fill-color: currentcolor;
  text-align: start; text-indent: 0; text-transform: none; text-shadow: none; white-space: normal; cursor: auto;
}
[hidden] { display: none !important; }
h2, h3, p { margin: 0; }
[part="spent"] { margin-top: 0.9rem; }
.title { font-size: 1.25em; font-weight: 620; line-height: 1.25; overflow-wrap: anywhere; color: inherit; letter-spacing: 0; }
.soft { color: var(--soft); font-size: 0.9em; }
.notice, .status { margin-top: 0.8rem; }
.action { margin-top: 1.1rem; display: grid; gap: 0.5rem; justify-items: start; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.title:focus-visible, .status:focus-visible { outline-color: transparent; }
button, input, select { font: inherit; color: inherit; }
button { border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); padding: 0.5rem 0.95rem; cursor: pointer; }
button.primary { background: var(--accent); color: var(--on-accent); border-color: var(--accent); font-weight: 600; padding: 0.8rem 1.4rem; }
button.primary:disabled { background: var(--wash); color: var(--soft); border-color: var(--wash); cursor: default; }
button.quiet { border: 0; background: none; color: var(--soft); padding: 0.35rem 0; font-size: 0.9em; text-decoration: underline; }
input:where([type="text"], [type="number"]), select { width: 100%; padding: 0.7rem 0.9rem; border: 1px solid var(--soft); border-radius: 0.6rem; background: var(--card); }
input:where([type="radio"], [type="checkbox"]) { accent-color: var(--accent); width: 1.15rem; height: 1.15rem; margin: 0; flex: none; }
`;

// What one element draws, sends or withdraws is in the ledger of all; another tab's is looked for when this one is seen again.
const CHANGES = ["rumor-drawn", "rumor-sent", "rumor-withdrawn", "rumor-problem", "visibilitychange"];

// Elements of one collection share its contract. Of a closed one, no noise is drawn and nothing is sent any more.
const contracts = new Map();
const closed = new Set();

function contractOf(collector, digest) {
  const key = JSON.stringify([collector, digest]);
  if (!contracts.has(key)) {
    const fetched = fetchContract(`${collector}/v1/collection`, digest ? { digest } : {});
    contracts.set(key, fetched);
    fetched.catch(() => contracts.delete(key)); // to be tried again
  }
  return contracts.get(key);
}

export class RumorQuestion extends HTMLElement {
  static observedAttributes = ["collector", "question", "digest", "lang"];

  /** The respondent's invitation, if the collection is for invited people. */
  invitation = "";
  #groups = {};
  #run = 0;
  #busy = false;
  #root = this.attachShadow({ mode: "open" });
  #known = null;

  constructor() {
    super();
    styled(this.#root, HOST);
  }

  connectedCallback() {
    for (const change of CHANGES) document.addEventListener(change, this.#lookAgain);
    this.#start();
  }

  disconnectedCallback() {
    for (const change of CHANGES) document.removeEventListener(change, this.#lookAgain);
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#start();
  }

  /** The respondent's groups by name, which are sent in the clear if the collection has them. */
  get groups() {
    return { ...this.#groups };
  }

  // The notice shows what is sent, so it is drawn anew.
  set groups(given) {
    this.#groups = { ...given };
    if (this.isConnected) this.#start();
  }

  /** The collector's address, without the slash at its end. */
  get #collector() {
    return (this.getAttribute("collector") ?? "").replace(/\/+$/, "");
  }

  async #start() {
    const run = ++this.#run;
    // Attributes that change together restart the element once.
    await null;
    if (run !== this.#run) return;
    this.#known = null;
    const words = await wordsFor(this.lang, this.closest("[lang]")?.lang, ...(navigator.languages ?? []));
    this.#put(words, h("p", { class: "soft", role: "status" }, words.loading));
    try {
      const contract = await contractOf(this.#collector, this.getAttribute("digest"));
      const question = contract.question(this.getAttribute("question") ?? "");
      await loadControls([question]);
      const consent = async (change) => (await import("./view/consent.js")).askConsent(change, words, this.#root);
      const person = await Respondent.open({ store: new BrowserStore(), consent });
      const known = { words, contract, person, card: { question, value: undefined, state: "open", envelopes: [] }, notices: [] };
      known.notices = await notices(known, this.#groups);
      if (run !== this.#run) return;
      this.#known = known;
      await this.#stock();
      this.#render();
    } catch (problem) {
      if (run === this.#run) this.#complain(problem, words, () => this.#start());
    }
  }

  async #stock() {
    const { person, contract, card } = this.#known;
    const assignment = await person.assignment(contract);
    const standing = (this.#known.standing = await person.budget(contract));
    this.#known.withdrawable = await person.withdrawable(contract.series);
    updateCard(card, contract, await person.spending(), await person.pending(contract), assignment.open && assignment.questions.includes(card.question.id) && !closed.has(contract.digest), standing);
  }

  #lookAgain = async (event) => {
    if (!this.#known || this.#busy || document.hidden || event.composedPath()[0] === this) return;
    const { card, withdrawable } = this.#known;
    const { state, made } = card;
    await this.#stock();
    if (state === "sent" && withdrawable && !this.#known.withdrawable) await this.#startOver();
    if (card.state !== state || card.made !== made) this.#render();
    else this.#root.querySelector("[part=spent]")?.replaceWith(this.#spent());
  };

  #put(words, ...children) {
    const box = h("div", { lang: words.tag, part: "box" }, ...children);
    for (const old of this.#root.querySelectorAll("[part=box]")) old.remove();
    this.#root.append(box);
  }

  /** Show the element, with a `status` that is information, or that something was `received`. */
  #render(status = null, look = "info") {
    const { words, contract, card, notices } = this.#known;
    const { question, state } = card;
    const title = h("h2", { class: "title", part: "title", id: "title", tabindex: "-1", dir: "auto" }, question.text || question.id);
    const said = h("p", { class: status ? `status notice ${look}` : "status", part: "status", role: "status", tabindex: "-1" }, status);
    const place = h("div", { class: "action", part: "action" });
    const body = { open: () => this.#asking(place), drawn: () => this.#drawn(place), sent: () => this.#sent(place), full: () => h("p", { class: "soft" }, fullSentence(card, words, this.#known.withdrawable)), away: () => (closed.has(contract.digest) ? h("p", { class: "soft" }, words.closed) : null) }[state]();
    this.#put(words, title, state === "full" ? null : notices, body, h("div", { role: "alert" }), said, place, this.#spent());
  }

  /** Show what the collection has cost so far, and the way to take reports back. */
  #spent() {
    const { words, standing, withdrawable: count } = this.#known;
    const back = h("span", {});
    const button = (label, onclick) => h("button", { type: "button", class: "quiet", onclick }, label);
    const ask = (asking) => {
      back.replaceChildren(...(asking
        ? [words.withdrawHint, words.space, button(words.withdrawYes(count), () => this.#withdraw()), " ", button(words.withdrawNo, () => ask(false))]
        : [button(words.withdraw(count), () => ask(true))]));
      if (back.isConnected) back.lastElementChild.focus();
    };
    if (count) ask(false);
    return h("p", { class: "soft", part: "spent" },
      (standing.spent ? words.spent : words.spentNone)(formatNumber(words, standing.ceiling), formatNumber(words, standing.spent)), count ? [" ", back] : null);
  }

  /** Show the question: its privacy loss, its control, and the button that adds noise. */
  #asking(place) {
    const { words, card, contract } = this.#known;
    const button = h("button", { type: "button", class: "primary", part: "button", onclick: () => this.#draw() });
    const changed = () => {
      button.disabled = card.value === undefined;
      button.textContent = button.disabled ? words.addNone : words.add(1);
    };
    changed();
    place.append(h("p", { class: "soft" }, words.addHint), button);
    const invited = contract.admission !== "open" && h("p", {},
      h("label", { for: "code" }, words.invitation),
      h("input", { id: "code", type: "text", autocomplete: "off", value: this.invitation, oninput: ({ target }) => (this.invitation = target.value) }));
    return [oddsView(card.question, words, true), invited, control(card, "title", words, changed)];
  }

  #drawn(place) {
    const { words, contract, card } = this.#known;
    if (!closed.has(contract.digest)) place.append(h("p", { class: "soft" }, words.sendHint), h("button", { type: "button", class: "primary", part: "button", onclick: () => this.#send() }, words.send(1)));
    return reportsView(card, words);
  }

  #sent(place) {
    const { words, contract, card } = this.#known;
    const again = () => {
      Object.assign(card, { state: "open", value: undefined, mine: undefined, envelopes: [] });
      this.#render();
      this.#focus(".title");
    };
    if (takesMore(card) && !closed.has(contract.digest)) place.append(h("button", { type: "button", class: "quiet", onclick: again }, words.again));
    return reportsView(card, words);
  }

  async #draw() {
    const { words, contract, person, card } = this.#known;
    const sentence = mistakeIn(card, words);
    if (sentence) {
      showMistake(card, sentence)?.focus();
      return;
    }
    // This storage has the ledger, so the browser should keep it when space is short.
    navigator.storage?.persist?.().catch(() => {});
    await this.#once(async () => {
      await this.#stock();
      if (card.state !== "open") throw new RumorError("tab", "another tab has answered meanwhile");
      const made = await person.prepare(contract, { [card.question.id]: card.value }, { invitation: this.invitation, ...(contract.groups && { groups: this.#groups }) });
      card.notes = made[0].notes;
      noteDrawn(card, made);
      await this.#stock();
      this.#render(words.drawn(1));
      this.#focus(".title");
      this.#tell("rumor-drawn", { question: card.question.id });
    });
  }

  async #send() {
    const { words, contract, person, card } = this.#known;
    await this.#once(async () => {
      const outcome = await person.send(this.#collector, contract, { invitation: this.invitation, question: card.question.id });
      if (outcome.refusal === "closed") closed.add(contract.digest);
      if (outcome.refusal) throw Object.assign(new RumorError("refused", outcome.problem), { type: outcome.refusal });
      if (outcome.pending) throw new RumorError("unreachable", outcome.problem);
      // The dropped report may be an earlier one; the report drawn now can still have arrived.
      const over = outcome.dropped ? new RumorError("over", outcome.problem) : null;
      if (over && !outcome.arrived.includes(card.question.id)) throw over;
      const count = outcome.accepted + outcome.duplicates;
      if (count) card.state = "sent";
      await this.#stock();
      this.#render(count ? words.sentAll(1) : words.otherTab, count ? "received" : "info");
      this.#focus(".status");
      if (count) this.#tell("rumor-sent", { question: card.question.id, accepted: outcome.accepted });
      if (over) this.#complain(over, words, null);
    });
  }

  /** Take back the reports of this collection, those of other elements among them. */
  async #withdraw() {
    const { words, contract, person } = this.#known;
    await this.#once(async () => {
      const outcome = await person.withdraw(this.#collector, { series: contract.series });
      await this.#startOver();
      if (outcome.left && outcome.refusal) throw Object.assign(new RumorError("refused", outcome.problem), { type: outcome.refusal });
      if (outcome.left) throw new RumorError("away", outcome.problem);
      const count = outcome.withdrawn + outcome.absent;
      this.#render(words.withdrawn(count), "received");
      this.#focus(".status");
      this.#tell("rumor-withdrawn", { count });
    });
  }

  /** Forget a report that was taken back, and ask again where the question allows it. */
  async #startOver() {
    const { card } = this.#known;
    if (card.state === "sent") Object.assign(card, { state: "open", mine: undefined, envelopes: [] });
    await this.#stock();
  }

  /** Run `work` unless other work runs; show an error as a sentence. */
  async #once(work) {
    if (this.#busy) return;
    this.#busy = true;
    try {
      await work();
    } catch (problem) {
      const { words, card } = this.#known;
      if (problem.code === "answer") showMistake(card, words.wrong.answer)?.focus();
      else {
        await this.#stock().catch(() => {});
        this.#render();
        this.#complain(problem, words, card.state === "drawn" ? () => this.#send() : null);
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Show an error, in the element's language if it has a sentence for it. */
  #complain(problem, words, retry) {
    const waits = problem.code === "unreachable" && this.#known?.card.state === "drawn" ? words.waiting : undefined;
    const notice = h("div", { class: "notice", part: "problem" }, problemView(problem, words, waits));
    if (problem.code === "unreachable" && retry) notice.append(h("button", { type: "button", onclick: retry }, words.retry));
    const place = this.#root.querySelector("div[role=alert]");
    if (this.#known && place) place.replaceChildren(notice);
    else this.#put(words, h("div", { role: "alert" }, notice));
    this.#tell("rumor-problem", { code: problem.code ?? "other" });
  }

  #focus(where) {
    this.#root.querySelector(where).focus();
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** Return the notices before answering (view/notices.js), if the contract needs any. */
async function notices({ words, contract, person, card: { question } }, groups) {
  const linked = contract.linked?.includes(question.id);
  if (!contract.ask && !linked && !contract.relay && !contract.groups) return [];
  const { noticesView } = await import("./view/notices.js");
  return noticesView(contract, linked, contract.ask && (await person.assignment(contract)), words, words.tag, groups);
}

if (!customElements.get("rumor-question")) customElements.define("rumor-question", RumorQuestion);
