// The dashboard: asks every two seconds, and writes what came into the page that is there.

import { NeedsKey, Trouble, forgetKey, get, hasKey, keepKey } from "./api.js";
import { Chart } from "./chart.js";
import { byId, command, write } from "./dom.js";
import { clockSeconds, clockTime, count, each, fullDate, percent, score, tileCount } from "./format.js";
import { lorenzWords, paintClicks, paintFairness, paintLorenz } from "./pictures.js";
import { poll } from "./poll.js";
import { fillFacts, fillTiles, holdersTable } from "./tables.js";

const SPANS = {
  "1h": "the last hour", "24h": "the last 24 hours", "7d": "the last 7 days", all: "all time",
};
const ASK_POLICY = 30; // turns after which the policy is asked for again: it rarely changes

const charts = {
  clicks: new Chart(byId("clicks-chart"), "Click rate and lists over time", paintClicks),
  fairness: new Chart(byId("fairness-chart"), "Exposure fairness over time", paintFairness),
  lorenz: new Chart(byId("lorenz-chart"), "Lorenz curves of exposure", paintLorenz),
};
const tables = {
  over: holdersTable(byId("over"), "Most over-exposed items", "Item"),
  under: holdersTable(byId("under"), "Most under-exposed items", "Item"),
  suppliers: holdersTable(byId("suppliers"), "Suppliers", "Supplier"),
  groups: holdersTable(byId("groups"), "Groups", "Group"),
};
let turnsToPolicy = 0;
let shownWindow = null;

function chosenWindow() {
  return document.querySelector("input[name=window]:checked").value;
}

/** One turn of asking. */
async function refresh(signal) {
  const window = chosenWindow();
  const past = window === "all" ? "7d" : window; // history has no "all"
  try {
    const [exposure, history, policy] = await Promise.all([
      get(`/v1/exposure?window=${window}&limit=10`, signal),
      get(`/v1/exposure/history?window=${past}`, signal),
      turnsToPolicy <= 0 ? get("/v1/policy", signal) : null,
    ]);
    if (signal.aborted) return "failed";
    if (policy) showPolicy(policy);
    turnsToPolicy = policy ? ASK_POLICY : turnsToPolicy - 1;
    showExposure(exposure, window);
    showHistory(history, window);
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
  write(byId("policy-label"), label);
  document.title = `${label} · faircascade`;
  byId("policy-card").hidden = false;
  fillFacts(byId("policy"), { name, version, ...parameters });
}

function showExposure(exposure, window) {
  const { recommendations, answers, clicks, click_rate: rate, items, fairness } = exposure;
  const { equality_p: equality = null, equity_p: equity = null, coverage = null } = fairness;
  const some = recommendations > 0;
  const shown = coverage === null ? "" : `${count(Math.round(coverage * items))} of ${count(items)} items were listed.`;
  fillTiles(byId("tiles"), [
    { name: "Lists handed out", value: tileCount(recommendations), words: some ? since(exposure.window, window) : "None yet." },
    { name: "Clicks", value: tileCount(clicks), words: some ? `On ${count(answers)} answered lists.` : "None yet." },
    { name: "Click rate", value: percent(rate), words: "Clicks by answered list." },
    { name: "Equality (P)", value: score(equality), meter: equality ?? 0, words: "1: the same exposure for every item." },
    { name: "Equity (P)", value: score(equity), meter: equity ?? 0, words: "1: exposure in proportion to merit." },
    { name: "Coverage", value: percent(coverage), meter: coverage ?? 0, words: shown || "Share of items listed at all." },
  ]);
  byId("empty").hidden = some;
  byId("shown").hidden = !some;
  if (some) {
    charts.lorenz.update(exposure.lorenz);
    write(byId("lorenz-words"), lorenzWords(exposure.lorenz));
    tables.over(exposure.over_exposed);
    tables.under(exposure.under_exposed);
  } else {
    showFirstSteps(window, items);
  }
  for (const kind of ["suppliers", "groups"]) {
    byId(`${kind}-card`).hidden = !some || exposure[kind].length === 0;
    tables[kind](exposure[kind]);
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
  const step = each(history.step_seconds);
  write(byId("clicks-words"), `In ${past}. The ring is the step under way.`);
  write(byId("fairness-words"), `Of the lists of ${step} on their own, in ${past}. (P): weighed by position.`);
  if (history.moments.length === 0) return;
  charts.clicks.update(history);
  charts.fairness.update(history);
}

/** What to do when there is nothing to see. */
function showFirstSteps(window, items) {
  const key = hasKey() ? ' -H "Authorization: Bearer $KEY"' : "";
  const post = (path, body) => `curl ${location.origin}${path}${key} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body)}'`;
  const steps = [
    ["Ask for a list:", post("/v1/recommendations", { user: "user-7", k: 3 })],
    ["Say what was clicked, with the impression_id of the answer:", post("/v1/feedback", { impression_id: "…", clicked_position: 1 })],
  ];
  if (items === 0) {
    steps.unshift(["Add items with their features:", post("/v1/items", {
      items: [{ item: "song-1", features: [0.1, -0.3] }, { item: "song-2", features: [0.4, 0.2] }],
    })]);
  }
  const ever = window === "all";
  write(byId("empty-title"), ever ? "Nothing has been shown yet" : `No lists in ${SPANS[window]}`);
  const ready = items === 0 ? "The catalogue is empty." : `The service is ready, with ${count(items)} items.`;
  const next = ever ? "Send a request" : "Choose a longer window above, or send a request";
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
for (const choice of document.querySelectorAll("input[name=window]")) {
  if (wanted === choice.value) choice.checked = true;
}
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
