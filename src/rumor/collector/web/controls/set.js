/** Boxes to tick, as many as apply, or none of them. */

import { h } from "../dom.js";

// What only this control says comes with it: no other page need load it.
const UP_TO = {
  en: (cap) => `Choose up to ${cap}. Of more, ${cap} are drawn at random on this device.`,
  ja: (cap) => `${cap}個まで選んでください。それより多いときは、この端末が無作為に${cap}個を選びます。`,
  zh: (cap) => `最多选择 ${cap} 项。如果更多，本设备会随机抽取其中 ${cap} 项。`,
};
const upTo = (cap) => (UP_TO[document.documentElement.lang.slice(0, 2)] ?? UP_TO.en)(cap);

export function control(card, title, words, set) {
  const { labels, mechanism: { domain, cap } } = card.question;
  const names = labels ?? Array.from({ length: domain }, (_, option) => option);
  const hint = `${title}-hint`;
  const none = h("input", { type: "checkbox", checked: card.value && !card.value.length });
  const rows = names.map((name) => ({ name, box: h("input", { type: "checkbox", checked: card.value?.includes(name) }) }));
  const collect = () => {
    const chosen = rows.filter(({ box }) => box.checked).map(({ name }) => name);
    set(chosen.length || none.checked ? chosen : undefined);
  };
  none.addEventListener("change", () => {
    if (none.checked) for (const { box } of rows) box.checked = false;
    collect();
  });
  for (const { box } of rows) {
    box.addEventListener("change", () => {
      if (box.checked) none.checked = false;
      collect();
    });
  }
  const capped = cap !== undefined && cap < domain;
  return [
    capped ? h("p", { id: hint, class: "soft" }, upTo(cap)) : null,
    h("div", { role: "group", "aria-labelledby": title, "aria-describedby": capped ? hint : null, class: "options" },
      rows.map(({ name, box }) => h("label", { class: "option" }, box, h("span", {}, String(name)))),
      h("label", { class: "option" }, none, h("span", {}, words.none))),
  ];
}

/** The options that were chosen. */
export const shown = (value, words) => value.join(", ") || words.none;
