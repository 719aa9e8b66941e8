/** One question a screen where the window is narrow: how far one has come, and the way on and back. */

import { byId, h } from "/client/view/dom.js";
import { showMistake, mistakeIn } from "/client/view/controls.js";

const INTRODUCTION = ["lead", "cost"];
const AROUND = ["invitation", "spent", "back", "footer"];

/**
 * The screens of a page. Its `step` is a place among the questions that are open, or null before the
 * first. What the browser calls back goes back by one screen, so that no answer is lost by it.
 * @param {any} page
 * @param {{ open: () => any[], drawn: () => any[], renderAction: () => void }} use
 */
export function makeSteps(page, narrow, { open, drawn, renderAction }) {
  page.step = null;
  const going = () => narrow.matches && open().length > 1 && !drawn().length;
  const current = () => (going() && page.step !== null ? open()[Math.min(page.step, open().length - 1)] : null);

  /** Show what belongs to this screen, and nothing else. */
  function arrange() {
    const here = current();
    const reviewing = narrow.matches && drawn().length > 0;
    document.body.classList.toggle("stepping", here !== null);
    for (const node of byId("cards").children) {
      const card = page.cards.get(node.dataset.question);
      node.hidden = here ? card !== here : card?.state === "open" && (going() || reviewing);
    }
    for (const id of INTRODUCTION) byId(id).hidden = here !== null || reviewing;
    for (const id of AROUND) byId(id).hidden = here !== null;
    byId("progress").hidden = here === null;
    if (!here) return;
    const [place, all] = [open().indexOf(here) + 1, open().length];
    byId("progress").replaceChildren(page.words.steps.of(place, all), h("progress", { max: all, value: place, "aria-hidden": "true" }));
    byId(`q-${here.question.id}`).setAttribute("aria-describedby", "progress");
  }

  function show(step) {
    page.step = step;
    arrange();
    renderAction();
    const here = current();
    scrollTo(0, 0);
    (here ? byId(`q-${here.question.id}`) : byId("title")).focus({ preventScroll: true });
  }

  function go(step) {
    history.pushState({ step }, "");
    show(step);
  }

  function next() {
    const card = current();
    const sentence = card.value === undefined ? null : mistakeIn(card, page.words);
    if (sentence) showMistake(card, sentence)?.focus();
    else go(open().indexOf(card) + 1);
  }

  /** The buttons of this screen, in the place of the one that all questions share. */
  function bar() {
    if (!going()) return;
    const { steps } = page.words;
    const button = (id, look, label, onclick) => h("button", { type: "button", id, class: look, onclick }, label);
    const [here, last] = [current(), open().at(-1)];
    if (here !== last) byId("hint").textContent = "";
    if (!here) {
      const begun = [...page.cards.values()].some(({ state }) => state === "sent");
      byId("action").replaceChildren(button("begin", "primary", (begun ? steps.rest : steps.begin)(open().length), () => go(0)));
    } else {
      const on = here === last ? byId("go") : here.value === undefined ? button("next", "quiet", steps.skip, next) : button("next", "primary", steps.next, next);
      byId("action").replaceChildren(button("previous", null, steps.back, () => history.back()), on);
    }
  }

  addEventListener("popstate", ({ state }) => show(state?.step ?? null));
  byId("cards").addEventListener("keydown", (event) => {
    const here = current();
    // Where a list suggests answers, the key chooses one.
    const typed = event.target.matches("input[type=text]:not([list]), input[type=number]");
    if (event.key === "Enter" && typed && here && here !== open().at(-1)) next();
  });
  return { arrange, bar, show: (card) => going() && show(open().indexOf(card)) };
}
