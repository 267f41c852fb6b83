// The parts of the page below exposure, one file each. To add one, write a file and name it here.
//
// A section is {id, title, mount(body)}. `mount` fills its place once, and returns what is called
// with every answer of the service: refresh({window, past, history, changes, signal}), where
//   window   is what was chosen: "1h", "24h", "7d" or "all"
//   past     is the same for time lines, which know no "all"
//   history  is the answer of /v1/exposure/history
//   changes  are those of policies, [{time, text}], to be marked on time lines
//   signal   aborts requests: give it to `get` of api.js
// What it throws is said in its place; other sections go on.

import { NeedsKey, Trouble } from "./api.js";
import { make, write } from "./dom.js";
import { find } from "./find.js";
import { exports } from "./exports.js";
import { store } from "./store.js";
import { traffic } from "./traffic.js";

const SECTIONS = [traffic, store, find, exports];

/** Put all sections into a place; return what refreshes them. */
export function mountSections(host) {
  const mounted = SECTIONS.map(({ id, title, mount }) => {
    const body = make("div", { class: "grid" });
    const problem = make("p", { class: "notice", hidden: "" });
    host.append(make("section", { id, class: "part", "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title`, class: "part-title" }, title), problem, body));
    return { refresh: mount(body), body, problem, title };
  });
  return (context) => Promise.all(mounted.map((section) => refreshed(section, context)));
}

async function refreshed({ refresh, body, problem, title }, context) {
  try {
    await refresh(context);
    problem.hidden = true;
    body.hidden = false;
  } catch (error) {
    if (error instanceof NeedsKey || context.signal.aborted) throw error;
    if (!(error instanceof Trouble)) console.error(error);
    write(problem, `${title} cannot be shown now. ${error instanceof Trouble ? error.message : ""}`);
    problem.hidden = false;
    body.hidden = true;
  }
}

