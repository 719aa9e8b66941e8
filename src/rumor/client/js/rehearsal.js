/** The old name of trial.js, which works through all of 1.x. */

import { warnOldName } from "./deprecation.js";
import { drawTrialReports } from "./trial.js";

/** @deprecated `drawTrialReports` of trial.js */
export function rehearse(question, value, times) {
  warnOldName("rehearse of rehearsal.js", "drawTrialReports of trial.js");
  return drawTrialReports(question, value, times);
}
