// Tables of suppliers and groups: the most exposed ones, and all of them for whoever asks.

import { get } from "./api.js";
import { make, write } from "./dom.js";
import { count } from "./format.js";
import { holdersTable } from "./tables.js";

const SHORT = 10;
const LONGEST = 1000; // the largest page that the service hands out
const ASK_TOTAL = 30; // turns after which their number is asked for again: it rarely changes

export class ShortList {
  #by;
  #fill;
  #box = make("div", { class: "holders-box" });
  #words = make("span", { class: "soft" });
  #button = make("button", { type: "button" });
  #more = make("p", { class: "more" }, this.#words, this.#button);
  #total = 0;
  #turnsToTotal = 0;
  #open = false;

  /** `by` is "supplier" or "group"; `changed` is called when the rest is wanted, or no longer. */
  constructor(host, by, title, changed) {
    this.#by = by;
    this.#fill = holdersTable(this.#box, `${title}s`, title);
    host.append(this.#box, this.#more);
    this.#button.addEventListener("click", () => {
      this.#open = !this.#open;
      this.#box.scrollTop = 0;
      changed();
    });
  }

  /** Return what there is beside the most exposed ones: {rows, total}, rows if they are wanted. */
  async ask(rows, window, signal) {
    if (rows.length < SHORT) return { total: rows.length };
    this.#turnsToTotal -= 1;
    if (!this.#open && this.#turnsToTotal >= 0) return { total: this.#total };
    const all = this.#open;
    const limit = all ? LONGEST : 1;
    const path = `/v1/exposure/items?by=${this.#by}&window=${window}&limit=${limit}`;
    const { items, total } = await get(path, signal);
    this.#total = total;
    this.#turnsToTotal = ASK_TOTAL;
    return all ? { total, rows: items.sort((a, b) => b.exposure_share - a.exposure_share) } : { total };
  }

  /** Show the most exposed ones, or all if they came. */
  show(short, { total, rows = null }) {
    const shown = rows ?? short.slice(0, SHORT);
    this.#fill(shown);
    this.#more.hidden = total <= SHORT;
    const left = total - shown.length;
    const some = rows ? "with less exposure for their merit: /v1/exposure/items has them" : "more";
    write(this.#words, left > 0 ? `and ${count(left)} ${some}` : "");
    write(this.#button, rows ? `Show ${SHORT} ${this.#by}s` : `Show all ${count(total)} ${this.#by}s`);
    this.#scroll(rows !== null);
  }

  /** A long table scrolls in its card, by keyboard too: other cards would be empty beside it. */
  #scroll(long) {
    if (long === this.#box.classList.contains("long")) return;
    this.#box.classList.toggle("long", long);
    const attributes = { tabindex: "0", role: "region", "aria-label": `All ${this.#by}s` };
    for (const [name, value] of Object.entries(attributes)) {
      if (long) this.#box.setAttribute(name, value);
      else this.#box.removeAttribute(name);
    }
  }
}
