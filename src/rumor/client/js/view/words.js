/** The page's languages: one line for each file of `words`, so that bundlers include it. */

const LOADERS = {
  en: () => import("./words/en.js"),
  ja: () => import("./words/ja.js"),
  zh: () => import("./words/zh.js"),
};

/** Load the texts of the first language among `tags` that the page has, or else English. */
export async function wordsFor(...tags) {
  const known = tags.map((tag) => (tag ?? "").slice(0, 2).toLowerCase()).find((tag) => Object.hasOwn(LOADERS, tag));
  return (await LOADERS[known ?? "en"]()).default;
}
