/** Rumor in the browser: reports under local differential privacy, randomised on the respondent's own device. */

export { describeReport, fetchContract, parseContract } from "./contract.js";
export { RumorError } from "./errors.js";
export { epsilonAfter, lossOf, lossOfContract } from "./loss.js";
export { Respondent } from "./respondent.js";
export { BrowserStore, MemoryStore } from "./store.js";
