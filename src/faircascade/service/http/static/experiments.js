// What is served: the kill switch, the experiment and how it goes. A section of the dashboard of its own.

import { NeedsKey, NotAllowed, get, hasKey, put } from "./api.js";
import { baseAxis, curve, labelRoom, numberTicks, scale, sideAxis, timeLabel, timeTicks } from "./axes.js";
import { Chart } from "./chart.js";
import { byId, draw, make, repeat, write } from "./dom.js";
import { NOTHING, clockTime, count, dayName, percent, score, visible } from "./format.js";
import { poll } from "./poll.js";

const EVERY = 10_000; // milliseconds
const MEASURES = {
  clicks_per_slate: "Clicks per slate",
  reward_per_slate: "Reward per slate",
  equality_b: "Equality of appearances",
  equality_p: "Equality by position",
};
const LOOKS = ["one", "two", "three"];
const ANSWERS = { same: "No difference", open: "Open" }; // the others say it in their words
const KILL_SWITCH = { "most-popular": "the most popular items", random: "random items" };

const when = (time) => `${dayName(new Date(time))}, ${clockTime(new Date(time))}`;
const signed = (value, digits = 1) =>
  (value === null ? NOTHING : `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}%`);

const charts = Object.fromEntries(["clicks_per_slate", "equality_p"].map((measure) => [
  measure,
  new Chart(byId(`experiment-${measure}`), `Difference in ${MEASURES[measure].toLowerCase()} over time`, paint),
]));

async function refresh(signal) {
  let lineup;
  try {
    lineup = await get("/v1/policies", signal);
    const found = lineup.experiment === null
      ? null : await get(`/v1/experiments/${encodeURIComponent(lineup.experiment)}`, signal);
    if (signal.aborted) return "failed";
    byId("serving-card").hidden = false;
    showLineup(lineup);
    showExperiment(found);
    return "done";
  } catch (error) {
    // What is wrong is said by the rest of the page.
    if (error instanceof NeedsKey || lineup === undefined) byId("serving-card").hidden = true;
    return "failed";
  }
}

// the kill switch

function showLineup({ policies, kill_switch: on, may_change: mayChange, changes }) {
  byId("kill-switch").dataset.state = on === null ? "off" : "on";
  write(byId("kill-switch-words"), on === null
    ? "The kill switch is off." : `The kill switch is on: everybody gets ${KILL_SWITCH[on]}.`);
  byId("kill-switch-on").hidden = !mayChange || on !== null;
  byId("kill-switch-off").hidden = !mayChange || on === null;
  if (!mayChange || on !== null) byId("kill-switch-form").hidden = true;
  const [{ versions }] = policies;
  const { label } = versions.find((version) => version.current);
  const others = policies.slice(1).map(({ name, shadow_share: share }) =>
    (share ? `${name} (shadow for ${percent(share)} of users)` : name));
  write(byId("serving-words"), `Default: ${label}.${others.length ? ` Others: ${others.join(", ")}.` : ""}`);
  repeat(byId("serving-changes"), changes.toReversed().slice(0, 20), () => make("li", {}, make("time"), make("span")),
    (item, { time, text }) => {
      write(item.firstChild, when(time));
      write(item.lastChild, ` ${visible(text)}`);
    });
}

async function turn(policy) {
  write(byId("kill-switch-error"), "");
  try {
    await put("/v1/kill-switch", { policy });
    byId("kill-switch-form").hidden = true;
    now();
  } catch (error) {
    write(byId("kill-switch-error"), error instanceof NeedsKey || error instanceof NotAllowed
      ? `This ${hasKey() ? "key may not change" : "needs a key that may change"} what is served.`
      : `Nothing was changed. ${error.message}`);
  }
}

byId("kill-switch-on").addEventListener("click", () => {
  byId("kill-switch-form").hidden = false;
  byId("kill-switch-on").hidden = true;
  byId("kill-switch-form").querySelector("button").focus();
});
byId("kill-switch-off").addEventListener("click", () => turn(null));
byId("kill-switch-form").addEventListener("click", ({ target }) => {
  if (target.value === "cancel") {
    byId("kill-switch-form").hidden = true;
    byId("kill-switch-on").hidden = false;
    byId("kill-switch-on").focus();
  } else if (target.value) {
    turn(target.value);
  }
});

// the experiment

function showExperiment(found) {
  byId("experiment").hidden = found === null;
  if (found === null) return;
  const { name, state, since, counted_since: counted, control, arms, comparisons, shares, sample_ratio: ratio } = found;
  write(byId("experiment-name"), `Experiment ${name}`);
  const stopped = state === "stopped" ? "It is stopped: everybody gets the control. " : "";
  const anew = counted === since ? "" : ` Counted since ${when(counted)}, when shares or policies were last changed.`;
  write(byId("experiment-words"), `${stopped}Since ${when(since)}.${anew} Intervals hold at all looks together.`);
  byId("experiment-alarm").hidden = !ratio.mismatch;
  write(byId("experiment-alarm"), `Users are not divided as planned: ${ratio.text}.`);
  repeat(byId("experiment-arms"), Object.entries(arms), armRow, (row, [arm, said]) => {
    const [head, share, users, slates, clicks, equality] = row.children;
    write(head, arm === control ? `${arm} (control)` : arm);
    write(share.firstChild, percent(shares[arm]));
    share.lastChild.firstChild.style.width = `${100 * shares[arm]}%`;
    write(users, count(said.users));
    write(slates, count(said.slates));
    write(clicks, said.clicks_per_slate.value === null ? NOTHING : said.clicks_per_slate.value.toFixed(3));
    write(equality, score(said.equality_p.value));
  });
  showComparisons(comparisons, found.relevant);
  const looks = found.periods.flatMap((period, at) => period.looks.map((look) => ({ ...look, period: at })));
  for (const [measure, chart] of Object.entries(charts)) {
    byId(`experiment-${measure}`).parentElement.hidden = looks.length === 0;
    if (looks.length) chart.update({ measure, looks, arms: Object.keys(comparisons), changes: found.changes });
  }
}

const armRow = () => make("tr", {}, make("th", { scope: "row" }),
  make("td", {}, make("span"), make("div", { class: "bar" }, make("span"))),
  ...Array.from({ length: 4 }, () => make("td")));

function showComparisons(comparisons, relevant) {
  const rows = Object.entries(comparisons).flatMap(([arm, measures]) =>
    Object.entries(MEASURES).filter(([measure]) => tells(measures, measure))
      .map(([measure, title]) => ({ arm, title, ...measures[measure] })));
  const ends = rows.flatMap((row) => [row.low_percent, row.high_percent]).filter((end) => end !== null);
  const reach = Math.min(100, Math.max(300 * relevant, ...ends.map(Math.abs)));
  const place = (value) => `${50 + (50 * Math.max(-reach, Math.min(reach, value))) / reach}%`;
  repeat(byId("experiment-verdicts"), rows, verdictRow, (row, said) => {
    const [head, difference, picture, verdict] = row.children;
    write(head.firstChild, said.arm);
    write(head.lastChild, ` ${said.title}`);
    const known = said.low_percent !== null;
    write(difference, known ? `${signed(said.value_percent)} (${signed(said.low_percent)} to ${signed(said.high_percent)})`
      : signed(said.value_percent));
    const [band, , span, dot] = picture.firstChild.children;
    band.style.left = place(-100 * relevant);
    band.style.right = `calc(100% - ${place(100 * relevant)})`;
    span.hidden = dot.hidden = !known;
    if (known) {
      span.style.left = place(said.low_percent);
      span.style.right = `calc(100% - ${place(said.high_percent)})`;
      dot.style.left = place(said.value_percent);
    }
    row.dataset.answer = said.answer;
    const short = ANSWERS[said.answer];
    write(verdict.firstChild, short ?? said.text);
    write(verdict.lastChild, short ? ` ${said.text}` : "");
  });
}

/** Rewards say nothing new where they are not graded. */
const tells = (measures, measure) => measures[measure] !== undefined
  && (measure !== "reward_per_slate" || measures[measure].value !== measures.clicks_per_slate.value);

const verdictRow = () => make("tr", {},
  make("th", { scope: "row" }, make("bdi"), make("span", { class: "members" })),
  make("td"),
  make("td", {}, make("div", { class: "interval", "aria-hidden": "true" },
    make("span", { class: "same" }), make("span", { class: "zero" }),
    make("span", { class: "range" }), make("span", { class: "value" }))),
  make("td", {}, make("strong"), make("span")));

/** Differences from the control with their intervals over time, and when something was changed. */
function paint({ measure, looks, arms, changes }, width) {
  const of = (look, arm, end) => look.comparisons[arm]?.[measure]?.[`${end}_percent`] ?? null;
  const known = looks.flatMap((look) => arms.flatMap((arm) => ["low", "value", "high"].map((end) => of(look, arm, end))))
    .filter((value) => value !== null).map(Math.abs);
  const ticks = numberTicks(Math.min(100, Math.max(1, ...known)), 0, 3);
  const both = [...ticks.slice(1).reverse().map((tick) => -tick), ...ticks];
  const label = (tick) => signed(tick, Number.isInteger(tick) ? 0 : 1);
  const [left, right, top, base] = [labelRoom(both.map(label)), width - 8, 22, 210];
  const since = new Date(looks[0].time);
  const until = new Date(Math.max(new Date(looks.at(-1).time), since.getTime() + 60_000));
  const x = scale(since.getTime(), until.getTime(), left, right);
  const y = scale(-ticks.at(-1), ticks.at(-1), base, top);
  const within = (value) => (value === null ? null : Math.max(top, Math.min(base, y(value))));
  const marks = changes.map(({ time, text }) => ({ time: new Date(time), text }))
    .filter(({ time }) => time >= since && time <= until);
  const at = (look) => x(new Date(look.time).getTime());
  const nodes = [
    draw("text", { class: "title", x: 0, y: 12 }, `${MEASURES[measure]}, less the control's`),
    ...sideAxis(both, y, left, right, label),
    draw("line", { class: "base", x1: left, x2: right, y1: y(0), y2: y(0) }),
    ...baseAxis(timeTicks(since, until, Math.max(2, Math.floor((right - left) / 62))), x, base, width, timeLabel),
    ...arms.flatMap((arm, n) => bands(looks, (look, end) => within(of(look, arm, end)), at, LOOKS[n % 3])),
    ...marks.flatMap(({ time }) => [
      draw("line", { class: "change", x1: x(time), x2: x(time), y1: top, y2: base }),
      draw("path", { class: "change", d: `M${x(time) - 4} ${top - 6}h8l-4 6z` }),
    ]),
  ];
  const stops = looks.map((look) => ({
    key: look.time,
    x: at(look),
    dots: arms.map((arm, n) => ({ y: within(of(look, arm, "value")), look: LOOKS[n % 3] })),
    title: when(look.time),
    lines: [
      ...arms.map((arm) => [arm, of(look, arm, "low") === null ? NOTHING
        : `${signed(of(look, arm, "value"))} (${signed(of(look, arm, "low"))} to ${signed(of(look, arm, "high"))})`]),
      ["Slates", count(look.slates)],
    ],
  }));
  const now = stops.at(-1).lines.map(([name, value]) => `${name} ${value}`).join(", ");
  return {
    height: base + 24, nodes, stops, top, bottom: base,
    legend: arms.length > 1 ? arms.map((name, n) => ({ name, look: LOOKS[n % 3] })) : [],
    summary: `${MEASURES[measure]}, differences from the control over time: at last ${now}.`,
    table: { head: ["Look", ...stops[0].lines.map(([name]) => name)],
      rows: stops.map(({ title, lines }) => [title, ...lines.map(([, value]) => value)]) },
  };
}

/** A line with its interval around it; it breaks where it is counted anew. */
function bands(looks, place, x, look) {
  const parts = [];
  for (const one of looks) {
    const last = parts.at(-1);
    if (last && last.at(-1).period === one.period) last.push(one);
    else parts.push([one]);
  }
  return parts.flatMap((part) => {
    const sure = part.filter((one) => place(one, "low") !== null);
    const points = sure.map((one) => ({ x: x(one), y: place(one, "value") }));
    const edge = (end) => sure.map((one) => `${x(one).toFixed(1)} ${place(one, end).toFixed(1)}`);
    const area = sure.length > 1
      ? [draw("path", { class: `band ${look}`, d: `M${[...edge("high"), ...edge("low").reverse()].join("L")}Z` })] : [];
    return [...area, ...curve(points, look)];
  });
}

const now = poll(refresh, { every: EVERY, longest: 30_000 });
