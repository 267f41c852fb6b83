// Scales, ticks and axes of charts.

import { draw } from "./dom.js";
import { clockTime, dayName } from "./format.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * MINUTE)
  .concat([1, 2, 3, 6, 12].map((n) => n * HOUR), [1, 2, 7].map((n) => n * DAY));

/** Return the function that takes [low, high] to [from, to]. */
export function scale(low, high, from, to) {
  const slope = (to - from) / (high - low || 1);
  return (value) => from + (value - low) * slope;
}

/** Return round numbers from 0 to at least `highest`, in few steps of at least `finest`. */
export function numberTicks(highest, finest = 0, most = 4) {
  const rough = Math.max(highest, Number.MIN_VALUE) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const found = [1, 2, 2.5, 5, 10].find((n) => n * power >= rough * 0.999) * power;
  const step = Math.max(found, finest);
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: steps + 1 }, (_, n) => Number((n * step).toPrecision(12)));
}

/** Return round local times within a span, at most so many. */
export function timeTicks(since, until, most) {
  const step = STEPS.find((n) => (until - since) / n <= most) ?? 7 * DAY;
  const found = [];
  const start = new Date(since);
  start.setHours(0, 0, 0, 0);
  for (let n = 0; ; n += 1) {
    const time = new Date(start);
    if (step < DAY) time.setMinutes((n * step) / MINUTE);
    else time.setDate(time.getDate() + (n * step) / DAY); // a day may have 23 hours
    if (time > until) return found;
    if (time >= since) found.push(time);
  }
}

/** A day where it begins, else the time of day. */
export function timeLabel(time) {
  return time.getHours() === 0 && time.getMinutes() === 0 ? dayName(time) : clockTime(time);
}

/** Room that labels left of an axis take, in pixels. */
export const labelRoom = (labels) => 10 + 7 * Math.max(...labels.map((text) => text.length));

/** Return horizontal rules with their numbers to the left; the lowest is the base line. */
export function sideAxis(ticks, y, left, right, label) {
  return ticks.flatMap((tick, n) => [
    draw("line", { class: n ? "rule" : "base", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
    draw("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, label(tick)),
  ]);
}

/** Return little ticks below a base line, with labels that do not leave the picture. */
export function baseAxis(ticks, x, base, width, label) {
  return ticks.flatMap((tick) => {
    const text = label(tick);
    const half = 3.5 * text.length;
    const middle = Math.min(Math.max(x(tick), half), width - half);
    return [
      draw("line", { class: "base", x1: x(tick), x2: x(tick), y1: base, y2: base + 4 }),
      draw("text", { x: middle, y: base + 17, "text-anchor": "middle" }, text),
    ];
  });
}

/** Return a path through points with x and y; one without y is a gap. */
export function curve(points, look) {
  let d = "";
  const alone = [];
  points.forEach((point, at) => {
    if (point.y === null) return;
    const before = (points[at - 1]?.y ?? null) !== null;
    const after = (points[at + 1]?.y ?? null) !== null;
    if (!before && !after) alone.push(point); // a path of one point is not drawn
    d += `${before ? "L" : "M"}${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
  });
  return [
    draw("path", { class: `curve ${look}`, d }),
    ...alone.map(({ x, y }) => draw("circle", { class: `dot ${look}`, cx: x, cy: y, r: 2.5 })),
  ];
}

/** Move places apart until they are `gap` from each other, in their order, within limits. */
export function apart(places, gap, low, high) {
  const order = places.map((_, n) => n).sort((a, b) => places[a] - places[b]);
  const found = [...places];
  let least = low;
  for (const n of order) {
    found[n] = Math.max(found[n], least);
    least = found[n] + gap;
  }
  let most = high;
  for (const n of order.reverse()) {
    found[n] = Math.min(found[n], most);
    most = found[n] - gap;
  }
  return found;
}
