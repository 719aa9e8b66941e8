/** Reports that are one number: with the higher probability, one that supports the value. */

import { bytesFor, fromLittleEndian } from "../bytes.js";
import { checkedLoss, approximate } from "../checks.js";
import { WORD } from "../randomness.js";

/** Return the shared members of mechanisms whose value is supported by `near` numbers and not by `others`; `of` names the coin. */
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
