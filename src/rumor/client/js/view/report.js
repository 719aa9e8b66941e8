/** What a question costs, how far it has come, and a report drawn: what it says, and its bits. */

import { mechanismOf } from "../contract.js";
import { lossOf, lossOfContract } from "../loss.js";
import { h } from "./dom.js";

/** A number as the language writes it. */
export const formatNumber = (words, value, digits = 3) => new Intl.NumberFormat(words.tag, { maximumSignificantDigits: digits }).format(value);
export const formatPercent = (words, value) => new Intl.NumberFormat(words.tag, { style: "percent", maximumSignificantDigits: 3 }).format(value);
/** What a guess that is right half of the time becomes at most. */
export const posteriorBound = (epsilon) => 1 / (1 + Math.exp(-epsilon));

/** What a question costs: a sentence, and the belief that it allows at most. The first explains itself, others say what is different. */
export function oddsView(question, words, first) {
  const loss = lossOf(question);
  const sure = posteriorBound(loss.answer);
  const meter = h("div", { class: "belief", "aria-hidden": "true" },
    h("div", { class: "track" }, h("span", { class: "before" }), h("span", { class: "after" })),
    h("p", {}, h("span", {}, `${formatPercent(words, 0.5)} ${words.belief[0]}`), h("span", {}, `${formatPercent(words, sure)} ${words.belief[1]}`)));
  meter.style.setProperty("--belief", sure);
  return h("div", { class: "odds" }, h("p", {}, [oddsSentence(loss, words, first), ...repeatSentences(question, loss, words)].join(words.space)), meter);
}

/** What one answer costs, in all rounds that there are. */
function oddsSentence({ answer, round, rounds }, words, first) {
  const [factor, sure, epsilon] = [formatNumber(words, Math.exp(answer)), formatPercent(words, posteriorBound(answer)), formatNumber(words, answer, 4)];
  if (rounds > 1) return words.oddsRounds(round, rounds, factor, sure, epsilon);
  return first ? words.odds(factor, sure, epsilon) : words.oddsAgain(sure, epsilon);
}

/** What being asked again costs, and which answer stands for how long. */
function repeatSentences(question, { unchanged }, words) {
  const { reports_per_person: times, period_days: days } = question;
  const again = days ? words.repeatedPeriod : words.repeated;
  return [
    ...(times > 1 ? [again(formatNumber(words, times, 9), formatPercent(words, posteriorBound(unchanged)))] : []),
    ...(days ? [words.period(days)] : []),
  ];
}

const SHOWN_BYTES = 48;

/** How many reports a question takes of a person, over the rounds so far. */
export const reportLimit = (question) => question.reports_per_person * (question.mechanism.round ?? 1);

/**
 * Whether one more report of a question is within what was agreed, or may be agreed to now. What a permanent answer
 * costs once more only its ledger knows, and a trifle of rounding is nobody's.
 */
function isAffordable(question, contract, { spent, ceiling }) {
  const most = Math.max(ceiling, lossOfContract(contract).ceiling);
  return mechanismOf(question).isMemoised || spent + question.epsilon <= most * (1 + 1e-6);
}

/** Bring a card up to what the ledger says; `asked` is whether today is its day. */
export function updateCard(card, contract, spending, pending, asked, standing) {
  const { question } = card;
  Object.assign(card, { overLimit: !isAffordable(question, contract, standing), ceiling: standing.ceiling });
  const row = spending.find((each) => each.series === contract.series && each.question === question.id);
  const waiting = pending.filter((envelope) => envelope.question === question.id);
  card.made = row ? row.reports : 0;
  if (waiting.length) Object.assign(card, { state: "drawn", envelopes: waiting });
  else if (card.state !== "sent") card.state = !takesMore(card) ? "full" : asked ? "open" : "away";
}

/** Whether a question takes another report of this person. */
export const takesMore = (card) => card.made < reportLimit(card.question) && !card.overLimit;

/** Why it does not. */
export const fullSentence = (card, words) => (card.made < reportLimit(card.question) ? words.overLimit(formatNumber(words, card.ceiling)) : words.limit(card.made));

/**
 * "Stays here" beside "is sent".
 * @param {any} card
 * @param {{ caption: string, parts: any[] }} description
 * @param {Uint8Array} report
 * @param {string | null} value what the person answered, where the page still knows it
 */
export function reportView(card, description, report, value, words) {
  const { question } = card;
  const caption = words.captions[question.mechanism.name] ?? description.caption;
  const labelled = description.parts.find((part) => part.kind === "bits" && part.labels);
  const drawn = description.parts.some((part) => part.kind === "bits");
  return h("div", { class: "report" },
    h("p", { class: "soft" }, caption),
    coinsView(description.coins, words),
    labelled ? [otherParts(description.parts, words), bitTable(labelled, value, isOwnLabel(labelled, card, value), words)] : valueAndReport(description.parts, value, words),
    drawn ? null : h("p", { class: "soft" }, words.whole(report.length)),
    drawn ? null : tiles(bitsOf(report.subarray(0, SHOWN_BYTES)), words),
    !drawn && report.length > SHOWN_BYTES ? h("p", { class: "soft" }, words.more(report.length - SHOWN_BYTES)) : null,
    alternativesDetails(card, report, words));
}

/** How likely chance makes each bit what it is, from the mechanism's own numbers. */
function coinsView(coins, words) {
  if (!coins) return null;
  return h("p", { class: "soft coins" }, words.coins[coins.of](formatPercent(words, coins.own), formatPercent(words, coins.other)));
}

/** Who else could have sent this: worked out for whoever asks. */
function alternativesDetails(card, report, words) {
  const place = h("div", {});
  const opened = async ({ target }) => {
    if (target.open && !place.hasChildNodes()) place.append(...(await (await import("./alternatives.js")).alternativesView(card, report, words)).filter(Boolean));
  };
  return h("details", { class: "who", ontoggle: opened }, h("summary", {}, words.alternatives.title), place);
}

/** What a report says beside its labelled bits. */
const otherParts = (parts, words) => parts.filter((part) => part.kind !== "bits").map((part) => h("dl", {}, partView(part, words)));

/** A row for each answer: the truth that stays, and the bit that leaves. */
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

// More rows than this nobody reads: those around one's own answer are shown, and the others counted.
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

/** Whether a label is the answer: one of a set, or what was asked `of` several answers. */
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

function partView(part, words) {
  const shown = part.kind === "bits" ? tiles(part.value, words) : (Object.hasOwn(words.values, part.value) ? words.values[part.value] : String(part.value));
  return h("div", {}, h("dt", {}, words.parts[part.name] ?? part.name), h("dd", {}, shown));
}

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

/** The bits of bytes, the lowest of each byte first, as the reports number them. */
const bitsOf = (bytes) => [...bytes].flatMap((byte) => Array.from({ length: 8 }, (_, i) => (byte >> i) & 1));
