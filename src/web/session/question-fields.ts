/** A field of a question (ACP elicitation, form mode: a flat JSON schema). */
export interface QuestionField {
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly type: "text" | "number" | "boolean" | "choice" | "choices";
  readonly choices: readonly { readonly value: string; readonly title: string }[];
  readonly initial: string | boolean | readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(schema: unknown): QuestionField[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Readonly<Record<string, Fields>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const type = typeOf(property);
    const { title, description, default: initial } = property;
    return {
      name,
      title: typeof title === "string" ? title : name,
      description: typeof description === "string" ? description : undefined,
      isRequired: required.includes(name),
      type,
      choices: choicesOf(type === "choices" ? ((property["items"] ?? {}) as Fields) : property),
      initial: initialOf(type, initial),
    };
  });
}

function typeOf(property: Fields): QuestionField["type"] {
  switch (property["type"]) {
    case "boolean":
      return "boolean";
    case "number":
    case "integer":
      return "number";
    case "array":
      return "choices";
    default:
      return choicesOf(property).length > 0 ? "choice" : "text";
  }
}

function choicesOf(property: Fields): { value: string; title: string }[] {
  const titled = property["oneOf"] ?? property["anyOf"];
  if (Array.isArray(titled)) {
    return (titled as Fields[]).map((each) => {
      const value = String(each["const"]);
      return { value, title: typeof each["title"] === "string" ? each["title"] : value };
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
  return typeof initial === "string" || typeof initial === "number" ? String(initial) : "";
}

/** The answer's content. A field that was left empty is left out. */
export function contentOf(
  fields: readonly QuestionField[],
  values: Readonly<Record<string, string | boolean | readonly string[]>>,
): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const { name, type, initial } of fields) {
    const value = values[name] ?? initial;
    if (value === "") continue;
    content[name] = type === "number" ? Number(value) : value;
  }
  return content;
}
