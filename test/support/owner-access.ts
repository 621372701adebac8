import { readFileSync } from "node:fs";

/** The line with which `trunkline serve --json` says that it is ready. */
export interface Ready {
  readonly url: string;
  readonly mcp: string;
  readonly acp: string;
  readonly pid: number;
  /** The file that has the owner's token, and nothing else. */
  readonly tokenFile: string;
  /** A link that lets a browser in, once. */
  readonly login: string;
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** What a program of the owner's sends with every request to a gateway. */
export function ownerHeaders({ tokenFile }: Pick<Ready, "tokenFile">): {
  readonly authorization: string;
} {
  return bearer(readFileSync(tokenFile, "utf8"));
}

/** The same, of a line as it was read. */
export function readyOf(line: unknown): Ready & { readonly headers: { authorization: string } } {
  const ready = line as Ready;
  return { ...ready, headers: ownerHeaders(ready) };
}
