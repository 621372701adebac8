import { TrunklineError } from "../../base/errors.ts";
import { programEntry } from "./config-entries.ts";

/** A server as a person names it. Secrets are asked for once the rest is known to be right. */
export interface NewServer {
  /** A command line, or a URL alone. */
  readonly words: readonly string[];
  readonly env?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
  readonly headers?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
  readonly transport?: "http" | "sse" | undefined;
  readonly cwd?: string | undefined;
}

/** The entry of a server, as it is written into a file; `pathFor` says how a path is written there. */
export async function serverEntry(
  { words, env, headers, transport, cwd }: NewServer,
  pathFor: (path: string) => string,
): Promise<Record<string, unknown>> {
  const [first = "", ...args] = words;
  if (isUrl(first)) {
    refuse(args.length > 0, `'${args[0]}' after a URL`);
    refuse(env !== undefined, "--env with a URL: no program is started");
    refuse(cwd !== undefined, "--cwd with a URL: no program is started");
    return {
      ...(transport === "sse" ? { type: "sse" } : {}),
      url: first,
      ...(headers === undefined ? {} : { headers: await headers() }),
    };
  }
  refuse(/^https?:/i.test(first), `'${first}': a URL begins with https:// or http://`);
  refuse(headers !== undefined, "--header with a program: only a URL gets headers");
  refuse(transport !== undefined, "--transport with a program: only a URL has one");
  return {
    ...programEntry(words, pathFor),
    ...(env === undefined ? {} : { env: await env() }),
    ...(cwd === undefined ? {} : { cwd: pathFor(cwd) }),
  };
}

export function isUrl(text: string): boolean {
  return /^[a-z]+:\/\//i.test(text);
}

function refuse(isWrong: boolean, what: string): void {
  if (isWrong) throw new TrunklineError("usage", `Cannot use ${what}.`);
}
