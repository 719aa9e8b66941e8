/** The languages that there are: a line for each file of `words`, so that bundlers follow it. */

const LOADERS = {
  en: () => import("./words/en.js"),
  ja: () => import("./words/ja.js"),
  zh: () => import("./words/zh.js"),
};

/** The words of the first of these language tags that there is, else English. */
export async function wordsFor(...tags) {
  const known = tags.map((tag) => (tag ?? "").slice(0, 2).toLowerCase()).find((tag) => Object.hasOwn(LOADERS, tag));
  return (await LOADERS[known ?? "en"]()).default;
}
