/** What the theme leaves out: wide tables are scrolled by keys as well, a button to copy is no landmark, the search has a name. */
const mend = () => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) wrap.tabIndex = 0;
  for (const code of document.querySelectorAll("pre > code:not([tabindex])")) code.tabIndex = 0;
  for (const nav of document.querySelectorAll(".md-code__nav:not([role])")) nav.setAttribute("role", "presentation");
  for (const search of document.querySelectorAll(".md-search:not([aria-label])")) search.setAttribute("aria-label", "Search");
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
