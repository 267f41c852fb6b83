// A chart that can be read by pointer, by arrow keys and as a table.

import { draw, make, repeat, write } from "./dom.js";

const FAR = 10; // steps that Page Up and Page Down go

/**
 * Shows what `paint(data, width)` returns:
 *   height   in pixels
 *   nodes    SVG elements
 *   summary  the picture in words
 *   legend   [{look, name}] to stand above the picture, if names do not stand in it
 *   stops    [{key, x, dots: [{y, look}], title, lines: [[name, value]], notes: [text]}], from left
 *            to right; notes may be missing
 *   top, bottom  between which a stop is marked
 *   table    {head: [text], rows: [[text]]}
 */
export class Chart {
  #paint;
  #data = null;
  #picture = null;
  #at = null;
  #svg = draw("svg", { role: "img" });
  #marker = draw("g", { class: "marker" });
  #legend = make("ul", { class: "legend", "aria-hidden": "true" });
  #tip = make("div", { class: "tip", "aria-hidden": "true", hidden: "" });
  #cursor;
  #stage;
  #details;
  #head = make("tr");
  #rows = make("tbody");

  constructor(host, name, paint) {
    this.#paint = paint;
    // A slider is what screen readers know that is moved by arrow keys and says where it stands.
    this.#cursor = make("div", {
      class: "cursor", role: "slider", tabindex: "0", "aria-label": `${name}, step by step`,
    });
    this.#stage = make("div", { class: "stage" }, this.#svg, this.#cursor, this.#tip);
    const table = make(
      "table", {}, make("caption", { class: "hidden" }, name), make("thead", {}, this.#head), this.#rows,
    );
    this.#details = make(
      "details", { class: "numbers" },
      make("summary", {}, "The numbers", make("span", { class: "hidden" }, `: ${name}`)),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers: ${name}` }, table),
    );
    host.append(this.#legend, this.#stage, this.#details);
    this.#listen();
  }

  update(data) {
    this.#data = data;
    this.#redraw();
  }

  #listen() {
    const cursor = this.#cursor;
    new ResizeObserver(() => this.#redraw()).observe(this.#stage);
    this.#details.addEventListener("toggle", () => this.#fillTable());
    cursor.addEventListener("pointermove", (event) => this.#goTo(this.#nearest(event.offsetX)));
    cursor.addEventListener("pointerdown", (event) => this.#goTo(this.#nearest(event.offsetX)));
    cursor.addEventListener("pointerleave", () => {
      if (document.activeElement !== cursor) this.#goTo(null);
    });
    cursor.addEventListener("focus", () => this.#goTo(this.#at ?? Infinity));
    cursor.addEventListener("blur", () => this.#goTo(null));
    cursor.addEventListener("keydown", (event) => {
      const from = this.#at ?? Infinity;
      const last = this.#picture.stops.length - 1;
      const to = {
        ArrowLeft: () => Math.min(from, last + 1) - 1, ArrowDown: () => Math.min(from, last + 1) - 1,
        ArrowRight: () => from + 1, ArrowUp: () => from + 1,
        PageDown: () => Math.min(from, last) - FAR, PageUp: () => from + FAR,
        Home: () => 0, End: () => last, Escape: () => null,
      }[event.key];
      if (!to || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#goTo(to());
    });
  }

  #redraw() {
    const width = this.#stage.clientWidth;
    if (!this.#data || width === 0) return;
    const key = this.#picture?.stops[this.#at]?.key;
    const picture = this.#paint(this.#data, width);
    this.#picture = picture;
    const { height, summary, legend = [] } = picture;
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.#svg.setAttribute("height", height);
    this.#svg.setAttribute("aria-label", summary);
    this.#svg.replaceChildren(...picture.nodes, this.#marker);
    this.#legend.hidden = legend.length === 0;
    this.#legend.replaceChildren(...legend.map(({ look, name }) => make(
      "li", {}, draw("svg", { viewBox: "0 0 26 12" }, draw("path", { class: `curve ${look}`, d: "M0 6H26" })), name,
    )));
    this.#cursor.hidden = picture.stops.length === 0;
    if (this.#at !== null) { // time went on: stay with the moment, not with the place
      const found = picture.stops.findIndex((stop) => stop.key === key);
      this.#goTo(found < 0 ? 0 : found);
    } else {
      this.#say();
    }
    this.#fillTable();
  }

  #nearest(x) {
    const far = this.#picture.stops.map((stop) => Math.abs(stop.x - x));
    return far.indexOf(Math.min(...far));
  }

  #goTo(at) {
    const stops = this.#picture?.stops ?? [];
    this.#at = at === null || stops.length === 0 ? null : Math.max(0, Math.min(at, stops.length - 1));
    const stop = stops[this.#at];
    this.#tip.hidden = !stop;
    this.#marker.replaceChildren();
    if (stop) {
      const { top, bottom } = this.#picture;
      this.#marker.append(
        draw("line", { class: "rule", x1: stop.x, x2: stop.x, y1: top, y2: bottom }),
        ...stop.dots.filter(({ y }) => y !== null)
          .map(({ y, look }) => draw("circle", { class: `dot ${look}`, cx: stop.x, cy: y, r: 4 })),
      );
      this.#tip.replaceChildren(make("strong", {}, stop.title), make("dl", {}, ...stop.lines.flatMap(
        ([name, value]) => [make("dt", {}, name), make("dd", {}, value)],
      )), ...(stop.notes ?? []).map((text) => make("p", {}, text)));
      const room = this.#stage.clientWidth - this.#tip.offsetWidth;
      const beside = stop.x + 12 <= room ? stop.x + 12 : stop.x - 12 - this.#tip.offsetWidth;
      this.#tip.style.left = `${Math.max(0, Math.min(beside, room))}px`;
      this.#tip.style.top = `${top}px`;
    }
    this.#say();
  }

  #say() {
    const stops = this.#picture.stops;
    const at = this.#at ?? stops.length - 1;
    if (at < 0) return;
    const { title, lines, notes = [] } = stops[at];
    const numbers = lines.map(([name, value]) => `${name} ${value}`).join(", ");
    const words = [`${title}: ${numbers}`, ...notes].join(". ");
    const values = { min: 1, max: stops.length, now: at + 1, text: words };
    for (const [name, value] of Object.entries(values)) {
      this.#cursor.setAttribute(`aria-value${name}`, value);
    }
  }

  #fillTable() {
    if (!this.#details.open || !this.#picture) return;
    const { head, rows } = this.#picture.table;
    repeat(this.#head, head, () => make("th", { scope: "col" }), write);
    repeat(this.#rows, rows, () => make("tr", {}, make("th", { scope: "row" }),
      ...head.slice(1).map(() => make("td"))), (row, texts) => {
      texts.forEach((text, at) => write(row.children[at], text));
    });
  }
}
