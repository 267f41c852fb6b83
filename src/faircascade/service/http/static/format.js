// Numbers and times as people read them. The page is in English, so they are too: days before
// months and 24 hours, as everywhere in the project, but millions as M, as m may be minutes.

export const NOTHING = "–";

const whole = new Intl.NumberFormat("en-GB");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const long = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 4 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const count = (value) => whole.format(value);
export const shortCount = (value) => (value < 10_000 ? count(value) : short.format(value));
/** A count for a tile: more than seven digits do not fit on a phone. */
export const tileCount = (value) => (value < 10_000_000 ? count(value) : long.format(value));
export const clockTime = (time) => clock.format(time);
export const clockSeconds = (time) => seconds.format(time);
export const dayName = (time) => day.format(time);
export const fullDate = (time) => date.format(time);

const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A name with the marks shown that would reorder the text around them. */
export const visible = (name) =>
  name.replace(MARKS, (mark) => `‹U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

/** 1 - Gini and the like: three decimals. */
export const score = (value) => (value === null ? NOTHING : value.toFixed(3));

/** A share in percent, with as many decimals as a small one needs. */
export function percent(share) {
  if (share === null) return NOTHING;
  const value = 100 * share;
  if (value === 0) return "0%";
  if (value < 0.001) return "<0.001%";
  if (value >= 99.95) return "100%";
  const decimals = value >= 1 ? 1 : value >= 0.1 ? 2 : 3;
  return `${value.toFixed(decimals)}%`;
}

/** Clicks per answered slate: percent, unless there are slates with so many that it is above 1. */
export function clickRate(rate, most = rate) {
  return rate !== null && most > 1 ? rate.toFixed(2) : percent(rate);
}

/** How many times its fair share something has. */
export function times(ratio) {
  if (ratio === 0) return "0×";
  if (ratio < 0.01) return "<0.01×";
  if (ratio >= 1000) return `${shortCount(Math.round(ratio))}×`;
  return `${ratio.toFixed(ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2)}×`;
}

/** A length of time: "minute", "15 minutes", "hour". */
export function lasting(step) {
  const [size, unit] = [[86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(
    ([size]) => step >= size && step % size === 0,
  );
  return step === size ? unit : `${step / size} ${unit}s`;
}

/** From when to when, as short as it can be said. */
export function span(since, until) {
  const today = new Date().toDateString() === since.toDateString();
  return `${today ? "" : `${dayName(since)}, `}${clockTime(since)}–${clockTime(until)}`;
}

/** A number of seconds: "0.85 ms", "4.2 ms", "1.3 s". */
export function duration(value) {
  if (value === null) return NOTHING;
  if (value === 0) return "0 ms";
  if (value < 0.0995) return `${Number((1000 * value).toPrecision(2))} ms`;
  if (value < 0.9995) return `${Math.round(1000 * value)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : lastingAbout(value);
}

function lastingAbout(seconds) {
  const [size, unit] = [[86_400, "days"], [3600, "hours"], [60, "minutes"]].find(([n]) => seconds >= 2 * n) ?? [1, "s"];
  return `${count(Math.round(seconds / size))} ${unit}`;
}

/** Events a second. */
export function rate(value) {
  if (value === null) return NOTHING;
  if (value >= 9.95) return `${shortCount(Math.round(value))}/s`;
  return `${Number(value.toPrecision(2))}/s`;
}

/** A number of bytes. */
export function bytes(value) {
  if (value === null) return NOTHING;
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let at = 0;
  let left = value;
  for (; left >= 1000 && at < units.length - 1; at += 1) left /= 1000;
  return `${at === 0 || left >= 100 ? Math.round(left) : left.toPrecision(2)} ${units[at]}`;
}

/** A share in whole percents, for axes. */
export const wholePercent = (share) => `${Number((100 * share).toPrecision(3))}%`;
