/** Where the others are that a contract names: a plain address, which a page's policy may hold as it is. */

import { refuse } from "./checks.js";

const FORM = /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?(\/[A-Za-z0-9._~-]+)*$/;

/** Refuse what is no address of an issuer or a relay. */
export function checkUrl(given, whose) {
  if (typeof given === "string" && given.length <= 500 && FORM.test(given)) return;
  refuse(`the url of ${whose} must be http(s)://HOST[:PORT][/PATH]`, given);
}
