/** Reports that are one number, likelier one of those that stand for the value. */

import { bytesFor, fromLittleEndian } from "../bytes.js";
import { checkedLoss, approximate } from "../checks.js";
import { WORD } from "../randomness.js";

/** What they share where `near` numbers stand for each value, drawn by the threshold, and `others` do not; `of` names them. */
export function oneNumber(threshold, near, others, of = "number") {
  const odds = [threshold.big * BigInt(others), (WORD - threshold.big) * BigInt(near)];
  return {
    width: bytesFor(near + others),
    epsilon: checkedLoss(...odds),
    odds,
    coins: { of, own: approximate(threshold.big), other: null },
    parts: (report) => [{ name: "number", kind: "number", value: fromLittleEndian(report) }],
  };
}
