/** The shared vectors in an engine of apps: `check(text)` takes the name of a check and what is given to it, as JSON. */

import { fromHex, toHex, concat } from "../../../src/rumor/client/js/bytes.js";
import { infoOf, schedule, seal } from "../../../src/rumor/client/js/relay.js";
import { Settling } from "../../../src/rumor/client/device/promise.js";
import { makeTokens } from "./tokens.js";
import { compare } from "./vectors.js";

const CHECKS = {
  compare,
  makeTokens,
  async seal({ receiver, digest, question, plain, turn, vector: { joint, enc, info, receiver: whose } }) {
    const sealed = await seal(receiver, infoOf(digest, question, turn), fromHex(plain));
    const { key, nonce } = await schedule(fromHex(joint), fromHex(enc), fromHex(whose), fromHex(info));
    return { sealed: toHex(sealed), schedule: toHex(concat(key, nonce)) };
  },
};
const host = { random: (size) => JSON.parse(ask(JSON.stringify({ name: "random", given: [size] }))).value };

export function check(text) {
  const { name, given } = JSON.parse(text);
  return JSON.stringify(Settling.of(host, () => CHECKS[name](given)));
}
