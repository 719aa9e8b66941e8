/** Several answers in one table: a control for each part, and what chance decides of them. */

import { h } from "../dom.js";
import * as choice from "./choice.js";

// What only this control says comes with it: no other page need load it.
const DRAWN = {
  en: "Chance decides, whatever you answer, whether the report is about some of these answers together or about one of them alone. One report is sent, with noise.",
  ja: "報告がいくつかの答えの組み合わせについてか、一つの答えだけについてかは、答えに関係なく偶然で決まります。送られるのはノイズを加えた報告一つだけです。",
  zh: "无论您怎样回答，报告是关于其中几个答案的组合，还是只关于一个答案，都由随机决定。只发送一份加入噪声的报告。",
};

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
  const lang = document.documentElement.lang.slice(0, 2);
  return [views, mechanism.components.length > 1 ? h("p", { class: "soft" }, DRAWN[lang] ?? DRAWN.en) : null];
}

/** Each part with its answer. */
export const shown = (value) => Object.entries(value).map(([id, label]) => `${id}: ${label}`).join(", ");
