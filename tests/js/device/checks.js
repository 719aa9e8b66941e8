/** The shared vectors in an engine of apps: `check(text)` takes the name of a check and what is given to it, as JSON. */

import { deriveToken, readInvitation } from "../../../src/rumor/client/js/admission.js";
import { blind } from "../../../src/rumor/client/js/blind.js";
import { fromHex, toHex, concat } from "../../../src/rumor/client/js/bytes.js";
import { credentialOf, keyName, tokenId, tokenMessage } from "../../../src/rumor/client/js/issuing.js";
import { infoOf, schedule, seal } from "../../../src/rumor/client/js/relay.js";
import { reportId } from "../../../src/rumor/client/js/withdrawal-keys.js";
import { originOf } from "../../../src/rumor/client/device/host.js";
import { Settling } from "../../../src/rumor/client/device/promise.js";
import { makeTokens } from "./tokens.js";
import { compare } from "./vectors.js";

const CHECKS = {
  compare,
  makeTokens,
  /** What goes along with a report, of its `key`, `opening` or invitation (rumor vectors). */
  async deliver({ contract, digest, vectors }) {
    const { series, issuer, relay } = contract;
    return Promise.all(vectors.map(async (one) => {
      const found = { id: one.message ? await tokenId(fromHex(one.message)) : await reportId(one.key) };
      if (one.token) found.token = await deriveToken(await readInvitation(one.invitation), series, one.question, 0);
      if (relay) found.info = toHex(infoOf(digest, one.question, one.turn ?? undefined));
      if (!one.message) return found;
      const message = await tokenMessage(fromHex(one.key));
      const { blinded, inverse } = await blind(issuer.keys[one.question], message, fromHex(one.salt), BigInt(`0x${one.factor}`));
      const { credential } = await credentialOf(one.invitation, series, issuer.url);
      return { ...found, message: toHex(message), "issuer key": await keyName(issuer.keys[one.question]), blinded, inverse: inverse.replace(/^0+/, ""), credential: toHex(credential) };
    }));
  },
  origins: (addresses) => addresses.map(originOf),
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
