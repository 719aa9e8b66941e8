/** The windowed response: an integer near the true position, or any other integer. */

import { fromLittleEndian, littleEndian } from "../bytes.js";
import { checkInteger, threshold } from "../checks.js";
import { oneNumber } from "./one-number.js";

/** Return the members that mechanisms with a window share: `others` outputs are far from each position, the window is at most `most` wide. */
export function windowedResponse(p, others, most) {
  const window = checkInteger("window", p.window, 1, most);
  const inside = threshold("inside", p.inside);
  const number = oneNumber(inside, window, others, "near");
  const { width } = number;
  return {
    ...number,
    window,
    draw(position, draws) {
      if (draws.coin(inside)) return littleEndian(width, position + draws.below(window));
      const far = draws.below(others);
      return littleEndian(width, far + (far >= position ? window : 0));
    },
    supports(report) {
      const said = fromLittleEndian(report);
      return (position) => said >= position && said < position + window;
    },
  };
}
