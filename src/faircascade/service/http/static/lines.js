// Lines over time.

import { baseAxis, curve, labelRoom, numberTicks, scale, sideAxis, timeLabel } from "./axes.js";
import { changeLines, changeMarks } from "./changes.js";
import { draw } from "./dom.js";
import { FOOT, NARROW, names, overTime, tableOf, timeline, title } from "./pictures.js";

const [TOP, BASE] = [14, 190];

/**
 * Return what paints a history as lines.
 *   lines   [{name, look, value(moment)}], value null where there is none
 *   format  a value as text; `tick` the same at the axis, if it differs
 *   least   the highest value that the axis goes up to at least
 *   finest  the smallest step of the axis
 *   settled  whether to leave out the step under way, which is not over yet
 */
export function linesPainter({ lines, format, tick = format, least, finest = 0, summary, empty, settled = false }) {
  return (history, width) => {
    const narrow = width < NARROW;
    const last = history.moments.length - 1;
    const values = history.moments.map((moment, at) => lines.map(({ value }) => (
      settled && at === last ? null : value(moment, history)
    )));
    const known = values.flat().filter((value) => value !== null);
    const ticks = numberTicks(Math.max(least, ...known), finest, 4);
    const left = labelRoom(ticks.map(tick));
    const right = width - (narrow ? 8 : 114);
    const { x, steps, ticks: times } = timeline(history, left, right);
    const y = scale(0, ticks.at(-1), BASE, TOP);
    const drawn = lines.map(({ name, look }, n) => ({
      name, look,
      points: steps.map((step, at) => ({ x: step.x, y: values[at][n] === null ? null : y(values[at][n]) })),
    }));
    const stops = steps.map((step, at) => ({
      key: history.moments[at].since,
      x: step.x,
      dots: drawn.map(({ points, look }) => ({ y: points[at].y, look })),
      title: title(step, at, steps),
      lines: lines.map(({ name, words = format }, n) => [name, values[at][n] === null ? "–" : words(values[at][n])]),
      notes: changeLines(history, step),
    }));
    const nodes = [
      ...sideAxis(ticks, y, left, right, tick),
      ...drawn.flatMap(({ points, look }) => (settled ? curve(points, look) : overTime(points, look))),
      ...baseAxis(times, x, BASE, width, timeLabel),
      ...changeMarks(history, x, TOP, BASE),
      ...(narrow || lines.length === 1 ? [] : names(drawn, right, TOP, BASE)),
      ...(known.length ? [] : [draw("text", {
        x: (left + right) / 2, y: (TOP + BASE) / 2, "text-anchor": "middle",
      }, empty)]),
    ];
    return {
      height: BASE + FOOT, nodes, stops, top: TOP, bottom: BASE,
      legend: narrow && lines.length > 1 ? lines : [],
      summary: known.length ? `${summary}, up to ${format(Math.max(...known))}.` : empty,
      table: tableOf(stops),
    };
  };
}
