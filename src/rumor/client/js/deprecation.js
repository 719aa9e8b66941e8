/** Old public names: they work through all of 1.x, and warn once. */

/** Old names of each kind of object, with their new names. */
export const OLD_NAMES = {
  Respondent: { asked: "assignment", sent: "withdrawable", standing: "budget" },
  Assignment: { of: "total" },
  PendingReport: { told: "notes" },
};

const warned = new Set();

/** Warn once that `old` is now called `renamed`. */
export function warnOldName(old, renamed) {
  if (warned.has(old)) return;
  warned.add(old);
  console.warn(`${old} is now ${renamed}; the old name works until version 2`);
}

/** Return `target` with the old names of `owner`, which its keys do not list. */
export function withOldNames(target, owner) {
  for (const [old, renamed] of Object.entries(OLD_NAMES[owner])) {
    Object.defineProperty(target, old, {
      configurable: true,
      get() {
        warnOldName(`${owner}.${old}`, renamed);
        return this[renamed];
      },
    });
  }
  return target;
}
