/** The parts of a tool's definition that a model or a person reads. */
export interface Described {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

/** A description of a tool, and when it was first seen. */
export interface Seen {
  /** SHA-256 of the canonical JSON of the description. */
  readonly fingerprint: string;
  readonly time: string;
  /** Left out if it is very long; then only the fact of a change can be shown. */
  readonly described?: Described;
}

/** The approval of one tool of one server. */
export interface Approval {
  readonly server: string;
  readonly name: string;
  /** Undefined while nobody has approved it. */
  readonly approved?: Seen;
  /** Approved by a person; otherwise it is what was seen first. */
  readonly byPerson?: true;
  /** The current description, which is held until it is approved. */
  readonly held?: Seen;
}

/** Longest description that is stored, in characters. */
const LONGEST_KEPT = 64 * 1024;

/** The description of a tool. Members that nobody reads are left out. */
export function see(definition: Described): Seen {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  const described = { name, title, description, inputSchema, outputSchema, annotations };
  const text = canonicalJson(described);
  const time = new Date().toISOString();
  if (text.length > LONGEST_KEPT) return { fingerprint: fingerprintOf(text), time };
  return {
    // Computed on demand: for unchanged tools it is not needed.
    get fingerprint() {
      return fingerprintOf(text);
    },
    time,
    described,
  };
}

/** node:crypto is loaded on demand, since it would delay the start of `trunkline mcp` by 8 ms. */
function fingerprintOf(text: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", text);
}

/** Whether two descriptions are equal. */
export function isSame(one: Seen, other: Seen): boolean {
  if (one.described !== undefined && other.described !== undefined) {
    return canonicalJson(one.described) === canonicalJson(other.described);
  }
  return one.fingerprint === other.fingerprint;
}

/** A unique key of a tool of a server. */
export function keyOf(server: string, name: string): string {
  return JSON.stringify([server, name]);
}

/** Whether a value that was read from a file is an approval. */
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

/** JSON with sorted members and without spaces: equal values have equal texts. */
function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}
