/**
 * Pinned contracts: for each series, the last revision answered, the epsilon limit, and the sender anonymity promised.
 *
 * Anybody can write a contract with any series name. Each collector (its origin and contact) therefore has a *scope* with a
 * pin of its own, and only reports made for it count against its limits. The scope answered first has the series name; further
 * ones add their origin and contact. A contract stays in the scope in which it was first answered, wherever it is served from.
 *
 * A contract after the pinned one must be a later revision. It must not weaken sender anonymity, and it costs no more than the
 * pinned limit unless the respondent agrees.
 */

import { RumorError } from "./errors.js";
import { lossOfContract } from "./loss.js";

/** Return whether a contract is from the collector of a pin; pins of older versions name no collector. */
function isSameCollector({ collector: met, contact, contract }, { collector, contact: named, previous }) {
  if (contact === undefined) return previous === contract;
  const elsewhere = met && collector && met !== collector;
  return !elsewhere && (named === contact || previous === contract);
}

/**
 * Return the scope of a contract: the `name` of its pin and assignment, its `pin` (undefined before any answer), the `names`
 * of all scopes whose reports count as its own, and `met`, its name before the first answer.
 */
export function scopeOf({ pins, answered = [] }, contract) {
  const { series, digest, previous, collector, contact } = contract;
  const ours = pins.filter((pin) => pin.series === series || pin.series.startsWith(`${series} `));
  const by = (member, value) => ours.find((pin) => pin[member] === value);
  const met = `${series} ${collector} ${contact}`;
  const known =
    by("series", answered.find((one) => one.contract === digest)?.scope) ??
    by("contract", digest) ?? ours.find((pin) => isSameCollector(pin, contract)) ?? by("series", met);
  const first = by("series", series);
  const name = known?.series ?? (first ? met : series);
  if (known || !first) return { series, name, met, pin: known, names: [name, ...(known?.inherits ?? [])] };
  // The collector may have moved, or be a stranger; a pin of an older version names none. The new scope inherits the old pin.
  const old = by("contract", previous) ?? (first.contact === undefined ? first : undefined);
  const inherits = old ? [old.series, ...(old.inherits ?? [])] : [];
  const pin = old && { ...old, series: name, collector, contact, inherits };
  return { series, name, met, pin, names: [name, ...inherits] };
}

/** Return the reports of a row that count for a scope, by mechanism. */
export function reportsInScope({ made, shares = [] }, { series, names }) {
  const first = names.includes(series);
  const some = shares.filter(({ scope }) => names.includes(scope) !== first);
  return made
    .map(({ mechanism, reports }) => {
      const shared = some.filter((one) => one.mechanism === mechanism).reduce((sum, one) => sum + one.reports, 0);
      return { mechanism, reports: first ? reports - shared : shared };
    })
    .filter(({ reports }) => reports > 0);
}

/** Note, in place, that a report of a row was made for a scope other than the first of its series. */
export function noteShared(row, { name, series }, mechanism) {
  if (name === series) return;
  row.shares ??= [];
  const known = row.shares.find((one) => one.scope === name && one.mechanism === mechanism);
  if (known) known.reports++;
  else row.shares.push({ scope: name, mechanism, reports: 1 });
}

/** Return the sender anonymity of a contract: blind tokens, their issuer, the relay, its batch size and turns, the groups. */
const senderAnonymityOf = ({ admission, relay, issuer, groups }) => ({
  blind: admission === "blind",
  relay: relay?.url,
  crowd: relay?.crowd,
  issuer: issuer?.url,
  ...(relay?.turn_hours && { turn_hours: relay.turn_hours }),
  ...(groups && { groups }),
});

/**
 * Return the pin of a scope after this contract is answered; refuse a contract that is no later revision.
 * `drawn` are the questions assigned to this respondent.
 */
export function nextPin({ name, names, pin }, contract, drawn) {
  const { series, revision, digest, contact } = contract;
  // The same contract at another address: its collector moved. A stranger's copy is bound by the rules below as well.
  const moved = digest === pin?.contract && contract.collector;
  const met = { way: senderAnonymityOf(contract), collector: moved || pin?.collector || contract.collector, contact };
  if (!pin) {
    const inherits = names.length > 1 ? { inherits: names.slice(1) } : {};
    return { series: name, revision, contract: digest, ceiling: lossOfContract(contract, drawn).ceiling, agreed: digest, ...met, ...inherits };
  }
  if (digest === pin.contract) return { ...pin, ...met };
  if (revision === pin.revision) {
    refuse(
      `a series must have one contract of each revision; '${series}' had another one of ` +
        `revision ${revision} when it was answered last`,
    );
  }
  if (revision < pin.revision) {
    refuse(
      `a device must not go back to an older contract; '${series}' was answered in ` +
        `revision ${pin.revision}, and this is revision ${revision}`,
    );
  }
  if (revision === pin.revision + 1 && contract.previous !== pin.contract) {
    refuse(
      `a revision must name the contract it revises; revision ${revision} of '${series}' ` +
        `names another one than this device answered`,
    );
  }
  // Pins of older versions do not have it; no contract of theirs had groups.
  checkNotWeaker(pin.way ?? {}, met.way, series);
  // A revision may lower the limit.
  return { ...pin, ...met, revision, contract: digest, ceiling: Math.min(pin.ceiling, contract.series_epsilon ?? pin.ceiling) };
}

/** Refuse an issuer other than the pinned one, before a credential is shown to it. */
export function checkIssuer({ pin }, contract) {
  const { issuer } = pin?.way ?? {};
  if (issuer) checkNotWeaker({ issuer }, senderAnonymityOf(contract), contract.series);
}

/** Refuse a revision whose sender anonymity (`now`) is weaker than the pinned one (`before`). */
function checkNotWeaker(before, now, series) {
  const worse =
    before.blind && !now.blind ? "uses blind tokens and this revision does not"
    : before.issuer && now.issuer !== before.issuer ? `has tokens signed by ${before.issuer} and this revision does not`
    : !areCoarser(now.groups ?? {}, before.groups) ? `tells ${before.groups ? "fewer" : "no"} groups apart in the clear and this revision more`
    : before.relay && now.relay !== before.relay ? `sends reports through ${before.relay} and this revision does not`
    : before.relay && now.crowd < before.crowd ? `releases batches of ${before.crowd} reports or more and this revision smaller ones`
    : before.turn_hours && !(now.turn_hours >= before.turn_hours) ? `takes one report per question every ${before.turn_hours} hours and this revision more`
    : undefined;
  if (worse) {
    refuse(`a revision must not weaken sender anonymity: series '${series}' ${worse}; start a new series`);
  }
}

/** Return whether `later` groups say nothing of a respondent that `earlier` ones do not. */
const areCoarser = (later, earlier = {}) =>
  Object.keys(later).every((name) => Object.hasOwn(earlier, name) && later[name].every((label) => earlier[name].includes(label)));

function refuse(sentence) {
  throw new RumorError("revision", sentence);
}
