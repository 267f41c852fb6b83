// Pieces of page. Text goes in as text only: the name of an item may look like HTML.

/** Return an element with attributes and children, which are elements or text. */
export function make(name, attributes = {}, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** The same within an SVG. */
export function draw(name, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Set a text if it is another one, so that a selection in it stays. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Keep one child for each record: those that are there stay, with their focus. */
export function repeat(parent, records, create, update) {
  while (parent.children.length > records.length) parent.lastElementChild.remove();
  records.forEach((record, at) => {
    if (at === parent.children.length) parent.append(create());
    update(parent.children[at], record);
  });
}

/** Return a shell command with a button that copies it, where the browser lets a page do so. */
export function command(text) {
  const block = make("div", { class: "command" }, make("pre", {}, make("code", {}, text)));
  if (navigator.clipboard) {
    const button = make("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
  return block;
}
