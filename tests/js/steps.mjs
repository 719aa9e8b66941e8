/** The steps that tests take with the client: each by its name, from a JSON object of its options. */

import * as rumor from "../../src/rumor/client/js/rumor.js";
import { fromHex, toHex } from "../../src/rumor/client/js/bytes.js";
import { mechanismOf } from "../../src/rumor/client/js/contract.js";
import { KINDS } from "../../src/rumor/client/js/kinds.js";
import { Keyed } from "../../src/rumor/client/js/randomness.js";

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
  drawn: async ({ by = "person", of = "contract" }) => {
    const { total, ...assignment } = await people[by].assignment(contracts[of]);
    return { ...assignment, of: total };
  },
  loss: ({ of = "contract", question }) => rumor.lossOf(contracts[of].question(question)),
  lossOfContract: ({ of = "contract" }) => rumor.lossOfContract(contracts[of]),
  standing: ({ by = "person", of = "contract" }) => people[by].budget(contracts[of]),
  openWithoutStore: ({ maxEpsilon }) => rumor.Respondent.open({ maxEpsilon }).then(() => null),
  state: ({ store = "person" }) => JSON.parse(String(stores[store])),
  prepare: async ({ by = "person", of = "contract", answers, invitation, groups }) =>
    shown(await people[by].prepare(contracts[of], answers, { invitation, groups })),
  enrol: ({ by = "person", of = "contract", invitation }) => people[by].enrol(contracts[of], invitation),
  told: async ({ by = "person", of = "contract", answers }) =>
    (await people[by].prepare(contracts[of], answers)).map(({ notes }) => notes),
  /** Several at once, in one go: each is made or refused. */
  race: async ({ by, of = "contract", answers }) =>
    Promise.all(by.map((who) => people[who].prepare(contracts[of], answers).then(() => true, (e) => e.code))),
  pending: async ({ by = "person", of }) => shown(await people[by].pending(contracts[of])),
  spending: ({ by = "person" }) => people[by].spending(),
  spent: ({ by = "person" }) => people[by].spent(),
  reset: ({ by = "person" }) => people[by].reset(),
  send: ({ by = "person", of = "contract", url, ...options }) => people[by].send(url, contracts[of], options),
  sent: ({ by = "person", series }) => people[by].withdrawable(series),
  withdraw: ({ by = "person", url, series }) => people[by].withdraw(url, { series }),
  describe: ({ of = "contract", question, report }) =>
    rumor.describeReport(contracts[of].question(question), fromHex(report)),
  exports: () => Object.keys(rumor),
  /** Reports of typed answers to a question, each by a secret and a context of its own. */
  draw: async ({ of = "contract", question, typed, secret, contexts }) => {
    const asked = contracts[of].question(question);
    const [kind, mechanism] = [await KINDS[asked.kind].load(), mechanismOf(asked)];
    return Promise.all(typed.map(async (text, i) => {
      const code = await mechanism.encode(await kind.parseAnswer(asked, text));
      return toHex(await new Keyed(fromHex(secret), ...contexts[i]).draw((draws) => mechanism.draw(code, draws)));
    }));
  },
};

/** What comes of one step. A refusal is a result; anything else is thrown. */
export async function take({ step, ...options }) {
  try {
    return (await STEPS[step](options)) ?? null;
  } catch (problem) {
    if (!(problem instanceof rumor.RumorError)) throw problem;
    return { error: problem.message, code: problem.code };
  }
}
