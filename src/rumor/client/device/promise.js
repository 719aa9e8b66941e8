/**
 * Promises that settle within the call that made them, wherever the host answers at once. The client is written with `async`,
 * for browsers; the build puts this class in the place of `Promise` (build.mjs). Jobs run in the order of the language's own
 * promises, each for the host of the call that it belongs to.
 */

const jobs = [];
let host = null;

/** Return the host of the call that runs now. */
export const currentHost = () => host;

function runJobs() {
  const before = host;
  while (jobs.length) jobs.shift()();
  host = before;
}

export class Settling {
  #outcome = null;
  #waiting = [];

  constructor(start) {
    let decided = false;
    const decide = (work) => (value) => {
      if (decided) return;
      decided = true;
      work(value);
    };
    const reject = decide((problem) => this.#settle(false, problem));
    try {
      start(decide((value) => this.#follow(value)), reject);
    } catch (problem) {
      reject(problem);
    }
  }

  /** Settle with a value, or as the promise that it is. */
  #follow(value) {
    if (typeof value?.then !== "function") return this.#settle(true, value);
    const ours = value instanceof Settling;
    // What a host's own promise brings goes on at once: nobody else runs the jobs.
    const later = (work) => (given) => {
      work(given);
      if (!ours) runJobs();
    };
    return void value.then(later((given) => this.#follow(given)), later((problem) => this.#settle(false, problem)));
  }

  #settle(succeeded, value) {
    this.#outcome = { succeeded, value };
    jobs.push(...this.#waiting);
    this.#waiting = [];
  }

  then(onValue, onProblem) {
    return new Settling((resolve, reject) => {
      const mine = host;
      const job = () => {
        host = mine;
        const { succeeded, value } = this.#outcome;
        const work = succeeded ? onValue : onProblem;
        if (typeof work !== "function") return (succeeded ? resolve : reject)(value);
        try {
          return resolve(work(value));
        } catch (problem) {
          return reject(problem);
        }
      };
      (this.#outcome ? jobs : this.#waiting).push(job);
    });
  }

  catch(onProblem) {
    return this.then(undefined, onProblem);
  }

  static resolve(value) {
    return value instanceof Settling ? value : new Settling((resolve) => resolve(value));
  }

  static all(values) {
    return new Settling((resolve, reject) => {
      const [given, found] = [[...values], []];
      let left = given.length;
      if (!left) resolve(found);
      given.forEach((each, place) =>
        Settling.resolve(each).then((value) => {
          found[place] = value;
          if (!--left) resolve(found);
        }, reject));
    });
  }

  /** Return what `work` comes to on a host: at once where the host answered at once, else as a promise of the language. */
  static of(own, work) {
    const before = host;
    host = own;
    const promise = new Settling((resolve) => resolve(work()));
    runJobs();
    host = before;
    if (!promise.#outcome) return new globalThis.Promise((resolve, reject) => void promise.then(resolve, reject));
    if (promise.#outcome.succeeded) return promise.#outcome.value;
    throw promise.#outcome.value;
  }
}
