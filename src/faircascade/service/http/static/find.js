// Look for items and users.

import { NeedsKey, NotAllowed, Trouble, get } from "./api.js";
import { card } from "./card.js";
import { make, repeat, write } from "./dom.js";
import { NOTHING, clockTime, count, dayName, percent, score, times, visible } from "./format.js";

const PAUSE = 250; // milliseconds after the last key
const MOST = 20;

/** Return a form for one text, and where its answer goes; `show(text)` asks and returns words. */
function searchForm(label, hint, show, { typing }) {
  const id = `find-${label.toLowerCase()}`;
  const input = make("input", {
    id, type: "search", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    maxlength: "256", "aria-describedby": `${id}-words`,
  });
  const words = make("p", { id: `${id}-words`, class: "soft", role: "status" }, hint);
  const form = make("form", { class: "search" }, make("label", { for: id }, label),
    make("div", { class: "row" }, input, make("button", {}, "Find")), words);
  let timer;
  let running = new AbortController();
  const ask = async () => {
    clearTimeout(timer);
    running.abort();
    running = new AbortController();
    const { signal } = running;
    try {
      const said = await show(input.value.trim(), signal);
      if (!signal.aborted) write(words, said || hint);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof NeedsKey) write(words, "The service wants a key.");
      else if (error instanceof NotAllowed) write(words, `Not shown: ${error.message || "the key may not do this"}.`);
      else if (error instanceof Trouble) write(words, error.status === 404 ? "Nothing is known under this id." : error.message || "Cannot reach the service.");
      else throw error;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  if (typing) {
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(ask, PAUSE);
    });
  }
  return { form, ask, input };
}

/** Return a table and what fills it with rows of texts; some columns have looks, by number. */
function plainTable(caption, heads, looks = {}) {
  const body = make("tbody");
  const table = make("table", { class: "found", hidden: "" }, make("caption", { class: "hidden" }, caption),
    make("thead", {}, make("tr", {}, ...heads.map((text, at) => make("th", { scope: "col", class: looks[at] ?? "" }, text)))), body);
  const create = () => make("tr", {}, make("th", { scope: "row" }), ...heads.slice(1).map((_, at) => make("td", { class: looks[at + 1] ?? "" })));
  return [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption, hidden: "" }, table), (rows) => {
    table.hidden = table.parentElement.hidden = rows.length === 0;
    repeat(body, rows, create, (row, texts) => texts.forEach((text, at) => write(row.children[at], text)));
  }];
}

const when = (text) => `${dayName(new Date(text))}, ${clockTime(new Date(text))}`;

export const find = {
  id: "find",
  title: "Look up",
  mount(body) {
    let window = "24h";
    const [items, fillItems] = plainTable("Items that were found",
      ["Item", "Exposure", "Merit", "Ratio", "Shown", "Clicks", "Group", "Supplier"], { 6: "text", 7: "text" });
    const itemSearch = searchForm("Item", "Type how an id begins.", async (prefix, signal) => {
      if (!prefix) {
        fillItems([]);
        return "";
      }
      const { total, items: found } = await get(
        `/v1/exposure/find?prefix=${encodeURIComponent(prefix)}&window=${window}&limit=${MOST}`, signal);
      fillItems(found.map((one) => [
        visible(one.name), percent(one.exposure_share), percent(one.merit_share), times(one.ratio),
        count(one.appearances), count(one.clicks), visible(one.group ?? NOTHING), visible(one.supplier ?? NOTHING),
      ]));
      if (!total) return "No item begins so.";
      const exact = found[0].name === prefix ? "the one with this id, and " : "";
      return total > found.length
        ? `${count(total)} items begin so; ${exact}the ${found.length - (exact ? 1 : 0)} most exposed ${exact ? "others" : "ones"}:`
        : `${count(total)} ${total === 1 ? "item begins" : "items begin"} so.`;
    }, { typing: true });

    const [slates, fillSlates] = plainTable("Newest slates", ["Handed out", "Answer", "Items, from the top"], { 1: "text", 2: "text long" });
    const userSearch = searchForm("User", "Type a whole id. A key that may only read does not see users.", async (user, signal) => {
      fillSlates([]);
      if (!user) return "";
      const known = await get(`/v1/users/${encodeURIComponent(user)}`, signal);
      fillSlates(known.impressions.map((one) => [
        when(one.time), answerOf(one), one.items.map(visible).join(", "),
      ]));
      const learned = known.preferences === null ? "" : `, from which preferences of length ${score(Math.hypot(...known.preferences))} were learned`;
      return `${count(known.recommendations)} slates, ${count(known.feedback)} answers${learned}. `
        + `${count(known.impressions_kept)} slates are kept${known.impressions.length ? "; the newest:" : "."}`;
    }, { typing: false });

    const [itemCard] = card("Items", "With their exposure in the window that is chosen above.", "", itemSearch.form, items);
    const [userCard] = card("Users", "What is known of one, and the newest slates.", "", userSearch.form, slates);
    body.append(itemCard, userCard);
    return async (context) => {
      const other = context.window !== window;
      window = context.window;
      if (other && itemSearch.input.value.trim()) await itemSearch.ask();
    };
  },
};

function answerOf({ answered, clicked_positions: clicked }) {
  if (!answered) return "none yet";
  if (!clicked?.length) return "no click";
  return `clicked ${clicked.join(", ")}`;
}
