/**
 * Whose series it is: a name that two collectors use is two series to a device. Anybody can write a contract
 * with any series name and revision number; each collector (its origin, and the contact it names) is therefore
 * held to a pin of its own, and only reports made for it count against its ceiling and its reports per person.
 * The first that was answered has the name itself, further ones the name, their origin and their contact.
 */

/** Whether a contract is from whom a pin is of; a ledger from before does not say whom. */
function continues({ collector: met, contact, contract }, { collector, contact: named, previous }) {
  if (contact === undefined) return previous === contract;
  const elsewhere = met && collector && met !== collector;
  return !elsewhere && (named === contact || previous === contract);
}

/**
 * Whose series a contract is: the `name` of its pin and draws, its `pin` (undefined where nothing is known of
 * it), and the `names` of all scopes whose reports count as its own.
 */
export function scopeOf({ pins }, contract) {
  const { series, digest, previous, collector, contact } = contract;
  const ours = pins.filter((pin) => pin.series === series || pin.series.startsWith(`${series} `));
  const known = ours.find((pin) => pin.contract === digest) ?? ours.find((pin) => continues(pin, contract));
  const first = ours.find((pin) => pin.series === series);
  const name = known?.series ?? (first ? `${series} ${collector} ${contact}` : series);
  if (known || !first) return { series, name, pin: known, names: [name, ...(known?.inherits ?? [])] };
  // Of a collector that moved, or of a stranger: it moves no pin, and is held to the old one all the same.
  const old = ours.find((pin) => pin.contract === previous);
  // What an older ledger kept for nobody in particular may have been for this collector.
  const inherits = old ? [old.series, ...(old.inherits ?? [])] : first.contact === undefined ? [series] : [];
  return { series, name, pin: old && { ...old, series: name, collector, inherits }, names: [name, ...inherits] };
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
