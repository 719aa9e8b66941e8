/**
 * Whose series it is, and what a device holds a collector to.
 *
 * A name that two collectors use is two series to a device. Anybody can write a contract with any series name
 * and revision number; each collector (its origin, and the contact it names) is therefore held to a pin of its
 * own, and only reports made for it count against its ceiling and its reports per person. The first that was
 * answered has the name itself, further ones the name, their origin and their contact. A contract stays in the
 * scope that it was first answered in, wherever it is met.
 *
 * A series is pinned at its first answer, to the revision, its digest and the most that the whole series may
 * cost. A later contract is taken only as a further revision, and spends no more than was pinned unless the
 * person agrees to more. So a revision can never cost a person anything that they were not told of at the start
 * or asked about since. Nor does it take away from what hides whose a report is.
 */

import { RumorError } from "./errors.js";
import { lossOfContract } from "./loss.js";

/** Whether a contract is from whom a pin is of; a ledger from before does not say whom. */
function isSameCollector({ collector: met, contact, contract }, { collector, contact: named, previous }) {
  if (contact === undefined) return previous === contract;
  const elsewhere = met && collector && met !== collector;
  return !elsewhere && (named === contact || previous === contract);
}

/**
 * Whose series a contract is: the `name` of its pin and draws, its `pin` (undefined where nothing is known of
 * it), the `names` of all scopes whose reports count as its own, and `met`, its name before any answer.
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
  // Of a collector that moved, a stranger or, to an older ledger, anybody: it moves no pin, and is held to the old one.
  const old = by("contract", previous) ?? (first.contact === undefined ? first : undefined);
  const inherits = old ? [old.series, ...(old.inherits ?? [])] : [];
  const pin = old && { ...old, series: name, collector, contact, inherits };
  return { series, name, met, pin, names: [name, ...inherits] };
}

/** By which mechanisms the reports of a row were made that count as a scope's, and how many by each. */
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

/** Note, in place, that a report of a row was made for another collector than the first. */
export function noteShared(row, { name, series }, mechanism) {
  if (name === series) return;
  row.shares ??= [];
  const known = row.shares.find((one) => one.scope === name && one.mechanism === mechanism);
  if (known) known.reports++;
  else row.shares.push({ scope: name, mechanism, reports: 1 });
}

/** Whether tokens are blind, and by whom; the relay, how many it passes on at least, and the hours of its turns. */
const senderAnonymityOf = ({ admission, relay, issuer }) => ({
  blind: admission === "blind",
  relay: relay?.url,
  crowd: relay?.crowd,
  issuer: issuer?.url,
  ...(relay?.turn_hours && { turn_hours: relay.turn_hours }),
});

/**
 * The pin of a series once this contract is answered; refused where it is no further revision.
 * @param {{ name: string, names: string[], pin?: object }} scope whose series it is, and its pin so far
 * @param {string[]} [drawn] the questions that this person is asked
 */
export function nextPin({ name, names, pin }, contract, drawn) {
  const { series, revision, digest, contact } = contract;
  // The very contract at another address: its collector moved. Who has a copy must follow the rules below as well.
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
  // A ledger from before does not know its way.
  if (pin.way) checkNotWeaker(pin.way, met.way, series);
  // What a revision promises to be the most holds, where that is less.
  return { ...pin, ...met, revision, contract: digest, ceiling: Math.min(pin.ceiling, contract.series_epsilon ?? pin.ceiling) };
}

/** Refuse, before a credential is shown, an issuer that is not the one of a pin. */
export function checkIssuer({ pin }, contract) {
  const { issuer } = pin?.way ?? {};
  if (issuer) checkNotWeaker({ issuer }, senderAnonymityOf(contract), contract.series);
}

function checkNotWeaker(before, now, series) {
  const worse =
    before.blind && !now.blind ? "tokens are blind, and no longer would be"
    : before.issuer && now.issuer !== before.issuer ? `tokens are signed by ${before.issuer}, and no longer would be`
    : before.relay && now.relay !== before.relay ? `reports go through ${before.relay}, and no longer would`
    : before.relay && now.crowd < before.crowd ? `${before.crowd} reports are passed on together, and fewer would be`
    : before.turn_hours && !(now.turn_hours >= before.turn_hours) ? `a question has one report every ${before.turn_hours} hours, and more would be`
    : undefined;
  if (worse) {
    refuse(`a revision must hide at least as well whose a report is, or be another series; of '${series}', ${worse}`);
  }
}

function refuse(sentence) {
  throw new RumorError("revision", sentence);
}
