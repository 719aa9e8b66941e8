/**
 * Kinds of questions by name: what a contract `contractFields` of each beside its mechanism, the kind whose
 * mechanisms it `borrows` where it extends another, and the file of all else: how an answer is read
 * that was `typed`, the `control` that asks for one, what is `wrong` with an answer that a control gave
 * and how it is `shown`, where there is more to say than that of a text or a number.
 *
 * Only what asks loads such a file, and none imports of `view`: a control is handed the page's tools,
 * `h`, `words` and `set` (view/controls.js). A new kind is a file and a line here.
 */

export const KINDS = {
  choice: { contractFields: ["labels"], load: () => import("./kinds/choice.js") },
  ordered: { contractFields: ["labels", "round"], load: () => import("./kinds/ordered.js") },
  set: { contractFields: ["labels"], load: () => import("./kinds/set.js") },
  text: { contractFields: [], load: () => import("./kinds/text.js") },
  words: { contractFields: [], load: () => import("./kinds/words.js") },
  number: { contractFields: [], load: () => import("./kinds/number.js") },
  keyvalue: { contractFields: ["labels", "parent"], load: () => import("./kinds/keyvalue.js") },
  joint: { contractFields: ["parts"], load: () => import("./kinds/joint.js") },
};
