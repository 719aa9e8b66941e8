/** The same life on a host that answers at once, and on two that answer later and take turns; all as JSON. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const { bundle, contract } = JSON.parse(readFileSync(0, "utf8"));
const rumor = await import(bundle);

async function live(answer, seed) {
  let [kept, count] = [null, 0];
  const [promises, urls] = [[], []];
  const host = {
    random: (size) => createHash("shake256", { outputLength: size }).update(`${seed} ${count++}`).digest(),
    load: () => answer(kept),
    save: (text) => answer(void (kept = text)),
    now: () => 1.7e12,
    send: (url, bytes) => {
      urls.push(url);
      const ids = bytes.length / 17;
      return answer({ status: 200, body: JSON.stringify({ accepted: ids, duplicates: 0 }) });
    },
  };
  const noted = (name, found) => {
    if (typeof found?.then === "function") promises.push(name);
    return found;
  };
  const device = await noted("open", rumor.openDevice(host, { maxEpsilon: 2 }));
  const parsed = rumor.parseContract(contract);
  await noted("prepare", device.prepare(parsed, { a: "red" }));
  await noted("send", device.send("https://collector.example", parsed));
  await noted("spent", device.spent());
  // Two at once, on two devices of one host: the second waits for the first.
  const twin = await rumor.openDevice(host, { maxEpsilon: 2 });
  const both = await Promise.allSettled([device, twin].map(async (one) => one.prepare(parsed, { a: "blue" })));
  await device.send("https://collector.example", parsed);
  if (both.filter(({ status }) => status === "fulfilled").length !== 1) throw new Error("two spent the same budget");
  return { promises, kept, urls, refused: both.find(({ status }) => status === "rejected").reason.code };
}

const later = (value) => new Promise((resume) => setTimeout(() => resume(value), 1));
const now = await live((value) => value, "one");
const [one, other] = await Promise.all([live(later, "one"), live(later, "other")]);
console.log(JSON.stringify([now, one, other]));
