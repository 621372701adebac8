import { attempt } from "./attempt.ts";

/** A field of a form that a JSON schema describes: of a question (elicitation), or of a tool's arguments. */
export interface QuestionField {
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  /** The first is shown while the field is empty. */
  readonly examples: readonly string[];
  readonly isRequired: boolean;
  /** lines: an array of strings, one a line; json: anything that no simpler field can hold. */
  readonly type: "text" | "number" | "boolean" | "choice" | "choices" | "lines" | "json";
  readonly choices: readonly { readonly value: string; readonly title: string }[];
  readonly initial: string | boolean | readonly string[];
  /** It is not shown while it is typed. */
  readonly isSecret: boolean;
}

type Fields = Readonly<Record<string, unknown>>;
export type FieldValue = string | boolean | readonly string[];
export type FieldValues = Readonly<Record<string, FieldValue>>;

export function fieldsOf(schema: unknown): QuestionField[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Readonly<Record<string, Fields>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, given]) => {
    const property = withoutNull(given);
    const type = typeOf(property);
    const { title, description, examples, default: initial } = { ...property, ...given };
    return {
      name,
      title: typeof title === "string" ? title : name,
      description: typeof description === "string" ? description : undefined,
      examples: Array.isArray(examples) ? examples.map(String) : [],
      isRequired: required.includes(name),
      type,
      choices: choicesOf(type === "choices" ? ((property.items ?? {}) as Fields) : property),
      initial: initialOf(type, initial),
      isSecret: property.format === "password",
    };
  });
}

/** What a property is beside null: a field that is left empty is left out. */
function withoutNull(property: Fields): Fields {
  const { type, anyOf } = property;
  if (Array.isArray(type)) {
    const others = (type as unknown[]).filter((each) => each !== "null");
    return { ...property, type: others.length === 1 ? others[0] : undefined };
  }
  if (!Array.isArray(anyOf)) return property;
  const others = (anyOf as Fields[]).filter((each) => each.type !== "null");
  return others.length === 1 && others.length < anyOf.length ? (others[0] as Fields) : property;
}

function typeOf(property: Fields): QuestionField["type"] {
  const items = (property.items ?? {}) as Fields;
  switch (property.type) {
    case "boolean":
      return "boolean";
    case "number":
    case "integer":
      return "number";
    case "array":
      if (choicesOf(items).length > 0) return "choices";
      return items.type === "string" ? "lines" : "json";
    case "string":
      return choicesOf(property).length > 0 ? "choice" : "text";
    default: {
      // Choices without a type may be of any: as they are typed here they are texts.
      const choices = (property.enum ?? []) as readonly unknown[];
      const areTexts = choices.length > 0 && choices.every((each) => typeof each === "string");
      return areTexts ? "choice" : "json";
    }
  }
}

function choicesOf(property: Fields): { value: string; title: string }[] {
  const titled = property.oneOf ?? property.anyOf;
  if (Array.isArray(titled) && (titled as Fields[]).every((each) => "const" in each)) {
    return (titled as Fields[]).map((each) => {
      const value = String(each.const);
      return { value, title: typeof each.title === "string" ? each.title : value };
    });
  }
  const { enum: values, enumNames: names } = property;
  if (!Array.isArray(values)) return [];
  return (values as unknown[]).map((value, index) => {
    const name = Array.isArray(names) ? (names[index] as unknown) : undefined;
    return { value: String(value), title: typeof name === "string" ? name : String(value) };
  });
}

function initialOf(type: QuestionField["type"], initial: unknown): QuestionField["initial"] {
  if (type === "boolean") return initial === true;
  if (type === "choices") return Array.isArray(initial) ? initial.map(String) : [];
  if (initial !== undefined && (type === "json" || type === "lines")) return textOf(type, initial);
  return typeof initial === "string" || typeof initial === "number" ? String(initial) : "";
}

/** The answer's content. A field that was left empty is left out. Throws where a text is no JSON. */
export function contentOf(
  fields: readonly QuestionField[],
  values: FieldValues,
): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const { name, type, initial, isRequired } of fields) {
    const value = values[name] ?? initial;
    if (value === "" && !(isRequired && type === "lines")) continue;
    content[name] = valueOf(type, value);
  }
  return content;
}

function valueOf(type: QuestionField["type"], value: FieldValue): unknown {
  if (type === "number") return Number(value);
  if (type === "json") return JSON.parse(String(value));
  if (type === "lines") return String(value).split("\n").filter(Boolean);
  return value;
}

/** The arguments of a tool: what was typed, and what is required. The tool knows its own defaults. */
export function argumentsOf(
  fields: readonly QuestionField[],
  values: FieldValues,
): Record<string, unknown> {
  const given = fields.filter(({ name, isRequired }) => isRequired || values[name] !== undefined);
  return contentOf(given, values);
}

/** Arguments as values of the fields; undefined where the fields cannot hold them as they are. */
export function valuesOf(
  fields: readonly QuestionField[],
  args: Fields,
): Record<string, FieldValue> | undefined {
  const values: Record<string, FieldValue> = {};
  for (const { name, type } of fields) {
    const value = args[name];
    if (value === undefined) continue;
    const isKept = typeof value === "boolean" || type === "choices";
    values[name] = isKept && type !== "json" ? (value as FieldValue) : textOf(type, value);
  }
  const sorted = (from: Fields): string =>
    JSON.stringify(Object.entries(from).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const given = fields.filter(({ name }) => values[name] !== undefined);
  const isKept = attempt(() => sorted(contentOf(given, values)) === sorted(args));
  return isKept === true ? values : undefined;
}

function textOf(type: QuestionField["type"], value: unknown): string {
  if (type === "lines" && Array.isArray(value)) return value.join("\n");
  if (type === "json") return JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}
