/** What a server says of a tool, as far as a model or a person goes by it. */
export interface Described {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

/** One description and when it was first seen. */
export interface Seen {
  /** SHA-256 of the canonical JSON of what is described. */
  readonly fingerprint: string;
  readonly time: string;
  /** Left out where it is very long: then only that it changed can be told. */
  readonly described?: Described;
}

/** What is known of one tool of one server. */
export interface Approval {
  readonly server: string;
  readonly name: string;
  /** Undefined while nobody has approved it. */
  readonly approved?: Seen;
  /** A person approved it; else it is only what was seen first. */
  readonly byPerson?: true;
  /** What the server offers instead; held until it is approved. */
  readonly held?: Seen;
}

/** Characters of a description that are kept to show later what has changed. */
const LONGEST_KEPT = 64 * 1024;

/** What a definition comes down to. Members that nobody is shown do not count. */
export function see(definition: Described): Seen {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  const described = { name, title, description, inputSchema, outputSchema, annotations };
  const text = canonicalJson(described);
  const time = new Date().toISOString();
  if (text.length > LONGEST_KEPT) return { fingerprint: fingerprintOf(text), time };
  return {
    // Most tools are what they were, which can be seen without it.
    get fingerprint() {
      return fingerprintOf(text);
    },
    time,
    described,
  };
}

/** Loaded when it is needed: every `trunkline mcp` with servers behind it would wait 8 ms for it. */
function fingerprintOf(text: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", text);
}

/** Whether two descriptions say the same. */
export function isSame(one: Seen, other: Seen): boolean {
  if (one.described !== undefined && other.described !== undefined) {
    return canonicalJson(one.described) === canonicalJson(other.described);
  }
  return one.fingerprint === other.fingerprint;
}

/** A key for maps: no server and tool share one with others. */
export function keyOf(server: string, name: string): string {
  return JSON.stringify([server, name]);
}

/** Whether something read from a file is one. */
export function isApproval(value: unknown): value is Approval {
  if (typeof value !== "object" || value === null) return false;
  const { server, name, approved, held } = value as Record<string, unknown>;
  return (
    typeof server === "string" &&
    typeof name === "string" &&
    (approved === undefined || isSeen(approved)) &&
    (held === undefined || isSeen(held))
  );
}

function isSeen(value: unknown): value is Seen {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { fingerprint?: unknown }).fingerprint === "string"
  );
}

/** The one text of a value of JSON: members by name, no spaces. Equal values have equal texts. */
function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}
