/** The page's state in its address, so that a link can be shared. The token is never in it. */

const KEYS = ["collection", "question", "from", "to", "looks"];

/** Return the address's collection (a digest), question, first day, last day and looks, each null where absent. */
export function place() {
  const said = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(KEYS.map((key) => [key, said.get(key)]));
}

/** Store the state of `page` in the address; the browser's back button restores the one before. */
export function remember(page) {
  const said = KEYS.filter((key) => page[key]).map((key) => [key, page[key]]);
  const address = said.length ? `#${new URLSearchParams(said)}` : location.pathname;
  if (address !== (location.hash || location.pathname)) history.pushState(null, "", address);
}
