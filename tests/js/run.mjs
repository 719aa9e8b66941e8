/**
 * Take steps with the client and say what came of each: a JSON list of steps on the standard input,
 * a JSON list of results on the standard output. A refusal is a result; anything else ends the run.
 */

import { readFileSync } from "node:fs";

import * as rumor from "../../src/rumor/client/js/rumor.js";
import { fromHex, toHex } from "../../src/rumor/client/js/bytes.js";

const contracts = {};
const stores = {};
const people = {};
const asked = [];
let day = null;

const shown = (envelopes) =>
  envelopes.map(({ id, contract, question, report }) => ({ id: toHex(id), contract, question, report: toHex(report) }));

const STEPS = {
  async parse({ contract, digest, collector, as = "contract" }) {
    contracts[as] = await rumor.parseContract(contract, { digest, collector });
    return contracts[as].digest;
  },
  async fetch({ url, digest, as = "contract" }) {
    contracts[as] = await rumor.fetchContract(url, { digest });
    return contracts[as].digest;
  },
  async open({ as = "person", store = as, state, maxEpsilon, consent, later }) {
    if (!stores[store] || state !== undefined) stores[store] = new rumor.MemoryStore(state ?? null);
    const today = day === null ? undefined : () => new Date(86_400_000 * day);
    const ask = async ({ contract, ...change }) => {
      // The store is free while the person thinks.
      const kept = await stores[store].transaction(async (state) => ({ result: state.pins.length }));
      asked.push({ contract: contract.digest, ...change, kept });
      // A person may think for days.
      if (later) day += later;
      return consent;
    };
    const options = { store: stores[store], maxEpsilon, consent: consent === undefined ? undefined : ask, today };
    people[as] = await rumor.Respondent.open(options);
  },
  /** What day it is for devices that are opened from now on, counted from 1970. */
  day: ({ is }) => void (day = is),
  asked: () => asked,
  drawn: ({ by = "person", of = "contract" }) => people[by].asked(contracts[of]),
  loss: ({ of = "contract", question }) => rumor.lossOf(contracts[of].question(question)),
  lossOfContract: ({ of = "contract" }) => rumor.lossOfContract(contracts[of]),
  standing: ({ by = "person", of = "contract" }) => people[by].standing(contracts[of]),
  openWithoutStore: ({ maxEpsilon }) => rumor.Respondent.open({ maxEpsilon }).then(() => null),
  state: ({ store = "person" }) => JSON.parse(String(stores[store])),
  prepare: async ({ by = "person", of = "contract", answers, invitation }) =>
    shown(await people[by].prepare(contracts[of], answers, { invitation })),
  enrol: ({ by = "person", of = "contract", invitation }) => people[by].enrol(contracts[of], invitation),
  told: async ({ by = "person", of = "contract", answers }) =>
    (await people[by].prepare(contracts[of], answers)).map(({ told }) => told),
  /** Several at once, in one go: each is made or refused. */
  race: async ({ by, of = "contract", answers }) =>
    Promise.all(by.map((who) => people[who].prepare(contracts[of], answers).then(() => true, (e) => e.code))),
  pending: async ({ by = "person", of }) => shown(await people[by].pending(contracts[of])),
  spending: ({ by = "person" }) => people[by].spending(),
  spent: ({ by = "person" }) => people[by].spent(),
  reset: ({ by = "person" }) => people[by].reset(),
  send: ({ by = "person", of = "contract", url, ...options }) => people[by].send(url, contracts[of], options),
  sent: ({ by = "person", series }) => people[by].sent(series),
  withdraw: ({ by = "person", url, series }) => people[by].withdraw(url, { series }),
  describe: ({ of = "contract", question, report }) =>
    rumor.describeReport(contracts[of].question(question), fromHex(report)),
  exports: () => Object.keys(rumor),
};

const results = [];
for (const { step, ...options } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    results.push((await STEPS[step](options)) ?? null);
  } catch (problem) {
    if (!(problem instanceof rumor.RumorError)) throw problem;
    results.push({ error: problem.message, code: problem.code });
  }
}
console.log(JSON.stringify(results));
