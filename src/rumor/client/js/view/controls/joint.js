/** Several answers in one table: a control for each part, and what chance decides of them. */

import { h } from "../dom.js";
import * as choice from "./choice.js";

export function control(card, title, words, set) {
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
    const view = h("div", {}, h("h3", { id: name }, part.id), choice.control(own, `${title} ${name}`, words, (value) => collect(part.id, value)));
    view.style.marginBottom = "0.9rem";
    return view;
  });
  return [views, mechanism.components.length > 1 ? h("p", { class: "soft" }, words.jointly) : null];
}

/** Each part with its answer. */
export const shown = (value) => Object.entries(value).map(([id, label]) => `${id}: ${label}`).join(", ");
