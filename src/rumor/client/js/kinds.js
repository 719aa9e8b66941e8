/**
 * Kinds of questions by name: what a contract `carries` of each beside its mechanism, the kind whose
 * mechanisms it `borrows` where it has none of its own, and the file that reads an answer that was typed,
 * which no page needs. A new kind is a file and a line here.
 */

export const KINDS = {
  choice: { carries: ["labels"], load: () => import("./kinds/choice.js") },
  ordered: { carries: ["labels", "round"], load: () => import("./kinds/ordered.js") },
  set: { carries: ["labels"], load: () => import("./kinds/set.js") },
  text: { carries: [], load: () => import("./kinds/text.js") },
  words: { carries: [], load: () => import("./kinds/words.js") },
  number: { carries: [], load: () => import("./kinds/number.js") },
  keyvalue: { carries: ["labels", "parent"], load: () => import("./kinds/keyvalue.js") },
  joint: { carries: ["parts"], load: () => import("./kinds/joint.js") },
};
