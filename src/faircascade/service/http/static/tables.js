// Tables and tiles that stay while their numbers change.

import { make, repeat, write } from "./dom.js";
import { count, percent, shortCount, times, visible } from "./format.js";

const bar = (look) => make("div", { class: `bar ${look}` }, make("span"));

/** Put a table of items, suppliers or groups into a place; return what fills it. `none`: no row. */
export function holdersTable(host, caption, first, none = "") {
  const body = make("tbody", { role: "rowgroup" });
  const heads = [first, "Exposure", "Merit", "Ratio", "Clicks"];
  // Roles are written out: on a phone the rows are laid out as grids, and would lose them.
  const head = (text) => make("th", { scope: "col", role: "columnheader" }, text);
  const table = make("table", { class: "holders", role: "table" },
    make("caption", { class: "hidden" }, `${caption}: shares of exposure and of merit, their ratio, clicks`),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads.map(head))),
    body);
  const empty = make("p", { hidden: "" }, none);
  host.append(table, empty);
  const cell = (...inside) => make("td", { role: "cell" }, ...inside);
  const create = () => make("tr", { role: "row" },
    make("th", { scope: "row", role: "rowheader" },
      make("bdi", { class: "clip" }), make("span", { class: "members" })),
    cell(make("span"), bar("exposure")), cell(make("span"), bar("merit")), cell(), cell());

  return (holders) => {
    table.hidden = holders.length === 0;
    empty.hidden = !table.hidden;
    const widest = Math.max(...holders.flatMap((h) => [h.exposure_share, h.merit_share]));
    repeat(body, holders, create, (row, holder) => {
      const [name, exposure, merit, ratio, clicks] = row.children;
      write(name.firstChild, visible(holder.name));
      name.title = visible(holder.name);
      write(name.lastChild, holder.items > 1 ? `${count(holder.items)} items` : "");
      share(exposure, holder.exposure_share, widest);
      share(merit, holder.merit_share, widest);
      write(ratio, times(holder.ratio));
      write(clicks, holder.clicks < 100_000 ? count(holder.clicks) : shortCount(holder.clicks));
    });
  };
}

function share(cell, value, widest) {
  write(cell.firstChild, percent(value));
  cell.lastChild.firstChild.style.width = `${widest ? (100 * value) / widest : 0}%`;
}

/** Fill the tiles: [{name, value, words, meter}], meter a share or left out. */
export function fillTiles(list, tiles) {
  const create = () => make("div", { class: "tile card" },
    make("dt"), make("dd", { class: "value" }),
    make("dd", { class: "meter", "aria-hidden": "true" }, make("span")), make("dd", { class: "words" }));
  repeat(list, tiles, create, (tile, { name, value, words, meter }) => {
    const [term, number, gauge, explanation] = tile.children;
    write(term, name);
    write(number, value);
    gauge.hidden = meter === undefined;
    gauge.firstChild.style.width = `${100 * (meter ?? 0)}%`;
    write(explanation, words);
  });
}

/** Fill a table of names and values; what is nested is named as in "reranker.weight". */
export function fillFacts(body, facts) {
  repeat(body, flat(facts), () => make("tr", {}, make("th", { scope: "row" }), make("td")), (row, [name, value]) => {
    write(row.firstChild, name);
    write(row.lastChild, value);
  });
}

function flat(facts, prefix = "") {
  return Object.entries(facts).flatMap(([name, value]) => {
    const nested = value !== null && typeof value === "object" && !Array.isArray(value);
    if (nested && Object.keys(value).length) return flat(value, `${prefix}${name}.`);
    return [[prefix + name, shown(value)]];
  });
}

function shown(value) {
  if (value === null) return "none";
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}
