/** Each old public name of the client: what it gives, and how often it warns. Prints JSON. */

import { OLD_NAMES, withOldNames } from "../../src/rumor/client/js/deprecation.js";
import { rehearse } from "../../src/rumor/client/js/rehearsal.js";
import { MemoryStore, Respondent, parseContract } from "../../src/rumor/client/js/rumor.js";
import { readFileSync } from "node:fs";

const { contract: given } = JSON.parse(readFileSync(0, "utf8"));
const warnings = [];
console.warn = (sentence) => void warnings.push(sentence);

const members = Object.entries(OLD_NAMES).flatMap(([owner, names]) =>
  Object.entries(names).map(([old, renamed]) => {
    const target = withOldNames({ [renamed]: `the ${renamed}` }, owner);
    const [first, second] = [target[old], target[old]];
    return { owner, old, renamed, first, second, keys: Object.keys(target), warnings: warnings.splice(0) };
  }));

const contract = await parseContract(given);
const person = await Respondent.open({ store: new MemoryStore() });
const assignment = await person.assignment(contract);
const alike = [
  [await person.asked(contract), assignment],
  [assignment.of, assignment.total],
  [await person.sent(), await person.withdrawable()],
  [await person.standing(contract), await person.budget(contract)],
].map((pair) => pair.map((each) => JSON.stringify(each)));
const trials = (await rehearse(contract.questions[0], contract.questions[0].labels[0], 3)).length;

console.log(JSON.stringify({ members, alike, trials, warnings }));
