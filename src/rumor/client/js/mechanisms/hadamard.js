/** Hadamard response: one number that supports half of its block of answers. */

import { fromLittleEndian, littleEndian } from "../bytes.js";
import { refuse, checkInteger, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { oneNumber } from "./one-number.js";

export const keys = ["domain", "blocks", "supported"];

export function make(p, labels) {
  const base = choice(p.domain, 1e6, labels);
  const blocks = checkInteger("blocks", p.blocks, 1, base.domain);
  if (blocks & (blocks - 1)) refuse("blocks must be a power of two", blocks);
  const supported = threshold("supported", p.supported);
  // The smallest power of two that, less one, holds a block's share of the domain.
  const block = 1 << (32 - Math.clz32(Math.ceil(base.domain / blocks)));
  const [half, outcomes] = [block / 2, blocks * block];
  const number = oneNumber(supported, half, outcomes - half);
  const { width } = number;
  return {
    ...base,
    ...number,
    draw(code, draws) {
      const even = draws.coin(supported);
      const pick = draws.below(even ? half : outcomes - half);
      const start = Math.floor(code / (block - 1)) * block;
      if (pick >= half) {
        const beyond = pick - half;
        return littleEndian(width, beyond + (beyond >= start ? block : 0));
      }
      // A bit at the place of the row's lowest makes the parity against the row even or odd.
      const row = 1 + (code % (block - 1));
      const lowest = row & -row;
      const spread = ((pick & -lowest) << 1) | (pick & (lowest - 1));
      return littleEndian(width, start + (spread | (odd(row & spread) === even ? lowest : 0)));
    },
    supports(report) {
      const said = fromLittleEndian(report);
      return (code) => {
        const place = said - Math.floor(code / (block - 1)) * block;
        return place >= 0 && place < block && !odd((1 + (code % (block - 1))) & place);
      };
    },
    caption: `One number from 0 to ${outcomes - 1}; each stands for about half of the answers of a block.`,
  };
}

/** Return whether a number has an odd count of set bits. */
function odd(x) {
  for (let shift = 16; shift; shift >>= 1) x ^= x >>> shift;
  return (x & 1) === 1;
}
