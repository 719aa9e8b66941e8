/**
 * Many people who enrol with an issuer that cheats and then answer: JSON on the standard input ({ contract,
 * issuer, url, invitations, tries, order }), JSON on the standard output (of each person what became of them).
 * `issuer` takes the place of the contract's own after it was read, as if nobody had checked its key.
 */

import { readFileSync } from "node:fs";

import * as rumor from "../../src/rumor/client/js/rumor.js";
import { toHex } from "../../src/rumor/client/js/bytes.js";

const { contract: text, issuer, url, invitations, tries, order } = JSON.parse(readFileSync(0, "utf8"));
const contract = { ...(await rumor.parseContract(text)), issuer };

const people = await Promise.all(invitations.map(async (invitation) =>
  ({ invitation, device: await rumor.Respondent.open({ store: new rumor.MemoryStore() }), said: [], ids: [] })));

/** Try until it works, or too often; what else than a refusal is thrown is told by its name. */
async function insisting({ said }, work) {
  for (let left = tries; left; left--) {
    try {
      return await work();
    } catch (problem) {
      said.push(problem instanceof rumor.RumorError ? problem.message : `${problem.name}: ${problem.message}`);
    }
  }
}

for (const person of people) await insisting(person, () => person.device.enrol(contract, person.invitation));
for (const place of order) {
  const person = people[place];
  await insisting(person, async () => {
    const made = await person.device.prepare(contract, { colour: "red" });
    person.ids = made.map(({ id }) => toHex(id));
  });
  person.sent = await person.device.send(url, contract, { attempts: 1 });
  person.spent = await person.device.spent();
}
console.log(JSON.stringify(people.map(({ said, ids, sent, spent }) => ({ said, ids, sent, spent }))));
