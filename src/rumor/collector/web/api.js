/** Asking the collector as an analyst. The token is kept for this tab alone, and sent in a header. */

const KEY = "rumor-token";

/** A refusal of the collector's: its type and its sentence. */
export class Refused extends Error {
  constructor(status, type, detail) {
    super(detail);
    Object.assign(this, { status, type });
  }
}

let session = 0; // ends where somebody signs in or out

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => void (session++, sessionStorage.setItem(KEY, value)),
  forget: () => void (session++, sessionStorage.removeItem(KEY)),
};

const NOTHING = new Promise(() => {});

/** Take a token from the address (#token=...), and the address out of sight. */
export function tokenFromAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  if (!said.get("token")) return;
  token.set(said.get("token"));
  said.delete("token");
  history.replaceState(null, "", said.size ? `#${said}` : location.pathname);
}

/**
 * Return the collector's answer; nothing ever comes of a request once somebody has signed in or out.
 *
 * @param {string} path @param {Record<string, string | string[] | null>} [query] a list says its name several times
 */
export async function ask(path, query = {}) {
  const mine = session;
  const found = await request(path, query).catch((problem) => (mine === session ? Promise.reject(problem) : null));
  return mine === session ? found : NOTHING;
}

async function request(path, query) {
  const said = Object.entries(query).flatMap(([name, value]) => [value ?? []].flat().filter(Boolean).map((each) => [name, each]));
  const url = said.length ? `${path}?${new URLSearchParams(said)}` : path;
  let response;
  try {
    response = await fetch(url, {
      headers: { Authorization: `Bearer ${token.get()}` },
      credentials: "omit",
      cache: "no-store",
    });
  } catch {
    throw new Refused(0, "unreachable", "The collector cannot be reached just now.");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const type = String(problem.type ?? "").replace("urn:rumor:problem:", "");
  const detail = String(problem.detail ?? `The collector answered with status ${response.status}`);
  throw new Refused(response.status, type, detail[0].toUpperCase() + detail.slice(1).replace(/\.?$/, "."));
}

export const askJson = async (path, query) => (await ask(path, query)).json();
