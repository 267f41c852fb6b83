// What the three charts show.

import { apart, baseAxis, curve, labelRoom, numberTicks, scale, sideAxis, timeLabel, timeTicks } from "./axes.js";
import { changeLines, changeMarks } from "./changes.js";
import { draw } from "./dom.js";
import { clickRate, count, lasting, percent, score, shortCount, span } from "./format.js";

export const NARROW = 460; // pixels; below it names of lines stand above the picture
export const FOOT = 24;
const WIDEST = 56; // pixels of a bar

/** Share ticks: whole percents, unless they are closer than that. */
const percentTick = (ticks) => (value) => `${(100 * value).toFixed(ticks[1] % 0.01 > 1e-9 && ticks[1] < 0.05 ? 1 : 0)}%`;

/** The time axis that both charts over time have. */
export function timeline({ window, moments }, left, right) {
  const steps = moments.map((moment) => ({
    ...moment, since: new Date(moment.since), until: new Date(moment.until),
  }));
  const since = new Date(Math.min(new Date(window.since ?? moments[0].since), steps[0].since));
  const until = new Date(Math.max(new Date(window.until), steps.at(-1).until));
  const x = scale(since.getTime(), until.getTime(), left, right);
  for (const step of steps) {
    step.from = x(step.since);
    step.to = x(step.until);
    step.x = (step.from + step.to) / 2;
  }
  const ticks = timeTicks(since, until, Math.max(2, Math.floor((right - left) / 62)));
  return { x, steps, ticks };
}

export function title(step, at, steps) {
  return span(step.since, step.until) + (at === steps.length - 1 ? " (so far)" : "");
}

export const each = ({ step_seconds: step }) => `each ${lasting(step)}`;

/** A line through the steps that are over, and a ring for the last one, which is not. */
export function overTime(points, look) {
  const { x, y } = points.at(-1);
  const ring = y === null ? [] : [draw("circle", { class: `ring ${look}`, cx: x, cy: y, r: 3.5 })];
  return [...curve(points.slice(0, -1), look), ...ring];
}

/** Click rate above, slates and those with a click below, over one axis of time. */
export function paintClicks(history, width) {
  const { moments } = history;
  const most = Math.max(0.01, ...moments.map((m) => m.click_rate ?? 0));
  const rates = numberTicks(most, 0, 3);
  const slates = numberTicks(Math.max(1, ...moments.flatMap((m) => [m.recommendations, m.clicked])), 1, 3);
  const rateLabel = most > 1 ? String : percentTick(rates);
  const left = labelRoom([...rates.map(rateLabel), ...slates.map(shortCount)]);
  const right = width - 8;
  const { x, steps, ticks } = timeline(history, left, right);
  const [top, middle, below, base] = [26, 130, 172, 262];
  const height = base + FOOT;
  const rate = scale(0, rates.at(-1), middle, top);
  const number = scale(0, slates.at(-1), base, below);
  const points = steps.map((step) => ({
    x: step.x, y: step.click_rate === null ? null : rate(step.click_rate),
  }));
  const bar = (step, value, look) => {
    const thick = Math.min(WIDEST, Math.max(2, (step.to - step.from) * 0.8));
    return draw("rect", {
      class: `fill ${look}${step === steps.at(-1) ? " under-way" : ""}`,
      x: step.x - thick / 2, y: number(value), width: thick, height: base - number(value),
    });
  };
  const words = each(history);
  const nodes = [
    draw("text", { class: "title", x: 0, y: 12 }, `Click rate, ${words}`),
    ...sideAxis(rates, rate, left, right, rateLabel),
    ...overTime(points, "one"),
    draw("rect", { class: "fill pale", x: 0, y: below - 24, width: 12, height: 12 }),
    draw("text", { class: "title", x: 17, y: below - 14 }, "Slates"),
    draw("rect", { class: "fill one", x: 66, y: below - 24, width: 12, height: 12 }),
    draw("text", { class: "title", x: 83, y: below - 14 }, "With a click"),
    ...sideAxis(slates, number, left, right, shortCount),
    ...steps.map((step) => bar(step, step.recommendations, "pale")),
    ...steps.map((step) => bar(step, step.clicked, "one")),
    ...baseAxis(ticks, x, base, width, timeLabel),
    ...changeMarks(history, x, top, base),
  ];
  const stops = steps.map((step, at) => ({
    key: moments[at].since,
    x: step.x,
    dots: [{ y: points[at].y, look: "one" }],
    title: title(step, at, steps),
    lines: [
      ["Click rate", clickRate(step.click_rate, most)], ["Clicks", count(step.clicks)],
      ["Answered", count(step.answers)], ["Slates", count(step.recommendations)],
    ],
    notes: changeLines(history, step),
  }));
  const total = moments.reduce((sum, m) => sum + m.recommendations, 0);
  const known = moments.map((m) => m.click_rate).filter((r) => r !== null);
  const range = known.length
    ? `, from ${clickRate(Math.min(...known), most)} to ${clickRate(Math.max(...known), most)}` : "";
  return {
    height, nodes, stops, top, bottom: base,
    summary: `Click rate ${words}${range}, and ${count(total)} slates.`,
    table: tableOf(stops),
  };
}

const NOTIONS = [
  { notion: "equality_p", name: "Equality", look: "one", format: score },
  { notion: "equity_p", name: "Equity", look: "two", format: score },
  { notion: "coverage", name: "Coverage", look: "three", format: percent },
];

/**
 * Three measures of fairness between 0 and 1, over time. The step under way is left out: the fewer
 * slates there are, the fewer items can be in them, and every minute would seem to end in a fall.
 */
export function paintFairness(history, width) {
  const narrow = width < NARROW;
  const moments = history.moments.slice(0, -1);
  // A step without slates covers nothing, but that says nothing about the policy.
  const value = (moment, notion) => (moment.recommendations ? moment.fairness[notion] ?? null : null);
  const highest = Math.max(0.01, ...moments.flatMap((m) => NOTIONS.map((n) => value(m, n.notion) ?? 0)));
  const some = moments.some((moment) => value(moment, "coverage") !== null);
  const values = numberTicks(some ? highest : 1);
  const decimals = String(values[1]).split(".")[1]?.length ?? 0;
  const label = (tick) => tick.toFixed(tick === 0 ? 0 : decimals);
  const left = labelRoom(values.map(label));
  const right = width - (narrow ? 8 : 114);
  const { x, steps: all, ticks } = timeline(history, left, right);
  const steps = all.slice(0, -1);
  const [top, base] = [8, narrow ? Math.max(200, Math.round(0.72 * width)) : 262];
  const y = scale(0, values.at(-1), base, top);
  const lines = NOTIONS.map(({ notion, ...rest }) => ({
    ...rest, notion,
    points: steps.map((step) => {
      const known = value(step, notion);
      return { x: step.x, y: known === null ? null : y(known) };
    }),
  }));
  const nodes = [
    ...sideAxis(values, y, left, right, label),
    ...lines.flatMap(({ points, look }) => curve(points, look)),
    ...baseAxis(ticks, x, base, width, timeLabel),
    ...changeMarks(history, x, top, base),
    ...(narrow ? [] : names(lines, right, top, base)),
    ...(some ? [] : [draw("text", {
      x: (left + right) / 2, y: y(0.6), "text-anchor": "middle",
    }, `Begins after the first ${lasting(history.step_seconds)}`)]),
  ];
  const stops = steps.map((step, at) => ({
    key: moments[at].since,
    x: step.x,
    dots: lines.map(({ points, look }) => ({ y: points[at].y, look })),
    title: span(step.since, step.until),
    lines: NOTIONS.map(({ notion, name, format }) => [name, format(value(step, notion))]),
    notes: changeLines(history, step),
  }));
  const last = stops.findLast(({ dots }) => dots.some((dot) => dot.y !== null));
  const now = last ? `: at last ${last.lines.map(([name, value]) => `${name} ${value}`).join(", ")}` : "";
  return {
    height: base + FOOT, nodes, stops, top, bottom: base,
    legend: narrow ? NOTIONS : [],
    summary: `Exposure fairness ${each(history)}${now}.`,
    table: tableOf(stops),
  };
}

/** Names right of where lines end, with a piece of each line. */
export function names(lines, right, top, base) {
  const end = ({ points }) => points.findLast(({ y }) => y !== null)?.y ?? null;
  const drawn = lines.filter((line) => end(line) !== null);
  const ends = drawn.map(end);
  const places = apart(ends, 17, top + 4, base - 4);
  return drawn.flatMap(({ name, look }, at) => [
    draw("path", { class: `curve ${look}`, d: `M${right + 12} ${places[at]}h20` }),
    draw("text", { class: "name", x: right + 37, y: places[at] + 4 }, name),
  ]);
}

const CURVES = [
  { field: "exposure_p", name: "Exposure", look: "one" },
  { field: "exposure_pm", name: "Exposure per merit", look: "two" },
];

/** Lorenz curves: how much of the exposure the least exposed items have. */
export function paintLorenz(lorenz, width) {
  const shares = [0, 0.25, 0.5, 0.75, 1];
  const label = (value) => `${100 * value}%`;
  const [left, right, top] = [labelRoom(["100%"]), width - 14, 8];
  const base = Math.round(Math.min(0.95 * width, 400));
  const x = scale(0, 1, left, right);
  const y = scale(0, 1, base, top);
  const known = CURVES.filter(({ field }) => lorenz[field]);
  const nodes = [
    ...sideAxis(shares, y, left, right, label),
    ...curve([{ x: x(0), y: y(0) }, { x: x(1), y: y(1) }], "even"),
    ...known.flatMap(({ field, look }) => curve(
      lorenz.items.map((share, at) => ({ x: x(share), y: y(lorenz[field][at]) })), look,
    )),
    ...baseAxis(shares, x, base, width, label),
    draw("text", { x: (left + right) / 2, y: base + 36, "text-anchor": "middle" }, "Items, least exposed first"),
    // Above the diagonal there is always room.
    ...[{ name: "All alike", look: "even" }, ...known].flatMap(({ name, look }, at) => [
      draw("path", { class: `curve ${look}`, d: `M${left + 10} ${top + 14 + 18 * at}h24` }),
      draw("text", { class: "name", x: left + 40, y: top + 18 + 18 * at }, name),
    ]),
  ];
  const stops = lorenz.items.map((share, at) => ({
    key: at,
    x: x(share),
    dots: known.map(({ field, look }) => ({ y: y(lorenz[field][at]), look })),
    title: `Least exposed ${percent(share)} of items`,
    lines: known.map(({ field, name }) => [name, percent(lorenz[field][at])]),
  }));
  return {
    height: base + 42, nodes, stops, top, bottom: base,
    summary: `Lorenz curves. ${lorenzWords(lorenz)}`,
    table: tableOf(stops, "Items, least exposed first", ({ title: text }) => text.match(/\S+%/)[0]),
  };
}

/** The curve in a sentence. */
export function lorenzWords({ items, exposure_p: exposure }) {
  if (!exposure) return "";
  const upTo = (share) => {
    const after = items.findIndex((n) => n >= share - 1e-9);
    if (after <= 0) return exposure[0];
    return scale(items[after - 1], items[after], exposure[after - 1], exposure[after])(share);
  };
  return `The most exposed tenth of the items has ${percent(1 - upTo(0.9))} of the exposure, ` +
    `the least exposed half ${percent(upTo(0.5))}.`;
}

export function tableOf(stops, first = "Time", name = ({ title: text }) => text) {
  return {
    head: [first, ...(stops[0]?.lines.map(([text]) => text) ?? [])],
    rows: stops.map((stop) => [name(stop), ...stop.lines.map(([, value]) => value)]),
  };
}
