/** What a person is told where reports go through a relay. */

import { h } from "./dom.js";

/** The sentences about the relay of a contract. */
export const relayView = ({ relay: { url, crowd, days, turn_hours: hours } }, words) =>
  h("p", { id: "relay", class: "notice" }, words.relay(new URL(url).origin, crowd, days), hours ? ` ${words.turns(hours)}` : null);
