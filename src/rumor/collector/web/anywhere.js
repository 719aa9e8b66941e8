/**
 * The answer page as one file, on another origin than its collector's, or opened from a disk. What it is told stands in its
 * address after #, which is not sent to the page's host: collector=https://collector.example, and digest=... of the contract.
 */

import { toHex, utf8 } from "/client/bytes.js";
import { sha256 } from "/client/host.js";
import { byId, h } from "/client/view/dom.js";

/** Return a collector's address without the slash at its end; "" where it is not https (http on this machine). */
function addressOf(text) {
  try {
    const { protocol, hostname, origin, pathname } = new URL(text);
    const safe = protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1"].includes(hostname));
    return safe ? origin + pathname.replace(/\/+$/, "") : "";
  } catch {
    return "";
  }
}

/**
 * Return what a page that is one file needs, from its `markup` as the browser has read it: what its address has `said`, the
 * `collector` ("" where there is none), the contract that is `pinned`, and what to `show`.
 */
export function fromFile(markup) {
  const said = new URLSearchParams(location.hash.slice(1));
  const collector = addressOf(said.get("collector") ?? "");
  const digest = said.get("digest");
  const hash = sha256(utf8(`<!doctype html>\n${markup}`)).then(toHex, () => "");
  // Another address after # is another collector: nothing of the last one stays.
  addEventListener("hashchange", () => location.reload());

  function show(words) {
    const own = words.file;
    for (const link of byId("languages").querySelectorAll("a")) {
      const address = new URLSearchParams(location.hash.slice(1));
      address.set("lang", link.hreflang);
      link.href = `#${address}`;
    }
    const code = h("code", { id: "hash" });
    hash.then((text) => (code.textContent = text));
    byId("file").replaceChildren(
      ...(collector ? [h("p", {}, `${own.collector}: `, h("code", {}, collector))] : []),
      h("p", {}, `${own.page}: `, code),
    );
    if (!collector) byId("cards").replaceChildren(asking(own));
  }

  /** Ask for the address of a collector. */
  function asking(own) {
    const wrong = h("p", { id: "collector-wrong", class: "wrong", role: "alert" }, said.get("collector") ? own.wrong : "");
    const field = h("input", { id: "collector", type: "text", inputmode: "url", autocomplete: "off", spellcheck: "false", "aria-describedby": "collector-wrong", value: said.get("collector") ?? "" });
    const open = () => {
      const address = addressOf(field.value.trim());
      wrong.textContent = address ? "" : own.wrong;
      if (!address) return field.focus();
      said.set("collector", address);
      location.hash = String(said);
    };
    field.addEventListener("keydown", (event) => event.key === "Enter" && open());
    return h("section", { class: "card invitation" }, h("label", { for: "collector" }, own.collector), field, wrong, h("button", { type: "button", id: "open", class: "primary", onclick: open }, own.open));
  }

  return { said, collector, pinned: digest ? { digest } : {}, show, unreachable: (words) => words.file.unreachable(collector) };
}
