// The API reference: every operation of /openapi.json, as something to read and to copy.

import { NeedsKey, get } from "./api.js";
import { byId, command, make, write } from "./dom.js";
import { defaultWords, examples, fields, resolve, ruleWords, sample, typeWords } from "./schema.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Return the operations by tag, in the order of the description. */
function operationsByTag(spec) {
  const tags = new Map((spec.tags ?? []).map((tag) => [tag.name, { ...tag, operations: [] }]));
  for (const [path, item] of Object.entries(spec.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const name = operation.tags?.[0] ?? "other";
      if (!tags.has(name)) tags.set(name, { name, operations: [] });
      tags.get(name).operations.push({
        ...operation, method, path,
        id: operation.operationId ?? `${method}-${path}`,
        parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) => resolve(spec, one)),
      });
    }
  }
  return [...tags.values()].filter(({ operations }) => operations.length);
}

/** Return text as paragraphs and lists, with `code`; other Markdown stays as it is. */
function prose(text) {
  return (text ?? "").trim().split(/\n\s*\n/).filter(Boolean).map((block) => {
    const lines = block.split("\n");
    if (!lines.every((line) => /^\s*[-*] |^\s{2,}\S/.test(line))) return make("p", {}, ...inline(block));
    const entries = block.trim().split(/\n(?=\s*[-*] )/).map((line) => line.trim().replace(/^[-*] /, ""));
    return make("ul", {}, ...entries.map((entry) => make("li", {}, ...inline(entry))));
  });
}

function inline(text) {
  return text.split(/`+([^`]+)`+/).map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

function fieldTable(caption, rows) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make(
    "table", {},
    make("caption", { class: "hidden" }, caption),
    make("thead", {}, make("tr", {}, ...["Name", "Type", "Meaning"].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map((row) => make(
      "tr", {},
      make("th", { scope: "row", class: `depth-${Math.min(row.depth, 4)}` }, make("code", {}, row.name),
        ...(row.required ? [make("span", { class: "must" }, "required")] : [])),
      make("td", {}, row.type, make("span", { class: "rules" }, [...row.rules, ...row.preset].join("; "))),
      make("td", {}, ...inline(row.description ?? "")),
    ))),
  ));
}

function jsonBlock(value) {
  return make("pre", { tabindex: "0" }, make("code", {}, compact(value)));
}

/** Return JSON on few lines: what is short stays on one. */
function compact(value, indent = "") {
  const flat = JSON.stringify(value, null, 1).replace(/\n\s*/g, " ").replace(/([[{]) /g, "$1").replace(/ ([\]}])/g, "$1");
  if (flat.length + indent.length <= 76 || value === null || typeof value !== "object") return flat;
  const more = `${indent}  `;
  if (Array.isArray(value)) return `[\n${value.map((one) => more + compact(one, more)).join(",\n")}\n${indent}]`;
  const entries = Object.entries(value).map(([name, one]) => `${more}${JSON.stringify(name)}: ${compact(one, more)}`);
  return `{\n${entries.join(",\n")}\n${indent}}`;
}

/** Return the media type that a body is described in. */
const mediaOf = (body) => Object.entries(body?.content ?? {})[0] ?? [null, null];

function curlCommand(spec, operation) {
  const { method, path, parameters, requestBody, security } = operation;
  const value = (one) => encodeURIComponent(one.example ?? sample(spec, one.schema) ?? "");
  const place = (one) => (one.example ?? one.schema.examples ? value(one) : one.name.toUpperCase());
  const where = parameters.filter((one) => one.in === "path")
    .reduce((text, one) => text.replace(`{${one.name}}`, place(one)), path);
  const query = parameters.filter((one) => one.in === "query" && (one.required || one.schema.default != null))
    .map((one) => `${one.name}=${value(one)}`).join("&");
  const words = [`curl ${method === "get" || (method === "post" && requestBody) ? "" : `-X ${method.toUpperCase()} `}` +
    quoted(`${location.origin}${where}${query ? `?${query}` : ""}`)];
  if ((security ?? spec.security ?? []).length) words.push('-H "Authorization: Bearer $FAIRCASCADE_KEY"');
  const [type, media] = mediaOf(resolve(spec, requestBody));
  if (type) {
    const [body = sample(spec, media.schema)] = examples(spec, media);
    words.push(`-H 'Content-Type: ${type}'`, `-d ${quoted(JSON.stringify(body))}`);
  }
  return words.join(" \\\n  ");
}

/** Quote for a shell, where it needs quoting. */
const quoted = (text) => (/^[\w:/.,=%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function bodyParts(spec, caption, body, asked) {
  const [type, media] = mediaOf(body);
  if (!type) return [];
  const rows = media.schema ? fields(spec, media.schema) : [];
  if (!asked) for (const row of rows) Object.assign(row, { required: false, preset: [] }); // it has them all
  const whole = resolve(spec, media.schema);
  const parts = prose(whole.description).filter(() => rows.length);
  if (rows.length) parts.push(fieldTable(caption, rows));
  else if (whole.type && whole.type !== "null") parts.push(make("p", {}, `${type}: ${typeWords(spec, whole)}`));
  else if (type !== "application/json") parts.push(make("p", {}, type));
  return parts;
}

function exampleParts(spec, body) {
  const [type, media] = mediaOf(body);
  const shown = type ? examples(spec, media) : [];
  if (!shown.length) return [];
  return [make("h4", {}, shown.length > 1 ? "Examples" : "Example"), ...shown.map(jsonBlock)];
}

function answerPart(spec, status, response) {
  const details = make("details", { class: "answer" },
    make("summary", {}, make("code", { class: "good" }, status), " ", ...inline(response.description ?? "")),
    ...bodyParts(spec, `Fields of the ${status} answer`, response, false), ...exampleParts(spec, response));
  details.open = true;
  if (details.children.length === 1) details.append(make("p", { class: "soft" }, "No body."));
  return details;
}

/** Return the errors as a list, and what their bodies are like once: they are mostly the same. */
function errorParts(spec, errors) {
  if (!errors.length) return [];
  const bodies = new Map(errors.map(([, response]) => [JSON.stringify(mediaOf(response)), response]));
  return [
    make("h3", {}, "Errors"),
    make("dl", { class: "errors" }, ...errors.flatMap(([status, response]) => [
      make("dt", {}, make("code", { class: "bad" }, status)), make("dd", {}, ...inline(response.description ?? "")),
    ])),
    ...[...bodies.values()].map((response) => make("details", { class: "answer" },
      make("summary", {}, "What an error looks like"),
      ...bodyParts(spec, "Fields of an error", response, false), ...exampleParts(spec, response))),
  ];
}

function operationPart(spec, operation) {
  const { id, method, path, summary, description, parameters, requestBody, responses, deprecated } = operation;
  const body = resolve(spec, requestBody);
  const all = Object.entries(responses ?? {}).map(([status, one]) => [status, resolve(spec, one)]);
  const [answers, errors] = [all.filter(([status]) => status < "400"), all.filter(([status]) => status >= "400")];
  const rows = parameters.map((one) => ({
    name: one.name, depth: 0, required: one.required ?? false,
    type: `${typeWords(spec, one.schema)} (${one.in})`, rules: ruleWords(spec, one.schema),
    preset: defaultWords(spec, one.schema),
    description: one.description ?? one.schema.description ?? "",
  }));
  const request = requestBody
    ? [make("h3", {}, "Request body"), ...bodyParts(spec, "Fields of the request", body, true), ...exampleParts(spec, body)] : [];
  return make(
    "details", { class: "operation card", id },
    make("summary", {},
      make("span", { class: `method ${method}` }, method.toUpperCase()),
      make("code", { class: "path" }, ...path.split(/(?<=\/)/).flatMap((part) => [part, make("wbr")])),
      make("span", { class: "summary" }, summary ?? "", ...(deprecated ? [make("em", {}, " (deprecated)")] : []))),
    make("div", { class: "inside" },
      ...prose(description),
      make("h3", {}, "Try it"), command(curlCommand(spec, operation)),
      ...(rows.length ? [make("h3", {}, "Parameters"), fieldTable("Parameters", rows)] : []),
      ...request,
      make("h3", {}, answers.length > 1 ? "Answers" : "Answer"),
      ...answers.map(([status, one]) => answerPart(spec, status, one)), ...errorParts(spec, errors)),
  );
}

function show(spec) {
  const tags = operationsByTag(spec);
  byId("about").append(...prose(spec.info.description), make("p", { class: "soft" }, `Version ${spec.info.version}`));
  for (const { name, description, operations } of tags) {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    byId("contents").append(make("h2", {}, title), make("ul", {}, ...operations.map(({ id, method, path }) => make(
      "li", {}, make("a", { href: `#${id}` }, make("span", { class: `method ${method}` }, method.toUpperCase()), ` ${path}`),
    ))));
    byId("operations").append(make(
      "section", { "aria-label": title }, make("h2", {}, title), ...prose(description),
      ...operations.map((operation) => operationPart(spec, operation)),
    ));
  }
  byId("tools").hidden = false;
}

/** Hide what does not have all the words, in the list of contents too. */
function search() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  const links = [...document.querySelectorAll("#contents a")];
  for (const operation of document.querySelectorAll(".operation")) {
    const text = operation.textContent.toLowerCase();
    operation.hidden = !words.every((word) => text.includes(word));
    left += operation.hidden ? 0 : 1;
    links.find((link) => link.hash === `#${operation.id}`).parentElement.hidden = operation.hidden;
  }
  for (const section of document.querySelectorAll("#operations section")) {
    section.hidden = !section.querySelector(".operation:not([hidden])");
  }
  for (const list of document.querySelectorAll("#contents ul")) {
    list.hidden = !list.querySelector("li:not([hidden])");
    list.previousElementSibling.hidden = list.hidden;
  }
  write(byId("found"), words.length ? `${left} ${left === 1 ? "operation" : "operations"} found` : "");
}

function openNamed() {
  const operation = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  if (!operation) return;
  operation.open = true;
  operation.scrollIntoView();
  operation.querySelector("summary").focus({ preventScroll: true });
}

function listen() {
  byId("search").addEventListener("input", search);
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("open-all").addEventListener("click", ({ target }) => {
    const open = target.getAttribute("aria-pressed") === "false";
    target.setAttribute("aria-pressed", String(open));
    for (const operation of document.querySelectorAll(".operation")) operation.open = open;
  });
  byId("contents").addEventListener("click", (event) => {
    if (event.target.closest("a")?.hash === location.hash) openNamed(); // no hashchange then
  });
  window.addEventListener("hashchange", openNamed);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    byId("search").focus();
  });
}

try {
  show(await get("/openapi.json"));
  listen();
  openNamed();
} catch (error) {
  byId("wrong").hidden = false;
  byId("wrong").append(error instanceof NeedsKey
    ? "The description of the API needs a key. Give it on the dashboard, then come back."
    : `The description of the API cannot be read. ${error.message}`);
}
