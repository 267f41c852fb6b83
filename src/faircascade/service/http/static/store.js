// Whether the store does well.

import { get } from "./api.js";
import { make, write } from "./dom.js";
import { NOTHING, bytes, count, duration } from "./format.js";
import { fillTiles } from "./tables.js";

const LATE = 10; // seconds after which counts are called late

export const store = {
  id: "store",
  title: "Store",
  mount(body) {
    const tiles = make("dl", { class: "tiles" });
    const warning = make("p", { class: "notice", role: "status", hidden: "" });
    body.append(make("div", { class: "whole" }, tiles, warning));
    return async ({ signal }) => {
      const found = await get("/v1/store", signal);
      const { status, data_bytes: data, log_bytes: log, counts_behind_seconds: behind } = found;
      const well = status === "ok";
      fillTiles(tiles, [
        { name: "Store", value: well ? "Reachable" : "Down", words: well ? `Kind: ${found.kind}.` : `It ${status}.` },
        { name: "A write takes", value: duration(found.seconds), words: "One small write, just now." },
        { name: "Size", value: bytes(data), words: data === null ? "The store cannot tell." : "All that is kept." },
        { name: "Log", value: bytes(log), words: log === null ? NOTHING : "Written ahead (SQLite), or the append-only file (Redis)." },
        { name: "Counts behind", value: duration(behind), words: behind > LATE ? "Exposure on this page is old." : "How old exposure on this page may be." },
        { name: "Workers", value: count(found.workers), words: "Processes that take requests." },
      ]);
      warning.hidden = found.durability === null;
      write(warning, `Acknowledged feedback may be lost: ${found.durability}`);
    };
  },
};
