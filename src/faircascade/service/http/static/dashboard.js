// The dashboard: asks every two seconds, and writes what came into the page that is there.

import { NeedsKey, Trouble, forgetKey, get, hasKey, keepKey } from "./api.js";
import { marksInWords } from "./changes.js";
import { Chart } from "./chart.js";
import { byId, command, write } from "./dom.js";
import { clickRate, clockSeconds, clockTime, count, fullDate, lasting, percent, score, tileCount } from "./format.js";
import { comparable, waitingWords, withoutStart } from "./history.js";
import { lorenzWords, paintClicks, paintFairness, paintLorenz } from "./pictures.js";
import { poll } from "./poll.js";
import { mountSections } from "./sections.js";
import { ShortList } from "./shortlist.js";
import { fillFacts, fillTiles, holdersTable } from "./tables.js";

const SPANS = {
  "1h": "the last hour", "24h": "the last 24 hours", "7d": "the last 7 days", all: "all time",
};
const YOUNG = 3 * 3_600_000; // milliseconds since the first slate; until then a day is mostly empty
const ASK_POLICY = 30; // turns after which the policy is asked for again: it rarely changes

const charts = {
  clicks: new Chart(byId("clicks-chart"), "Click rate and slates over time", paintClicks),
  fairness: new Chart(byId("fairness-chart"), "Exposure fairness over time", paintFairness),
  lorenz: new Chart(byId("lorenz-chart"), "Lorenz curves of exposure", paintLorenz),
};
const tables = {
  over: holdersTable(byId("over"), "Most over-exposed items", "Item",
    "None: no item has more exposure than its merit."),
  under: holdersTable(byId("under"), "Most under-exposed items", "Item",
    "None: no item has less exposure than its merit."),
};
const shortLists = {
  suppliers: new ShortList(byId("suppliers"), "supplier", "Supplier", () => now()),
  groups: new ShortList(byId("groups"), "group", "Group", () => now()),
};
const refreshSections = mountSections(byId("sections"));
let turnsToPolicy = 0;
let shownWindow = null;

function chosenWindow() {
  return document.querySelector("input[name=window]:checked")?.value;
}

/** Choose a window for somebody who did not: one that is not mostly empty. */
async function chooseWindow(signal) {
  const { window: { since, until } } = await get("/v1/exposure?window=all&limit=1", signal);
  const young = since === null || new Date(until) - new Date(since) < YOUNG;
  if (!signal.aborted) choiceOf(young ? "1h" : "24h").checked = true;
}

const choiceOf = (window) => document.querySelector(`input[name=window][value="${window}"]`);

/** One turn of asking. */
async function refresh(signal) {
  try {
    if (!chosenWindow()) await chooseWindow(signal);
    if (signal.aborted) return "failed";
    const window = chosenWindow();
    const past = window === "all" ? "7d" : window; // history has no "all"
    const [exposure, history, { changes }, policy] = await Promise.all([
      get(`/v1/exposure?window=${window}&limit=10`, signal),
      get(`/v1/exposure/history?window=${past}`, signal),
      get("/v1/policies", signal),
      turnsToPolicy <= 0 ? get("/v1/policy", signal) : null,
    ]);
    const rest = await askForRest(exposure, window, signal);
    if (signal.aborted) return "failed";
    if (policy) showPolicy(policy);
    turnsToPolicy = policy ? ASK_POLICY : turnsToPolicy - 1;
    showExposure(exposure, window, rest);
    showHistory({ ...history, changes }, window);
    byId("content").hidden = false; // charts must have a width
    await refreshSections({ window, past, history, changes, signal });
    if (signal.aborted) return "failed";
    shownWindow = window;
    say("live", "Live");
    return "done";
  } catch (error) {
    if (signal.aborted) return "failed";
    turnsToPolicy = 0; // whoever answers next may have another one
    if (error instanceof NeedsKey) return askForKey();
    if (!(error instanceof Trouble)) console.error(error);
    const words = error.answered === false ? "Cannot reach the service" : "The service has trouble";
    say("down", words, error.message);
    return "failed";
  }
}

/** Ask for what a summary does not say: whether any slate was ever shown, and the rest of the short lists. */
async function askForRest(exposure, window, signal) {
  const quiet = window !== "all" && exposure.recommendations === 0;
  const [{ recommendations: ever }, ...more] = await Promise.all([
    quiet ? get("/v1/exposure?window=all&limit=1", signal) : exposure,
    ...Object.entries(shortLists).map(([kind, list]) => list.ask(exposure[kind], window, signal)),
  ]);
  return { ever, ...Object.fromEntries(Object.keys(shortLists).map((kind, at) => [kind, more[at]])) };
}

/** Say how things stand, and show the parts of the page that go with it. */
function say(state, words, why = "") {
  byId("status").dataset.state = state;
  write(byId("status"), words);
  byId("content").removeAttribute("aria-busy");
  byId("trouble").hidden = state !== "down";
  byId("key-form").hidden = state !== "key";
  if (state === "live") {
    byId("content").hidden = false;
    write(byId("updated"), clockSeconds(new Date()));
  } else if (state === "key") {
    byId("content").hidden = true; // what it showed is not for everybody
    shownWindow = null;
  } else {
    const old = shownWindow ? `These numbers are old, and of ${SPANS[shownWindow]}.` : "";
    write(byId("trouble-what"), `${words}.`);
    write(byId("trouble-why"), [why, old, "This page keeps trying."].filter(Boolean).join(" "));
  }
}

function askForKey() {
  const refused = hasKey();
  forgetKey();
  say("key", "Needs a key");
  write(byId("key-error"), refused ? "This key was refused." : "");
  if (refused || document.activeElement === document.body) byId("key").focus();
  return "held";
}

function showPolicy({ name, label, version, parameters }) {
  write(byId("policy-label"), `Slates ranked by ${label}`);
  byId("policy-card").hidden = false;
  fillFacts(byId("policy"), { name, version, ...parameters });
}

function showExposure(exposure, window, rest) {
  const { recommendations, answers, clicks, clicked, click_rate: rate, items, fairness } = exposure;
  const { equality_p: equality = null, equity_p: equity = null, coverage = null } = fairness;
  const some = recommendations > 0;
  const { positions, positions_shown: seen } = exposure;
  const partly = seen < positions ? ` ${percent(seen / positions)} of their positions were shown.` : "";
  const shown = coverage === null ? "" : `${count(Math.round(coverage * items))} of ${count(items)} items were shown.`;
  fillTiles(byId("tiles"), [
    { name: "Slates shown", value: tileCount(recommendations), words: some ? since(exposure.window, window) + partly : "None yet." },
    { name: "Clicks", value: tileCount(clicks), words: some ? `On ${count(clicked)} of ${count(answers)} answered slates.` : "None yet." },
    { name: "Click rate", value: clickRate(rate), words: "Clicks per answered slate." },
    { name: "Equality", value: score(equality), meter: equality ?? 0, words: "1 if all items have the same exposure, weighed by position." },
    { name: "Equity", value: score(equity), meter: equity ?? 0, words: "1 if exposure, weighed by position, is in proportion to merit." },
    { name: "Coverage", value: percent(coverage), meter: coverage ?? 0, words: shown || "Share of items shown at all." },
  ]);
  byId("empty").hidden = some;
  byId("shown").hidden = !some;
  if (some) {
    charts.lorenz.update(exposure.lorenz);
    write(byId("lorenz-words"), lorenzWords(exposure.lorenz));
    tables.over(exposure.over_exposed);
    tables.under(exposure.under_exposed);
  } else {
    showFirstSteps(window, items, rest.ever > 0);
  }
  for (const [kind, list] of Object.entries(shortLists)) {
    byId(`${kind}-card`).hidden = !some || exposure[kind].length === 0;
    list.show(exposure[kind], rest[kind]);
  }
}

function since(window, name) {
  if (name !== "all") return `In ${SPANS[name]}.`;
  if (window.since === null) return "Since the first one.";
  const start = new Date(window.since);
  return `Since ${fullDate(start)}, ${clockTime(start)}.`;
}

function showHistory(history, window) {
  const past = window === "all" ? `${SPANS["7d"]}, the longest history there is` : SPANS[window];
  const step = lasting(history.step_seconds);
  const fair = comparable(history);
  write(byId("clicks-words"), waitingWords(history)
    || `In ${past}. The ring is the running ${step.replace(/^\d.*/, "step")}, not over yet.`
      + marksInWords(history));
  write(byId("fairness-words"), waitingWords(fair)
    || `Each ${step} by itself, so mostly lower than the totals above.`);
  if (history.moments.length === 0) return;
  charts.clicks.update(withoutStart(history));
  charts.fairness.update(withoutStart(fair));
}

/** What to do when there is nothing to see. */
function showFirstSteps(window, items, ever) {
  const key = hasKey() ? ' -H "Authorization: Bearer $KEY"' : "";
  const post = (path, body) => `curl ${location.origin}${path}${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body)}'`;
  const steps = [
    ["Ask for a slate:", post("/v1/recommendations", { user: "user-7", k: 3 })],
    ["Say what was clicked, with the impression_id of the answer:", post("/v1/feedback", { impression_id: "…", clicked_position: 1 })],
  ];
  if (items === 0) {
    steps.unshift(["Add items with their features:", post("/v1/items", {
      items: [{ item: "song-1", features: [0.1, -0.3] }, { item: "song-2", features: [0.4, 0.2] }],
    })]);
  }
  write(byId("empty-title"), ever ? `No slates in ${SPANS[window]}` : "Nothing has been shown yet");
  const ready = items === 0 ? "The catalogue is empty." : `The service is ready, with ${count(items)} items.`;
  const next = ever ? "Choose a longer window above, or send a request" : "Send a request";
  write(byId("empty-words"), `${ready} ${next}: it shows here within seconds.`);
  const list = byId("first-steps");
  const texts = steps.flat().join("\n");
  if (list.dataset.texts === texts) return; // a command may be selected
  list.dataset.texts = texts;
  list.replaceChildren(...steps.map(([words, text]) => {
    const step = document.createElement("li");
    step.append(words, command(text));
    return step;
  }));
}

const wanted = new URLSearchParams(location.search).get("window");
if (Object.hasOwn(SPANS, wanted ?? "")) choiceOf(wanted).checked = true;
const now = poll(refresh, { every: 2000, longest: 30_000 });
document.querySelector(".switch").addEventListener("change", () => {
  history.replaceState(null, "", `?window=${chosenWindow()}`); // a reload keeps it
  byId("content").setAttribute("aria-busy", "true");
  now();
});
byId("retry").addEventListener("click", () => now());
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) { // no header can carry it
    write(byId("key-error"), "A key has letters, digits and signs without accents or blanks.");
    return;
  }
  keepKey(key);
  byId("key").value = "";
  now();
});
