/**
 * Kinds of questions by name: the `contractFields` of each besides its mechanism, the kind whose mechanisms it `borrows`
 * where it extends another, and its module. A module exports `parseAnswer` (for a typed answer) and `control` (which asks for
 * one), and where needed `mistake` (what is wrong with an answer) and `formatAnswer`.
 *
 * Only pages that ask questions load such a module, and none imports from `view`: a control gets the page's tools `h`,
 * `words`, `set` and `searched` as an argument (view/controls.js). A new kind is a file and a line here.
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
