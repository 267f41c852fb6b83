// How many requests there are, how long they take, and what became of slates.

import { get } from "./api.js";
import { card } from "./card.js";
import { Chart } from "./chart.js";
import { make, write } from "./dom.js";
import { NOTHING, count, duration, lasting, percent, rate, wholePercent } from "./format.js";
import { withoutStart } from "./history.js";
import { linesPainter } from "./lines.js";
import { fillTiles } from "./tables.js";

const lengthOf = ({ since, until }) => Math.max(1, (new Date(until) - new Date(since)) / 1000);
const everySecond = (kind) => (moment) => moment[kind] / lengthOf(moment);
const requests = ({ recommendations, feedback, other }) => recommendations + feedback + other;

const paintRequests = linesPainter({
  lines: [
    { name: "Slates", look: "one", value: everySecond("recommendations") },
    { name: "Feedback", look: "two", value: everySecond("feedback") },
    { name: "Other", look: "three", value: everySecond("other") },
  ],
  format: rate, least: 0.1, summary: "Requests a second", empty: "No requests yet",
});
const paintTimes = linesPainter({
  lines: [
    { name: "p99", look: "two", value: ({ seconds }) => seconds?.p99 ?? null },
    { name: "p50", look: "one", value: ({ seconds }) => seconds?.p50 ?? null },
  ],
  format: duration, least: 0.001, summary: "Time to a slate", empty: "No requests for one slate yet",
});
const paintFailures = linesPainter({
  lines: [
    { name: "Errors", look: "two", value: ({ errors }) => errors },
    { name: "Refused", look: "one", value: ({ refused }) => refused },
  ],
  format: count, least: 1, finest: 1, summary: "Failed and refused requests", empty: "",
});
const paintAnswered = linesPainter({
  lines: [{
    name: "Answered", look: "one",
    value: ({ recommendations, answers }) => (recommendations ? answers / recommendations : null),
  }],
  format: percent, tick: wholePercent, least: 0.01, summary: "Answers for each slate", empty: "No slates", settled: true,
});

export const traffic = {
  id: "traffic",
  title: "Requests",
  mount(body) {
    const tiles = make("dl", { class: "tiles" });
    const part = make("div", { class: "whole" }, tiles);
    const places = Array.from({ length: 4 }, () => make("div", { class: "chart" }));
    const [rates, ratesWords] = card("Requests", "", "", places[0]);
    const [times] = card("Time to a slate", "Of requests for one slate, from their head to the end of the answer.", "", places[1]);
    const [failures, failuresWords] = card("Errors and refusals", "", "", places[2]);
    const [answered] = card("Slates answered", "Answers that came in a step for each slate that was handed out in it.", "", places[3]);
    body.append(part, rates, times, failures, answered);
    const charts = {
      requests: new Chart(places[0], "Requests a second", paintRequests),
      times: new Chart(places[1], "Time to a slate", paintTimes),
      failures: new Chart(places[2], "Errors and refusals", paintFailures),
      answered: new Chart(places[3], "Slates answered", paintAnswered),
    };
    return async ({ past, history, changes, signal }) => {
      const found = await get(`/v1/traffic?window=${past}`, signal);
      const step = lasting(found.step_seconds);
      fillTiles(tiles, tilesOf(found, history, step));
      write(ratesWords, `A second, each ${step}, since the service was started.`);
      write(failuresWords, `Each ${step}. Refused: there were too many, and nothing was done.`);
      const shown = withoutStart({ ...beginning(found), changes });
      charts.requests.update(shown);
      charts.times.update(shown);
      charts.failures.update(shown);
      charts.answered.update(withoutStart({ ...history, changes }));
    };
  },
};

/** Leave out the time before the first request: nobody knows what was before the service began. */
function beginning(found) {
  const first = found.moments.findIndex((moment) => requests(moment) > 0);
  const from = Math.max(0, Math.min(first < 0 ? Infinity : first, found.moments.length - 5));
  const moments = found.moments.slice(from);
  return { ...found, moments, window: { ...found.window, since: moments[0].since } };
}

function tilesOf({ moments }, history, step) {
  const sum = (value) => moments.reduce((total, moment) => total + value(moment), 0);
  const [all, errors, refused] = [sum(requests), sum((m) => m.errors), sum((m) => m.refused)];
  const latest = moments.findLast(({ seconds }) => seconds !== null);
  const over = moments.slice(0, -1).findLast((moment) => requests(moment) > 0) ?? moments.at(-1);
  const slates = history.moments.reduce((total, m) => total + m.recommendations, 0);
  const answers = history.moments.reduce((total, m) => total + m.answers, 0);
  const share = (part) => (all ? percent(part / all) : NOTHING);
  return [
    { name: "Requests", value: rate(all ? requests(over) / lengthOf(over) : null), words: `In the last whole ${step} that had any.` },
    { name: "p50", value: duration(latest?.seconds.p50 ?? null), words: "Half of the slates came within this." },
    { name: "p99", value: duration(latest?.seconds.p99 ?? null), words: "99% of the slates came within this." },
    { name: "Errors", value: share(errors), words: `${count(errors)} of ${count(all)} requests failed.` },
    { name: "Refused", value: share(refused), words: `${count(refused)} requests came when there were too many.` },
    { name: "Answered", value: slates ? percent(answers / slates) : NOTHING, words: `${count(answers)} answers, ${count(slates)} slates.` },
  ];
}
