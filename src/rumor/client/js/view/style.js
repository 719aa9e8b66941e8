/** How a question and its report look, on the answer page and in elements on other pages. Colours are the page's own properties. */

const STYLE = `
.wrong { margin-top: 0.5rem; color: var(--warn); font-weight: 550; }
.notice { position: relative; background: var(--warn-wash); color: var(--warn); border-radius: 0.8rem; padding: 0.9rem 1.1rem 0.9rem 3.1rem; scroll-margin: 1rem; }
.notice::before {
  content: "!"; content: "!" / ""; position: absolute; inset: 1rem auto auto 1.05rem; width: 1.35rem; height: 1.35rem;
  display: grid; place-items: center; border: 2px solid; border-radius: 50%; font: 700 0.8rem/1 sans-serif;
}
.notice.info { background: var(--wash); color: var(--ink); }
.notice.info::before { content: "i"; content: "i" / ""; color: var(--accent); }
.notice.received { background: var(--good-wash); color: var(--good); }
.notice.received::before { content: "✓"; content: "✓" / ""; }
[aria-invalid] { border-color: var(--warn) !important; outline-color: var(--warn); }
.bittable tfoot td { text-align: start; color: var(--soft); font-size: 0.85rem; padding-top: 0.6rem; }
.odds { margin-top: 0.7rem; font-size: 0.92rem; color: var(--soft); }
.belief { margin-top: 0.7rem; }
.belief p { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: 0.8rem; margin-top: 0.3rem; }
.track { position: relative; height: 0.4rem; border-radius: 1rem; background: var(--line); overflow: hidden; }
.track span { position: absolute; inset-block: 0; inset-inline-start: 0; border-radius: 1rem; }
.before { width: 50%; background: var(--accent); }
.after { width: calc(100% * var(--belief)); background: var(--accent); opacity: 0.35; }
.control { margin-top: 1.3rem; }
.control .soft { margin-top: 0.5rem; }
.options { display: grid; gap: 0.15rem; margin-inline: -0.7rem; }
.option { display: flex; gap: 0.8rem; align-items: center; padding: 0.55rem 0.7rem; border-radius: 0.6rem; cursor: pointer; transition: background 0.15s; }
.option:hover, .option:has(:checked) { background: var(--wash); }
.option span { min-width: 0; overflow-wrap: anywhere; }
.control [type="search"] { width: 100%; padding: 0.7rem 0.9rem; border: 1px solid var(--soft); border-radius: 0.6rem; background: var(--card); }
.found { max-height: 17rem; margin: 0.6rem 0 0; padding: 0.3rem; overflow: auto; border: 1px solid var(--line); border-radius: 0.6rem; }
.found:empty { display: none; }
.scale { grid-template-columns: repeat(auto-fit, minmax(2.6rem, 1fr)); gap: 0.3rem; margin-inline: 0; }
.scale .option { flex-direction: column; gap: 0.2rem; padding: 0.5rem 0.2rem; border: 1px solid var(--line); }
.scale .option:has(:checked) { border-color: var(--accent); }
input[type="range"] { width: 100%; accent-color: var(--accent); }
.control .ends { display: flex; justify-content: space-between; gap: 2rem; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
.ends span + span { text-align: end; }
.control p.value { margin: 0 0 0.5rem; font-size: 1.1em; }
/* No answer yet: nothing stands on the line. */
.unset { accent-color: var(--line) !important; }
.unset::-webkit-slider-thumb { opacity: 0; }
.unset::-moz-range-thumb { opacity: 0; }
.pair { display: grid; grid-template-columns: 1fr 7rem; gap: 0.5rem; align-items: center; min-height: 3rem; }
.pair input[type="number"] { padding-block: 0.4rem; }
.report { container-type: inline-size; margin-top: 0.8rem; display: grid; gap: 0.9rem; }
.brief { margin-top: 0.6rem; }
#cards:has(.brief) { gap: 0.8rem; }
.card:has(.brief) { padding-block: 0.9rem; }
.card:has(.brief) h2 { font-size: 1.1rem; }
.brief > summary { display: grid; grid-template-columns: 1fr 1fr auto; gap: 0.9rem; align-items: start; padding: 0.45rem 0.8rem; border-radius: 0.6rem; background: var(--wash); cursor: pointer; list-style: none; }
.brief > summary::-webkit-details-marker { display: none; }
.brief > summary::after { content: "▾"; content: "▾" / ""; color: var(--accent); align-self: center; }
.brief[open] > summary::after { rotate: 180deg; }
.brief > summary > span:only-child { grid-column: 1 / 3; }
.brief small { display: block; color: var(--soft); font-weight: 600; }
.brief > summary span span { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; overflow-wrap: anywhere; font-weight: 550; }
.split { display: grid; gap: 0.9rem; align-items: start; grid-template-columns: 1fr 2fr; }
.split > :only-child { grid-column: 1 / -1; }
.split > div { border-radius: 0.8rem; padding: 0.9rem 1rem; }
.split .stays { border: 1px dashed var(--soft); }
.split .leaves { background: var(--wash); }
h3 { font-size: 0.8rem; font-weight: 600; color: var(--soft); letter-spacing: 0.02em; }
.value { font-weight: 550; margin-top: 0.3rem; overflow-wrap: anywhere; }
dl { margin: 0.3rem 0 0; display: grid; gap: 0.45rem; }
dl > div { display: flex; flex-wrap: wrap; gap: 0.2rem 0.7rem; align-items: baseline; }
dt { color: var(--soft); font-size: 0.9rem; }
dd { margin: 0; font-weight: 550; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.tiles { display: grid; grid-template-columns: repeat(16, 1.3rem); gap: 0.17rem; }
.tiles .bit { width: 1.3rem; height: 1.3rem; font-size: 0.7rem; border-radius: 0.3rem; }
dl > div:has(.tiles) { display: grid; }
dd:has(.tiles) { width: 100%; }
.bit {
  display: inline-grid; place-items: center; vertical-align: middle; width: 1.55rem; height: 1.55rem; border-radius: 0.4rem;
  border: 1px solid var(--soft); color: var(--soft); font: 600 0.8rem/1 var(--mono);
}
.bit.one { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.bit.stays { border-style: dashed; }
.bit.stays.one { background: none; color: var(--accent); }
.bittable { border-collapse: collapse; width: 100%; max-width: 30rem; }
.bittable th, .bittable td { padding: 0.24rem 0.6rem 0.24rem 0; text-align: start; font-weight: 400; }
.bittable td, .bittable thead th + th { text-align: center; padding-inline: 0.6rem; width: 6.5rem; }
.bittable thead th { font-size: 0.8rem; font-weight: 600; color: var(--soft); }
.bittable .own th { font-weight: 600; }
.bittable small { color: var(--accent); font-weight: 500; white-space: nowrap; }
.consent { max-width: 34rem; width: calc(100% - 2.5rem); border: 1px solid var(--line); border-radius: 1rem; background: var(--card); color: var(--ink); padding: 1.6rem; }
.consent::backdrop { background: rgb(0 0 0 / 0.45); }
.consent h2 { font-size: 1.25rem; font-weight: 620; }
.consent p, .consent dl { margin-top: 0.9rem; }
.consent dl > div { justify-content: space-between; border-top: 1px solid var(--line); padding-top: 0.45rem; }
.choices { display: flex; flex-wrap: wrap; gap: 0.8rem; justify-content: end; margin-top: 1.4rem; }
.choices button { padding: 0.8rem 1.4rem; }
.who { font-size: 0.92rem; }
.who summary { cursor: pointer; color: var(--accent); padding-block: 0.2rem; }
.who p { margin-top: 0.4rem; }
.who dd { font-weight: 450; }
.bittable th { overflow-wrap: anywhere; }
.wrong:empty { display: none; }
@media (forced-colors: active) {
  .track, .meter { border: 1px solid; }
  .track span, .meter span, .bit.one { forced-color-adjust: none; background: Highlight; }
  .bit.one { color: HighlightText; }
}
@container (max-width: 25rem) {
  .split { grid-template-columns: 1fr; }
  .tiles { grid-template-columns: repeat(8, 1.5rem); }
  .tiles .bit { width: 1.5rem; height: 1.5rem; }
  .bittable td, .bittable thead th + th { width: 4.6rem; padding-inline: 0.2rem; }
}
`;

/** Apply the style sheet, and `more` rules, to a document or a shadow root. */
export function styled(root, more = "") {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE + more);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
