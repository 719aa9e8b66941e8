/**
 * The control of a question, which its kind makes (kinds.js), and the sentence about a mistake. A control
 * stores its answer in its card's `value`; undefined is no answer.
 */

import { RumorError } from "../errors.js";
import { KINDS } from "../kinds.js";
import { h } from "./dom.js";

const loaded = {};

/** Load the controls of the kinds of these questions. */
export async function loadControls(questions) {
  const kinds = [...new Set(questions.map(({ kind }) => kind))];
  const modules = await Promise.all(kinds.map((kind) => KINDS[kind].load())).catch((problem) => {
    throw new RumorError("unreachable", `the controls of the questions must load; they did not (${problem.message})`);
  });
  kinds.forEach((kind, i) => (loaded[kind] = modules[i]));
}

/** Return the control of a card; it calls `changed` when the value changes. */
export function control(card, title, words, changed) {
  const set = (value) => {
    card.value = value;
    showMistake(card, null);
    changed();
  };
  card.wrong = h("p", { class: "wrong", id: `${title}-wrong`, role: "alert" });
  const tools = { h, words, set, searched: (...list) => searched(words, ...list) };
  return h("div", { class: "control" }, loaded[card.question.kind].control(card, title, tools), card.wrong);
}

// The most boxes to tick without a search.
const BOXES = 12;

/** Return `list`, where it is long below a field that hides those `rows` whose names lack what is typed and that are not ticked. */
function searched(words, list, rows, names, title) {
  if (names.length <= BOXES) return list;
  const hint = h("p", { id: `${title}-found`, class: "soft", role: "status" }, words.typeToFind(names.length));
  const find = ({ target }) => {
    const wanted = target.value.trim().toLowerCase();
    const fits = names.map((name) => String(name).toLowerCase().includes(wanted));
    rows.forEach((row, i) => (row.hidden = !fits[i] && !row.querySelector("input").checked));
    hint.textContent = wanted ? words.found(fits.filter(Boolean).length, Infinity) : words.typeToFind(names.length);
  };
  list.classList.add("found");
  return [h("input", { type: "search", autocomplete: "off", dir: "auto", "aria-labelledby": title, "aria-describedby": hint.id, oninput: find }), hint, list];
}

/** Return the sentence about a mistake in a card's answer; null where the answer is valid. */
export const mistakeIn = (card, words) => loaded[card.question.kind].mistake?.(card, words) ?? null;

/** Show a sentence about a mistake at its question, or remove it (null). */
export function showMistake(card, sentence) {
  const place = card.wrong;
  if (!place?.isConnected) return null;
  place.textContent = sentence ?? "";
  const field = place.parentElement.querySelector("input, select");
  if (sentence) field?.setAttribute("aria-invalid", "true");
  else place.parentElement.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
  return field;
}

// Errors whose English message says more than the sentence of the page's language.
const DETAILED = ["turn", "limit", "state", "contract", "digest", "issuer", "invitation", "revision"];

/** Return the sentence for an error in the page's language; undefined where it has none. */
const errorSentence = ({ type, reason, code }, words) =>
  words.refusals[type] ?? words.errors[reason] ?? { closed: words.closed, asked: words.asked.error }[code] ?? words.errors[code];

/** Show an error as a sentence, `own` or that of its code; what only English says follows, opened by a tap on other pages. */
export function problemView(problem, words, own = errorSentence(problem, words)) {
  const known = problem instanceof RumorError;
  // An unknown error's message may contain an answer, so only the stack is logged.
  if (!known) console.error(problem?.name, String(problem?.stack).match(/^\s+at .*$/gm)?.join("\n"));
  const detailed = known && (!own || (!problem.type && !problem.reason && DETAILED.includes(problem.code)));
  const detail = detailed && h("p", { lang: "en" }, `${problem.message[0].toUpperCase()}${problem.message.slice(1)}.`);
  if (words.tag === "en" && !own && detail) return [detail];
  return [h("p", {}, own ?? words.errors.other), words.tag === "en" || !detail ? detail : h("details", {}, h("summary", {}, words.detail), detail)];
}

/** Return an answer as text for the respondent. */
export const formatAnswer = (question, value, words) => (loaded[question.kind].formatAnswer ?? String)(value, words);
