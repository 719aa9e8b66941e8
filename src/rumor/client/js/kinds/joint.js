/** Several answers in one table: a label for each part. */

import { refuseAnswer } from "../checks.js";
import * as choice from "./choice.js";

/** PART=LABEL, PART=LABEL..., labels by number or name; a comma ends a label only before a further part. */
export function parseAnswer({ parts, mechanism }, text) {
  const known = parts ?? mechanism.sizes.map((_, part) => ({ id: String(part), labels: null }));
  const ids = known.map(({ id }) => id).join("|");
  const found = new Map();
  for (const piece of text.split(new RegExp(`,\\s*(?=(?:${ids})\\s*=)`))) {
    const at = piece.indexOf("=");
    if (at < 0) refuseAnswer("parts must be PART=LABEL, PART=LABEL...", "one without =");
    const id = piece.slice(0, at).trim();
    if (found.has(id)) refuseAnswer("each part must be answered once", "one twice");
    found.set(id, choice.parseAnswer({ labels: null, ...known.find((part) => part.id === id) }, piece.slice(at + 1).trim()));
  }
  return Object.fromEntries(found);
}

/** Return a control for each part, and the sentence on which parts the report is about. */
export function control(card, title, { h, words, set }) {
  const { id, parts, mechanism } = card.question;
  const given = { ...card.value };
  const collect = (part, value) => {
    if (value === undefined) delete given[part];
    else given[part] = value;
    set(parts.every((each) => Object.hasOwn(given, each.id)) ? { ...given } : undefined);
  };
  const views = parts.map((part) => {
    const name = `${title}-${part.id}`;
    const own = { question: { id: `${id}-${part.id}`, labels: part.labels, mechanism: {} }, value: given[part.id] };
    const view = h("div", {}, h("h3", { id: name }, part.id), choice.control(own, `${title} ${name}`, { h, words, set: (value) => collect(part.id, value) }));
    view.style.marginBottom = "0.9rem";
    return view;
  });
  return [views, mechanism.components.length > 1 ? h("p", { class: "soft" }, words.jointly) : null];
}

/** Return the sentence about a part whose text is no label; null where all are valid. */
export const mistake = ({ value }, words) => (Object.values(value).includes(null) ? words.wrong.listed : null);

/** Each part with its answer. */
export const formatAnswer = (value) => Object.entries(value).map(([id, label]) => `${id}: ${label}`).join(", ");
