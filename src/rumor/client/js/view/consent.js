/** The request for consent to a higher limit of a series. */

import { h } from "./dom.js";
import { posteriorBound, formatNumber, formatPercent } from "./report.js";

/**
 * Ask for consent, and wait for the answer; closing the question counts as a no.
 * @param {{ spent: number, before: number, after: number }} change the epsilon spent, the limit so far, and the limit asked for
 * @param {any} words
 * @param {Node} place where the question is put
 * @returns {Promise<boolean>}
 */
export function askConsent({ spent, before, after }, words, place = document.body) {
  const { title, text, spent: soFar, before: agreed, after: wanted, otherwise, yes, no } = words.consent;
  const line = (name, epsilon) => h("div", {}, h("dt", {}, name), h("dd", {}, words.epsilon(formatNumber(words, epsilon, 4))));
  return new Promise((resolve) => {
    const button = (said, look, label) =>
      h("button", { type: "button", class: look, autofocus: said === "no", onclick: () => dialog.close(said) }, label);
    const dialog = h("dialog", {
      class: "consent", "aria-labelledby": "consent-title", "aria-describedby": "consent-text consent-costs",
      onclose: () => {
        dialog.remove();
        resolve(dialog.returnValue === "yes");
      },
    },
      h("h2", { id: "consent-title" }, title),
      h("p", { id: "consent-text" }, text(...[before, after].map((epsilon) => formatPercent(words, posteriorBound(epsilon))))),
      h("dl", { id: "consent-costs" }, line(soFar, spent), line(agreed, before), line(wanted, after)),
      h("p", { class: "soft" }, otherwise),
      h("div", { class: "choices" }, button("no", null, no), button("yes", "primary", yes)));
    place.append(dialog);
    dialog.showModal();
  });
}
