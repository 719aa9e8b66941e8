/** Views of a question's privacy loss, its state, and a report with its bits. */

import { describeReport, mechanismOf } from "../contract.js";
import { lossOf, lossOfContract } from "../loss.js";
import { formatAnswer } from "./controls.js";
import { h } from "./dom.js";

/** Return a number as the page's language writes it. */
export const formatNumber = (words, value, digits = 3) => new Intl.NumberFormat(words.tag, { maximumSignificantDigits: digits }).format(value);
export const formatPercent = (words, value) => new Intl.NumberFormat(words.tag, { style: "percent", maximumSignificantDigits: 3 }).format(value);
/** Return the largest posterior probability of a guess with prior probability 1/2. */
export const posteriorBound = (epsilon) => 1 / (1 + Math.exp(-epsilon));

/** Show the privacy loss of a question as sentences and a meter; the `first` question on a page explains the odds. */
export function oddsView(question, words, first) {
  const loss = lossOf(question);
  const sure = posteriorBound(loss.answer);
  const meter = h("div", { class: "belief", "aria-hidden": "true" },
    h("div", { class: "track" }, h("span", { class: "before" }), h("span", { class: "after" })),
    h("p", {}, h("span", {}, `${formatPercent(words, 0.5)} ${words.belief[0]}`), h("span", {}, `${formatPercent(words, sure)} ${words.belief[1]}`)));
  meter.style.setProperty("--belief", sure);
  return h("div", { class: "odds" }, h("p", {}, [oddsSentence(loss, words, first), ...repeatSentences(question, loss, words)].join(words.space)), meter);
}

/** Return the sentence on the privacy loss of one answer, in all rounds. */
function oddsSentence({ answer, round, rounds }, words, first) {
  const [factor, sure, epsilon] = [formatNumber(words, Math.exp(answer)), formatPercent(words, posteriorBound(answer)), formatNumber(words, answer, 4)];
  if (rounds > 1) return words.oddsRounds(round, rounds, factor, sure, epsilon);
  return first ? words.odds(factor, sure, epsilon) : words.oddsAgain(sure, epsilon);
}

/** Return the sentences on the privacy loss of repeated answers, and on the memo period. */
function repeatSentences(question, { unchanged }, words) {
  const { reports_per_person: times, period_days: days } = question;
  const again = days ? words.repeatedPeriod : words.repeated;
  return [
    ...(times > 1 ? [again(formatNumber(words, times, 9), formatPercent(words, posteriorBound(unchanged)))] : []),
    ...(days ? [words.period(days)] : []),
  ];
}

const SHOWN_BYTES = 48;

/** Return the number of reports per respondent that a question allows, over the rounds so far. */
export const reportLimit = (question) => question.reports_per_person * (question.mechanism.round ?? 1);

/**
 * Return whether one more report of a question fits the limit, or the limit that may be agreed to now. The cost of a
 * memoised answer depends on the ledger, which checks it. The tolerance allows for rounding.
 */
function isAffordable(question, contract, { spent, ceiling }) {
  const most = Math.max(ceiling, lossOfContract(contract).ceiling);
  return mechanismOf(question).isMemoised || spent + question.epsilon <= most * (1 + 1e-6);
}

/** Update a question card from the ledger. `isToday`: whether this device may answer today. */
export function updateCard(card, contract, spending, pending, isToday, standing) {
  const { question } = card;
  Object.assign(card, { overLimit: !isAffordable(question, contract, standing), ceiling: standing.ceiling });
  const row = spending.find((each) => each.series === contract.series && each.question === question.id);
  const waiting = pending.filter((envelope) => envelope.question === question.id);
  card.made = row ? row.reports : 0;
  if (waiting.length) Object.assign(card, { state: "drawn", envelopes: waiting });
  else if (card.state !== "sent") card.state = !takesMore(card) ? "full" : isToday ? "open" : "away";
}

/** Return whether a question allows another report of this respondent. */
export const takesMore = (card) => card.made < reportLimit(card.question) && !card.overLimit;

/** Return the sentence on why a question allows no further report, and on whether any is left to withdraw. */
export const fullSentence = (card, words, withdrawable) => {
  const why = card.made < reportLimit(card.question) ? words.overLimit(formatNumber(words, card.ceiling)) : words.limit(card.made);
  return card.made && !withdrawable ? why + words.space + words.noneLeft : why;
};

/** Remember which `reports` this page drew from a card's answer; other tabs draw reports too. */
export function noteDrawn(card, reports) {
  card.mine = new Map([...(card.mine ?? []), ...reports.map(({ id }) => [String(id), card.value])]);
}

/** Show the reports of a card, each beside its answer where this page drew it; if `brief`, as a line that opens. */
export function reportsView(card, words, brief = false) {
  const { question, envelopes } = card;
  const own = envelopes.map(({ id }) => card.mine?.get(String(id)));
  const isOwn = (value) => value !== undefined;
  return [
    card.state === "drawn" && !own.every(isOwn) ? h("p", { class: "soft" }, words.earlier) : null,
    own.some(isOwn) ? (card.notes ?? []).map((note) => h("p", { class: "notice info note" }, words.notes[note.code](note))) : null,
    envelopes.map(({ report }, i) => {
      const [mine, description] = [{ question, value: own[i] }, describeReport(question, report)];
      const value = isOwn(own[i]) ? formatAnswer(question, own[i], words) : null;
      if (!brief) return reportView(mine, description, report, value, words);
      return h("details", { class: "brief", open: card.isOpen, ontoggle: ({ target }) => (card.isOpen = target.open) },
        h("summary", {},
          value === null ? null : h("span", {}, h("small", {}, words.stays), h("span", { dir: "auto" }, value)),
          h("span", {}, h("small", {}, words.leaves), h("span", { dir: "auto" }, inBrief(description.parts, words)))),
        reportView(mine, description, report, value, words, brief));
    }),
  ];
}

/**
 * Show the answer, which stays on the device, beside the report, which is sent.
 * @param {any} card
 * @param {{ caption: string, parts: any[] }} description
 * @param {Uint8Array} report
 * @param {string | null} value the answer, where the page still knows it
 * @param {boolean} brief whether a line above shows the answer
 */
function reportView(card, description, report, value, words, brief) {
  const { question } = card;
  const caption = words.captions[question.mechanism.name] ?? description.caption;
  const labelled = description.parts.find((part) => part.kind === "bits" && part.labels);
  const drawn = description.parts.some((part) => part.kind === "bits");
  return h("div", { class: "report" },
    h("p", { class: "soft" }, caption),
    coinsView(description.coins, words),
    labelled ? [otherParts(description.parts, words), bitTable(labelled, value, isOwnLabel(labelled, card, value), words)] : valueAndReport(description.parts, brief ? null : value, words),
    drawn ? null : h("p", { class: "soft" }, words.whole(report.length)),
    drawn ? null : tiles(bitsOf(report.subarray(0, SHOWN_BYTES)), words),
    !drawn && report.length > SHOWN_BYTES ? h("p", { class: "soft" }, words.more(report.length - SHOWN_BYTES)) : null,
    alternativesDetails(card, report, words));
}

// The most answers with a 1 that a line names.
const NAMED = 3;

/** Return what a report says, as a line. */
function inBrief(parts, words) {
  const { comma, more } = words.alternatives;
  // Bits without labels say more than the group that they were made for.
  const isFilter = (part) => part.kind === "bits" && !part.labels;
  const first = [...parts].sort((one, other) => Number(isFilter(other)) - Number(isFilter(one)));
  return first.map((part) => {
    if (part.kind !== "bits") return `${part.name === "answer" ? "" : `${partName(part, words)}: `}${partValue(part, words)}`;
    const ones = part.value.filter(Boolean).length;
    if (!part.labels) return part.value.length > 1 ? words.bitsSummary(part.value.length, ones) : `${partName(part, words)}: ${ones}`;
    const named = part.labels.filter((_, i) => part.value[i]).slice(0, NAMED);
    return ones ? named.join(comma) + (ones > NAMED ? more(formatNumber(words, ones - NAMED, 9)) : "") : words.none;
  }).join(comma) || words.none;
}

/** Show the probabilities of the report's noise. */
function coinsView(coins, words) {
  if (!coins) return null;
  return h("p", { class: "soft coins" }, words.coins[coins.of](formatPercent(words, coins.own), formatPercent(words, coins.other)));
}

/** Show the alternative answers of a report, computed when they are opened. */
function alternativesDetails(card, report, words) {
  const place = h("div", {});
  const opened = async ({ target }) => {
    if (target.open && !place.hasChildNodes()) place.append(...(await (await import("./alternatives.js")).alternativesView(card, report, words)).filter(Boolean));
  };
  return h("details", { class: "who", ontoggle: opened }, h("summary", {}, words.alternatives.title), place);
}

/** Show the parts of a report other than its labelled bits. */
const otherParts = (parts, words) => parts.filter((part) => part.kind !== "bits").map((part) => h("dl", {}, partView(part, words)));

/** Show a row for each answer: the true bit, which stays, and the noisy bit, which is sent. */
function bitTable(part, value, own, words) {
  const near = rowsNearOwn(part.labels, own);
  const row = (label, i) =>
    h("tr", { class: own(label) ? "own" : null },
      h("th", { scope: "row", dir: "auto" }, label, own(label) ? h("small", {}, ` ${words.yours}`) : null),
      value === null ? null : h("td", {}, h("span", { class: `bit stays ${own(label) ? "one" : ""}` }, own(label) ? "1" : "0")),
      h("td", {}, tile(part.value[i], i)));
  return h("table", { class: "bittable" },
    h("thead", {}, h("tr", {},
      h("th", { scope: "col" }, words.answers),
      value === null ? null : h("th", { scope: "col" }, words.stays),
      h("th", { scope: "col" }, words.leaves))),
    h("tbody", {}, near.map((i) => row(part.labels[i], i))),
    near.length < part.labels.length ? h("tfoot", {}, h("tr", {}, h("td", { colspan: 3 }, restSentence(part, near, words)))) : null);
}

// Longer tables show only the rows around one's own answer, and count the others.
const [WHOLE, AROUND] = [40, 5];

function rowsNearOwn(labels, own) {
  if (labels.length <= WHOLE) return labels.map((_, i) => i);
  const mine = Math.max(0, labels.findIndex(own));
  const first = Math.max(0, Math.min(mine - AROUND, labels.length - 2 * AROUND - 1));
  return Array.from({ length: 2 * AROUND + 1 }, (_, i) => first + i);
}

function restSentence(part, near, words) {
  const shown = near.filter((i) => part.value[i]).length;
  const ones = part.value.reduce((sum, bit) => sum + (bit ? 1 : 0), 0) - shown;
  return words.others(part.labels.length - near.length, ones);
}

/** Return a function that tells whether a label is one's own answer: an option of a set, or the parts `of` a joint answer. */
function isOwnLabel(part, card, value) {
  if (value === null) return () => false;
  if (Array.isArray(card.value)) return (label) => card.value.includes(label);
  const own = part.of ? part.of.map((id) => card.value[id]).join(", ") : value;
  return (label) => label === own;
}

function valueAndReport(parts, value, words) {
  return h("div", { class: "split" },
    value === null ? null : h("div", { class: "stays" }, h("h3", {}, words.stays), h("p", { class: "value" }, value)),
    h("div", { class: "leaves" }, h("h3", {}, words.leaves), h("dl", {}, parts.map((part) => partView(part, words)))));
}

const partName = ({ name }, words) => words.parts[name] ?? name;
const partValue = ({ value }, words) => (Object.hasOwn(words.values, value) ? words.values[value] : String(value));

const partView = (part, words) =>
  h("div", {}, h("dt", {}, partName(part, words)), h("dd", {}, part.kind === "bits" ? tiles(part.value, words) : partValue(part, words)));

function tiles(bits, words) {
  const ones = bits.filter((bit) => bit).length;
  const label = words.bitsSummary(bits.length, ones);
  const most = 8 * SHOWN_BYTES;
  return [
    h("div", { class: "tiles", role: "img", "aria-label": label }, bits.slice(0, most).map(tile)),
    bits.length > most ? h("p", { class: "soft" }, words.more((bits.length - most) >> 3)) : null,
  ];
}

function tile(bit, i) {
  const node = h("span", { class: bit ? "bit one" : "bit" }, bit ? "1" : "0");
  node.style.setProperty("--i", i);
  return node;
}

/** Return the bits of bytes, the lowest bit of each byte first. */
const bitsOf = (bytes) => [...bytes].flatMap((byte) => Array.from({ length: 8 }, (_, i) => (byte >> i) & 1));
