// Reading the schemas of an OpenAPI 3.1 description.

const DEEPEST = 6;

/** Return what a $ref points to; what stands beside it wins, as in OpenAPI 3.1. */
export function resolve(spec, schema) {
  if (!schema?.$ref) return schema ?? {};
  const { $ref, ...beside } = schema;
  const found = $ref.slice(2).split("/").reduce((at, part) => at?.[part], spec);
  return { ...resolve(spec, found), ...beside };
}

/** Return a schema without its null, and whether it had one. */
function withoutNull(spec, schema) {
  const whole = resolve(spec, schema);
  if (Array.isArray(whole.type)) {
    const left = whole.type.filter((type) => type !== "null");
    return [{ ...whole, type: left.length === 1 ? left[0] : left }, left.length < whole.type.length];
  }
  const choices = whole.anyOf ?? whole.oneOf;
  if (!choices) return [whole, false];
  const { anyOf, oneOf, ...rest } = whole;
  const left = choices.filter((choice) => choice.type !== "null");
  if (left.length === 1) return [{ ...resolve(spec, left[0]), ...rest }, left.length < choices.length];
  return [{ ...rest, anyOf: left }, left.length < choices.length];
}

/** Return a type in words: "list of text", "number or null", "one of "a", "b"". */
export function typeWords(spec, schema) {
  const [whole, nullable] = withoutNull(spec, schema);
  return plainType(spec, whole) + (nullable ? " or null" : "");
}

function plainType(spec, whole) {
  const { const: only, enum: choices, anyOf, type, items } = whole;
  if (only !== undefined) return JSON.stringify(only);
  if (choices) return choices.map((choice) => JSON.stringify(choice)).join(", ").replace(/, ([^,]*)$/, " or $1");
  if (anyOf) return anyOf.map((choice) => typeWords(spec, choice)).join(" or ");
  if (type === "array") return `list of ${plural(typeWords(spec, items))}`;
  if (type === "object" && typeof whole.additionalProperties === "object") {
    return `object, each value ${typeWords(spec, whole.additionalProperties)}`;
  }
  const words = { string: "text", integer: "whole number", boolean: "true or false" };
  return words[type] ?? (Array.isArray(type) ? type.join(" or ") : type ?? "anything");
}

const plural = (words) => words.replace(/^(text|number|whole number|object)\b/, "$1s");

/** Return the rules of a value in words: ["1 to 100"]. */
export function ruleWords(spec, schema) {
  const [whole] = withoutNull(spec, schema);
  const { minimum: low, maximum: high, exclusiveMinimum: above, exclusiveMaximum: below } = whole;
  const rules = [];
  if (low !== undefined && high !== undefined) rules.push(`${low} to ${high}`);
  else if (low !== undefined) rules.push(`at least ${low}`);
  else if (high !== undefined) rules.push(`at most ${high}`);
  if (above !== undefined) rules.push(`greater than ${above}`);
  if (below !== undefined) rules.push(`less than ${below}`);
  rules.push(...lengthWords(whole.minLength, whole.maxLength, "character"));
  rules.push(...lengthWords(whole.minItems, whole.maxItems, "entry", "entries"));
  if (whole.propertyNames?.enum) rules.push(`names: ${whole.propertyNames.enum.join(", ")}`);
  return rules;
}

/** Return what a value is if it is left out, in words. */
export function defaultWords(spec, schema) {
  const value = withoutNull(spec, schema)[0].default ?? null;
  if (value === null) return [];
  return [`default ${typeof value === "string" ? value : JSON.stringify(value)}`];
}

function lengthWords(least, most, unit, units = `${unit}s`) {
  const word = (n) => `${n} ${n === 1 ? unit : units}`;
  if (least !== undefined && most !== undefined) return [`${least} to ${word(most)}`];
  if (least) return [`at least ${word(least)}`];
  return most === undefined ? [] : [`at most ${word(most)}`];
}

/** Return the fields of a schema, those within others after them: {name, depth, required, ...}. */
export function fields(spec, schema, depth = 0, within = []) {
  const [whole] = withoutNull(spec, schema);
  if (whole.type === "array") return fields(spec, whole.items, depth, within);
  if (!whole.properties || depth > DEEPEST || within.includes(whole.title)) return [];
  return Object.entries(whole.properties).flatMap(([name, property]) => [
    {
      name,
      depth,
      required: whole.required?.includes(name) ?? false,
      type: typeWords(spec, property),
      rules: ruleWords(spec, property),
      preset: defaultWords(spec, property),
      description: withoutNull(spec, property)[0].description ?? "",
    },
    ...fields(spec, property, depth + 1, [...within, whole.title]),
  ]);
}

/** Return the examples that a body is described with. */
export function examples(spec, { schema, example, examples: named }) {
  let found = resolve(spec, schema).examples ?? [];
  if (named) found = Object.values(named).map((one) => resolve(spec, one).value);
  else if (example !== undefined) found = [example];
  return found.map((one) => inOrder(spec, schema, one));
}

/** Return a value with its fields in the order of the schema: Pydantic sorts those of examples. */
function inOrder(spec, schema, value) {
  const [whole] = withoutNull(spec, schema);
  if (Array.isArray(value)) return value.map((one) => inOrder(spec, whole.items, one));
  if (value === null || typeof value !== "object" || !whole.properties) return value;
  const known = Object.keys(whole.properties).filter((name) => name in value);
  const order = [...known, ...Object.keys(value).filter((name) => !known.includes(name))];
  return Object.fromEntries(order.map((name) => [name, inOrder(spec, whole.properties[name], value[name])]));
}

/** Return a value that fits a schema. */
export function sample(spec, schema, depth = 0) {
  const [whole] = withoutNull(spec, schema);
  if (whole.examples?.length) return whole.examples[0];
  if (whole.example !== undefined) return whole.example;
  if (whole.default !== undefined) return whole.default;
  if (whole.const !== undefined) return whole.const;
  if (whole.enum) return whole.enum[0];
  if (whole.anyOf) return sample(spec, whole.anyOf[0], depth);
  if (depth > DEEPEST) return null;
  if (whole.type === "array") return [sample(spec, whole.items, depth + 1)];
  if (whole.properties) {
    return Object.fromEntries(Object.entries(whole.properties)
      .map(([name, property]) => [name, sample(spec, property, depth + 1)]));
  }
  return { string: "text", integer: whole.minimum ?? 1, number: 0.5, boolean: true, object: {} }[whole.type] ?? null;
}
