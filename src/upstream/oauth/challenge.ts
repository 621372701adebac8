/** What a server says of the token that it wants (RFC 6750, section 3; RFC 9728, section 5.1). */
export interface Challenge {
  readonly scopes: readonly string[];
  readonly error?: string;
  /** Where the metadata of the server is. */
  readonly resourceMetadata?: string;
}

const SCHEME = /(?:^|,)\s*([A-Za-z][\w-]*)(?=\s+[\w-]+\s*=|\s*(?:,|$))/g;
const PARAMETER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** The `Bearer` challenge of a `WWW-Authenticate` header; undefined if it has none. */
export function bearerChallenge(header: string | undefined): Challenge | undefined {
  if (header === undefined) return undefined;
  // Text in quotes is not searched for schemes.
  const bare = header.replace(
    /"(?:[^"\\]|\\.)*"/g,
    (quoted) => `"${" ".repeat(quoted.length - 2)}"`,
  );
  const schemes = [...bare.matchAll(SCHEME)];
  const index = schemes.findIndex(([, name = ""]) => name.toLowerCase() === "bearer");
  if (index === -1) return undefined;
  const end = schemes[index + 1]?.index;
  const text = header.slice(schemes[index]?.index, end);
  const found = new Map<string, string>();
  for (const [, name = "", quoted, plain = ""] of text.matchAll(PARAMETER)) {
    found.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain);
  }
  const error = found.get("error");
  const resourceMetadata = found.get("resource_metadata");
  return {
    scopes: scopesOf(found.get("scope")),
    ...(error === undefined ? {} : { error }),
    ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
  };
}

/** The scopes of a text in which they are separated by spaces. */
export function scopesOf(text: unknown): string[] {
  return typeof text === "string" ? text.split(/\s+/).filter((scope) => scope !== "") : [];
}

/** All scopes of several lists, each once. */
export function unionOf(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}
