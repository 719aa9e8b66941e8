/**
 * The client for apps, driven by Python (tests/engines.py): `take` takes a step, on a host whose functions Python answers
 * through `ask`. A classic script, after the one that defines `rumor`.
 */

var take = (() => {
  const contracts = {};
  const asked = [];
  let device;

  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const shown = (reports) => reports.map(({ id, contract, question, report }) => ({ id: hex(id), contract, question, report: hex(report) }));

  function call(name, ...given) {
    const { value, problem } = JSON.parse(ask(JSON.stringify({ name, given })));
    if (problem) throw new Error(problem);
    return value;
  }
  const host = {
    random: (size) => call("random", size),
    load: () => call("load"),
    save: (text) => call("save", text),
    now: () => call("now"),
    send: (url, bytes, headers) => call("send", url, bytes && hex(bytes), headers),
  };
  const deciding = (answer) => ({ contract, ...change }) => {
    // The ledger is free while the person thinks.
    device.spent();
    asked.push({ contract: contract.digest, ...change });
    return answer;
  };

  const STEPS = {
    parse({ contract, digest, collector, as = "contract" }) {
      contracts[as] = rumor.parseContract(contract, { digest, collector });
      return contracts[as].digest;
    },
    fetch({ url, as = "contract" }) {
      contracts[as] = device.fetchContract(url);
      return contracts[as].digest;
    },
    open({ maxEpsilon, consent, lacks }) {
      const own = lacks ? { ...host, [lacks]: undefined } : host;
      device = rumor.openDevice(own, { maxEpsilon, consent: consent === undefined ? undefined : deciding(consent) });
    },
    asked: () => asked,
    prepare: ({ of = "contract", answers, invitation, groups }) => shown(device.prepare(contracts[of], answers, { invitation, groups })),
    enrol: ({ of = "contract", invitation }) => device.enrol(contracts[of], invitation),
    drawn: ({ of = "contract" }) => device.assignment(contracts[of]),
    pending: () => shown(device.pending()),
    spending: () => device.spending(),
    spent: () => device.spent(),
    standing: ({ of = "contract" }) => device.budget(contracts[of]),
    reset: () => device.reset(),
    send: ({ of = "contract", url, ...options }) => device.send(url, contracts[of], options),
    sent: ({ series }) => device.withdrawable(series),
    withdraw: ({ url, series }) => device.withdraw(url, { series }),
    loss: ({ of = "contract", question }) => rumor.lossOf(contracts[of].question(question)),
    methods: () => [Object.keys(rumor).sort(), Object.keys(device).sort()],
  };

  return (text) => {
    const { step, ...options } = JSON.parse(text);
    try {
      return JSON.stringify(STEPS[step](options) ?? null);
    } catch (problem) {
      if (!(problem instanceof rumor.RumorError)) return JSON.stringify({ crash: `${problem}\n${problem.stack}` });
      return JSON.stringify({ error: problem.message, code: problem.code });
    }
  };
})();
