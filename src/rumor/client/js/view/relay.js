/** What a person is told where reports go through a relay. */

import { h } from "./dom.js";

/** The sentences about the relay of a contract. */
export function relayView({ relay: { url, crowd, days, turn_hours: hours } }, words) {
  // With turns an envelope waits for two of them at most.
  const said = words.relay(new URL(url).origin, crowd, hours ? Math.ceil(hours / 12) : days);
  return h("p", { id: "relay", class: "notice" }, said, hours ? ` ${words.turns(hours)}` : null);
}
