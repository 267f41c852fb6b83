// Tables to take away.

import { NotAllowed, Trouble, download } from "./api.js";
import { card } from "./card.js";
import { make, write } from "./dom.js";

const WHAT = { item: "Exposure by item", group: "Exposure by group", supplier: "Exposure by supplier", time: "Time lines" };
const FORMATS = { csv: "CSV", json: "JSON" };

function choice(label, id, options) {
  const select = make("select", { id }, ...Object.entries(options).map(([value, text]) => make("option", { value }, text)));
  return [make("label", { for: id }, label, select), select];
}

export const exports = {
  id: "exports",
  title: "Export",
  mount(body) {
    let window = "24h";
    const [whatLabel, what] = choice("Table", "export-what", WHAT);
    const [formatLabel, format] = choice("Format", "export-format", FORMATS);
    const button = make("button", { class: "main" }, "Download");
    const words = make("p", { class: "soft", role: "status" });
    const form = make("form", { class: "row exports" }, whatLabel, formatLabel, button);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      write(words, "Asking the service …");
      try {
        const file = await download(`/v1/exposure/export?by=${what.value}&window=${window}&format=${format.value}`);
        const link = make("a", { href: URL.createObjectURL(file), download: `exposure-${what.value}-${window}.${format.value}` });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
        write(words, "Downloaded.");
      } catch (error) {
        const known = error instanceof Trouble || error instanceof NotAllowed;
        write(words, `It did not come. ${known ? error.message : "The service wants a key."}`);
      } finally {
        button.disabled = false;
      }
    });
    const [place] = card("Download", "The whole table, of the window that is chosen above. Programs ask /v1/exposure/export for it.", "whole", form, words);
    body.append(place);
    return async (context) => { window = context.window; };
  },
};
