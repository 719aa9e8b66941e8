/**
 * Whose series it is: a name that two collectors use is two series to a device. Anybody can write a contract
 * with any series name and revision number; each collector (its origin, and the contact it names) is therefore
 * held to a pin of its own, and only reports made for it count against its ceiling and its reports per person.
 * The first that was answered has the name itself, further ones the name, their origin and their contact.
 * A contract stays in the scope that it was first answered in, wherever it is met.
 */

/** Whether a contract is from whom a pin is of; a ledger from before does not say whom. */
function continues({ collector: met, contact, contract }, { collector, contact: named, previous }) {
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
    by("contract", digest) ?? ours.find((pin) => continues(pin, contract)) ?? by("series", met);
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
export function madeFor({ made, shares = [] }, { series, names }) {
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
export function share(row, { name, series }, mechanism) {
  if (name === series) return;
  row.shares ??= [];
  const known = row.shares.find((one) => one.scope === name && one.mechanism === mechanism);
  if (known) known.reports++;
  else row.shares.push({ scope: name, mechanism, reports: 1 });
}
