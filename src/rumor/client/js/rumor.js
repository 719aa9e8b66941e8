/** Rumor in the browser: reports under local differential privacy, randomised on the respondent's own device. */

export { describeReport, fetchContract, parseContract } from "./contract.js";
export { RumorError } from "./errors.js";
export { BrowserStore } from "./host.js";
export { epsilonAfter, lossOf, lossOfContract } from "./loss.js";
export { Respondent } from "./respondent.js";
export { MemoryStore } from "./state.js";
