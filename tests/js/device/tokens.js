/** Blind tokens by the client, in any engine. */

import { blind, finalize, verify } from "../../../src/rumor/client/js/blind.js";
import { fromHex, toHex } from "../../../src/rumor/client/js/bytes.js";
import { credentialOf, keyName, tokenId, tokenMessage } from "../../../src/rumor/client/js/issuing.js";

async function made({ key, opening, salt, factor, answer }) {
  const message = await tokenMessage(fromHex(opening));
  const hidden = await blind(key, message, fromHex(salt), BigInt(`0x${factor}`));
  if (!hidden) return {};
  const signature = await finalize(key, message, fromHex(answer), hidden.inverse);
  if (!signature) return hidden;
  const wrong = await finalize(key, message, fromHex(answer), hidden.blinded);
  const random = await blind(key, message);
  const verified = [message, fromHex(toHex(message).replace(/..$/, "00"))].map((each) => verify(key, each, fromHex(signature)));
  return {
    ...hidden, message: toHex(message), id: await tokenId(message), name: await keyName(key), signature,
    wrong, verified: await Promise.all(verified), random,
  };
}

async function shown({ invitation, series, url }) {
  const { credential, person } = await credentialOf(invitation, series, url);
  return { credential: toHex(credential), person };
}

/** Return what the client makes of the vectors of tokens. */
export const makeTokens = async ({ people, tokens }) =>
  ({ tokens: await Promise.all(tokens.map(made)), people: await Promise.all(people.map(shown)) });
