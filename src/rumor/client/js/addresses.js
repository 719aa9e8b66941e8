/** Addresses of relays and issuers in contracts: plain enough for a page's content policy. */

import { refuse } from "./checks.js";

const FORM = /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?(\/[A-Za-z0-9._~-]+)*$/;

/** Refuse `given` where it is no plain http(s) address. */
export function checkUrl(given, whose) {
  if (typeof given === "string" && given.length <= 500 && FORM.test(given)) return;
  refuse(`the url of ${whose} must be http(s)://HOST[:PORT][/PATH]`, given);
}
