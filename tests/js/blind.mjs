/** What the client makes of the vectors of tokens: JSON on the standard input, JSON on the standard output. */

import { readFileSync } from "node:fs";

import { blind, finalize, verify } from "../../src/rumor/client/js/blind.js";
import { fromHex, toHex } from "../../src/rumor/client/js/bytes.js";
import { credentialOf, keyName, tokenId, tokenMessage } from "../../src/rumor/client/js/issuing.js";

const { people, tokens } = JSON.parse(readFileSync(0, "utf8"));

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

console.log(JSON.stringify({ tokens: await Promise.all(tokens.map(made)), people: await Promise.all(people.map(shown)) }));
