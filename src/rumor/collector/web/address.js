/** Where one looks, kept in the address, so that it can be sent to a colleague. The token never is. */

const KEYS = ["collection", "question", "from", "to"];

/** What the address says: a digest, a question, the first and the last day, each perhaps null. */
export function place() {
  const said = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(KEYS.map((key) => [key, said.get(key)]));
}

/** Put it there; going back brings the last one. */
export function remember(page) {
  const said = KEYS.filter((key) => page[key]).map((key) => [key, page[key]]);
  const address = said.length ? `#${new URLSearchParams(said)}` : location.pathname;
  if (address !== (location.hash || location.pathname)) history.pushState(null, "", address);
}
