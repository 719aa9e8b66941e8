/** What an application does with the package: answers to a contract, made into reports. */

import { MemoryStore, Respondent, parseContract } from "@rumor-ldp/client";

export default async function answer(contract, answers) {
  const person = await Respondent.open({ store: new MemoryStore() });
  const made = await person.prepare(await parseContract(contract), answers);
  return Object.fromEntries(made.map(({ question, report }) => [question, report.length]));
}
