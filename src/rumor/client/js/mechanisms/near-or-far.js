/** An integer near the true position, or any other: what mechanisms with a window share. */

import { bytesFor, fromLittleEndian, littleEndian } from "../bytes.js";
import { loss, share, size, threshold } from "../checks.js";
import { WORD } from "../randomness.js";

/** Drawn where `others` outputs are far from each position, and the window is at most `most` wide. */
export function nearOrFar(p, others, most) {
  const window = size("window", p.window, 1, most);
  const inside = threshold("inside", p.inside);
  const width = bytesFor(others + window);
  const odds = [inside.big * BigInt(others), (WORD - inside.big) * BigInt(window)];
  return {
    width,
    window,
    epsilon: loss(...odds),
    odds,
    coins: { of: "near", own: share(inside.big), other: null },
    draw(position, draws) {
      if (draws.coin(inside)) return littleEndian(width, position + draws.below(window));
      const far = draws.below(others);
      return littleEndian(width, far + (far >= position ? window : 0));
    },
    supports(report) {
      const said = fromLittleEndian(report);
      return (position) => said >= position && said < position + window;
    },
    parts: (report) => [{ name: "number", kind: "number", value: fromLittleEndian(report) }],
  };
}
