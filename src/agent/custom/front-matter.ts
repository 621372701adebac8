export interface Markdown {
  /** The fields at the top that are texts. */
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Longer front matter counts as text. */
const MOST_CHARACTERS = 16_000;

/** Splits a Markdown file into its YAML front matter and its body. */
export async function splitMarkdown(text: string): Promise<Markdown> {
  const [whole, head] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m.exec(text) ?? [];
  const isFirst = whole !== undefined && text.startsWith(whole);
  if (!isFirst || head === undefined || head.length > MOST_CHARACTERS) {
    return { fields: {}, body: text.trim() };
  }
  return { fields: await fieldsOf(head), body: text.slice(whole.length).trim() };
}

async function fieldsOf(head: string): Promise<Record<string, string>> {
  const { parse } = await import("yaml");
  try {
    const fields = parse(head, { schema: "failsafe", logLevel: "error" }) as unknown;
    if (typeof fields === "object" && fields !== null && !Array.isArray(fields)) {
      return Object.fromEntries(Object.entries(fields).filter(([, value]) => isText(value)));
    }
  } catch {
    // Many such files are not strict YAML: `description: Use it when: …`.
  }
  const lines = head.split(/\r?\n/).map((line) => /^([\w-]+):[ \t]*(.*)$/.exec(line));
  const pairs = lines.flatMap((found): [string, string][] => {
    return found === null ? [] : [[found[1] ?? "", found[2] ?? ""]];
  });
  return Object.fromEntries(pairs);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
