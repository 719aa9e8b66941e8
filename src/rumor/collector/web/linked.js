/** What a person is told where the reports of two of the questions may be joined. */

import { h } from "./dom.js";

/** In every language of the page; only pages of such collections load this. */
export const WORDS = {
  en: {
    joined: (first, second, epsilon) =>
      `Your reports on “${first}” and “${second}” may be joined: whoever holds them can see that both are of one person. Together they tell at most what both cost, epsilon ${epsilon}, which is counted below.`,
  },
  ja: {
    joined: (first, second, epsilon) =>
      `「${first}」と「${second}」についてのあなたの報告は、一つに結び付けられることがあります。報告を受け取る側には、両方が同じ人のものだとわかります。合わせて明かされるのは、多くても両方の分の合計（イプシロン ${epsilon}）で、下の合計に含まれています。`,
  },
  zh: {
    joined: (first, second, epsilon) =>
      `您对“${first}”和“${second}”的报告可能会被关联起来：持有报告的一方能看出两者来自同一个人。两份报告合起来最多透露两者代价之和（epsilon 为 ${epsilon}），已计入下方的总额。`,
  },
};

/** The sentence about two questions, with what both cost as it is to be shown. */
export function linkedView({ linked, question }, epsilon, lang) {
  const [first, second] = linked.map((id) => question(id).text || id);
  return h("p", { id: "linked", class: "notice" }, WORDS[lang].joined(first, second, epsilon));
}
