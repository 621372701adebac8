/** A session that an agent has begun itself, by that agent's name and id. */
export interface ForeignName {
  readonly agent: string;
  readonly id: string;
}

const FORM = /^agent\.([A-Za-z0-9_-]+)$/;
/** Characters. Ids become names of files. */
const LONGEST = 120;

/**
 * Our id of a session that an agent has begun itself. It says which session it is, so that every process
 * understands it, also after a restart. Undefined for an agent's id that is too long.
 */
export function foreignId({ agent, id }: ForeignName): string | undefined {
  if (agent.length + id.length > LONGEST || id === "") return undefined;
  const text = Buffer.from(JSON.stringify([agent, id])).toString("base64url");
  return `agent.${text}`;
}

/** Undefined for every other id. */
export function readForeignId(text: string): ForeignName | undefined {
  const [, encoded] = text.length > 1_000 ? [] : (FORM.exec(text) ?? []);
  if (encoded === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, "base64url").toString("utf8"));
    if (!Array.isArray(value)) return undefined;
    const [agent, id] = value as readonly unknown[];
    return typeof agent === "string" && typeof id === "string" && id !== ""
      ? { agent, id }
      : undefined;
  } catch {
    return undefined;
  }
}
