// A card: a heading, words below it, and what it is about.

import { make } from "./dom.js";

/** Return a card and the place of its words. `look` is "wide", "third" or nothing. */
export function card(title, words, look, ...inside) {
  const text = make("p", { class: "soft" }, words);
  return [make("section", { class: `card ${look}` }, make("h3", {}, title), text, ...inside), text];
}
