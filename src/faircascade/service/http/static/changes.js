// Where a time line crosses a change of the policies.

import { draw } from "./dom.js";
import { clockTime, visible } from "./format.js";

const MOST = 20; // marks in a picture; of more, the newest

/** Return a mark for each change within the time of a history. */
export function changeMarks(history, x, top, base) {
  return within(history).map(({ time, text }) => {
    const at = x(time.getTime());
    return draw("g", { class: "policy-change" },
      draw("title", {}, `${clockTime(time)}: ${visible(text)}`),
      draw("line", { x1: at, x2: at, y1: top, y2: base }),
      draw("path", { d: `M${at - 4} ${top - 6}h8l-4 6z` }));
  });
}

/** Return what marks mean, if there are any. */
export function marksInWords(history) {
  return within(history).length ? " Dashed: the policies were changed." : "";
}

/** Return what was changed in a step, in words. */
export function changeLines({ changes = [] }, { since, until }) {
  return changes.map(read)
    .filter(({ time }) => time >= since && time < until)
    .slice(-3)
    .map(({ time, text }) => `${clockTime(time)}: ${visible(text)}`);
}

function within({ changes = [], moments, window }) {
  const first = moments[0]?.since;
  if (!first) return [];
  const [since, until] = [new Date(first), new Date(window.until)];
  return changes.map(read).filter(({ time }) => time >= since && time <= until).slice(-MOST);
}

const read = ({ time, text }) => ({ time: new Date(time), text });
