/** A design on paper: dice or cards in the person's own hand; a device throws them as well. */

import { checkInteger, checkedLoss, refuse } from "../checks.js";
import { choice } from "./labels.js";

export const keys = ["domain", "design", "faces", "holders", "others"];

// Whether a design can have these numbers of faces, out of `n`, for the first word given either answer.
const HOLDS = {
  "warner": (h, o, n) => h + o === n,
  "forced-response": (h, o) => h > o,
  "unrelated-question": (h, o) => h > o,
  "crosswise": (h, o, n) => h + o === n && o > 0,
  "triangular": (h, o, n) => h === n,
  "kuk": (h, o, n) => h < n && o < n,
  "mangat": (h, o, n) => h === n,
};

const divisor = (a, b) => (b ? divisor(b, a % b) : a);

export function make(p, labels) {
  const base = choice(p.domain, 2, labels);
  const names = Object.keys(HOLDS);
  if (!names.includes(p.design)) refuse(`design must be one of ${names.join(", ")}`, p.design);
  const faces = checkInteger("faces", p.faces, 2, 2 ** 32);
  const [holders, others] = ["holders", "others"].map((name) => checkInteger(name, p[name], 0, faces));
  const said = `${holders} and ${others} of ${faces} faces`;
  if (holders === others || Math.abs(holders - others) === faces) refuse("the words of a design must depend on the answer and not tell it", said);
  if (divisor(divisor(faces, holders), others) !== 1) refuse("the faces of a design must be as few as can be", said);
  if (!HOLDS[p.design](holders, others, faces)) refuse(`the chances of a design must be those of '${p.design}'`, said);
  // The faces of report 0 given either answer.
  const zeros = holders > others ? [holders, others] : [faces - holders, faces - others];
  const [own, other] = zeros.map(BigInt);
  const [first, second] = [[own, other], [BigInt(faces) - other, BigInt(faces) - own]];
  const [above, below] = first[0] * second[1] > second[0] * first[1] ? first : second;
  return {
    ...base,
    width: 1,
    epsilon: checkedLoss(above, below),
    // How likely this report is from people with the answer that it names, and from others.
    coins([said]) {
      const [own, other] = said ? [faces - zeros[1], faces - zeros[0]] : zeros;
      return { of: "answer", own: own / faces, other: other / faces };
    },
    draw: (code, draws) => Uint8Array.of(Number(draws.below(faces) >= zeros[code])),
    caption: "One of the two answers: dice of the device decided between the true one and chance.",
    parts: (report) => [{ name: "answer", kind: "text", value: base.nameOf(report[0]) }],
  };
}
