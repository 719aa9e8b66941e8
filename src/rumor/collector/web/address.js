/** The page's state in its address, so that a link can be shared. The token is never in it. */

const KEYS = ["collection", "view", "question", "from", "to", "against", "looks"];

/**
 * Return the address's collection (a digest), view ("all" questions), question, first day, last day, whether they are compared
 * with the days before, and looks, each null where absent, and its groups, each NAME=GROUP.
 */
export function place() {
  const said = new URLSearchParams(location.hash.slice(1));
  return { ...Object.fromEntries(KEYS.map((key) => [key, said.get(key)])), group: said.getAll("group") };
}

/** Store the state of `page` in the address; the browser's back button restores the one before. */
export function remember(page) {
  const said = [...KEYS.filter((key) => page[key]).map((key) => [key, page[key]]), ...page.group.map((each) => ["group", each])];
  const address = said.length ? `#${new URLSearchParams(said)}` : location.pathname;
  if (address !== (location.hash || location.pathname)) history.pushState(null, "", address);
}
