// What is worth drawing of a history. Its last step is always the one under way.

import { lasting } from "./format.js";

const FEWEST = 5; // steps that the axis of time has at least

/** Begin at the first slate, if that leaves out most of the window. */
export function withoutStart(history) {
  const { moments, window } = history;
  const first = moments.findIndex(({ recommendations }) => recommendations > 0);
  const left = Math.max(FEWEST, moments.length - first);
  if (first < 0 || 2 * left > moments.length) return history;
  const kept = moments.slice(-left);
  return { ...history, moments: kept, window: { ...window, since: kept[0].since } };
}

/**
 * Forget the fairness of a first step that the service began in the middle of, as that of the one
 * under way: with fewer slates it covers fewer items, and the second step would seem a leap.
 */
export function comparable(history) {
  const { moments } = history;
  const first = moments.findIndex(({ recommendations }) => recommendations > 0);
  const begun = first > 0 && first < moments.length - 2
    && 2 * moments[first].recommendations < moments[first + 1].recommendations;
  if (!begun) return history;
  return { ...history, moments: moments.with(first, { ...moments[first], fairness: {} }) };
}

/** Say when there will be lines, while there are none: a line takes two steps that are over. */
export function waitingWords({ moments, step_seconds: step }) {
  const over = moments.slice(0, -1).filter(
    ({ recommendations, fairness }) => recommendations > 0 && "coverage" in fairness,
  );
  if (over.length >= 2) return "";
  const one = lasting(step);
  return /\d/.test(one) ? `Lines appear after two steps of ${one}.` : `Lines appear after two whole ${one}s.`;
}
