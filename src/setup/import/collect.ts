import { isDeepStrictEqual } from "node:util";

import { fileWords } from "../../base/errors.ts";
import { isLoopback } from "../../base/private-address.ts";
import { TOKEN_PREFIX } from "../../store/access/access-token.ts";
import type { Places } from "../places.ts";
import { readProgramFile } from "../program-file.ts";
import { isMap, valueAt } from "../format/format.ts";
import type { Target } from "../targets.ts";
import { type OwnServer, type ReadServer, readServer } from "./foreign-server.ts";

/** A server that another program has, and what importing it would do. */
export interface Candidate extends ReadServer {
  /** Its name in Trunkline's configuration. */
  readonly name: string;
  /** Where it was found. */
  readonly program: string;
  readonly file: string;
  /** Whether the configuration has it already. */
  readonly isKnown: boolean;
}

export interface Collected {
  readonly candidates: readonly Candidate[];
  /** Files that could not be read, with the reason. */
  readonly problems: readonly string[];
}

/**
 * The servers that programs have, each once. Our own entry is not among them, which may have a token of
 * our own gateway.
 */
export function collectServers(
  targets: readonly Target[],
  places: Places,
  known: Readonly<Record<string, OwnServer>>,
  isOwnToken: (token: string) => boolean,
): Collected {
  const candidates: Candidate[] = [];
  const problems: string[] = [];
  const taken = new Map<string, OwnServer | undefined>(Object.entries(known));
  for (const target of targets) {
    const file = target.file(places);
    let entries: readonly (readonly [string, unknown])[];
    try {
      entries = entriesOf(target, file);
    } catch (error) {
      problems.push(`Cannot read '${file}': ${fileWords(error, file)}`);
      continue;
    }
    for (const [name, entry] of entries) {
      const read = readServer(entry);
      if (isOurs(read.server, isOwnToken)) continue;
      const found = { ...read, program: target.label, file };
      const same = [name, `${name}-${target.name}`].find((each) =>
        isSame(taken.get(each), read.server),
      );
      if (same !== undefined && Object.hasOwn(known, same)) {
        candidates.push({ ...found, name: same, isKnown: true });
      } else if (same === undefined) {
        const free = taken.has(name) ? `${name}-${target.name}` : name;
        if (read.server !== undefined) taken.set(free, read.server);
        candidates.push({ ...found, name: free, isKnown: false });
      }
    }
  }
  return { candidates, problems };
}

function entriesOf(target: Target, path: string): (readonly [string, unknown])[] {
  const mcp = target.entries.find(({ role }) => role === "mcp");
  const { text } = readProgramFile(path);
  if (mcp === undefined || text === undefined) return [];
  const all = valueAt(target.format.read(text), mcp.path.slice(0, -1));
  if (Array.isArray(all)) return (all as unknown[]).map((item) => [nameOf(item), item]);
  return isMap(all) ? Object.entries(all) : [];
}

function nameOf(item: unknown): string {
  return isMap(item) && typeof item.name === "string" ? item.name : "server";
}

/** RFC 9110 § 11.1: the name of a scheme is the same in upper and lower case. */
const BEARER = /^Bearer +/i;

/** Trunkline as a server of itself would offer every tool twice. */
function isOurs(server: OwnServer | undefined, isOwnToken: (token: string) => boolean): boolean {
  if (server === undefined) return false;
  if ("url" in server) {
    const sent = Object.values(server.headers ?? {}).map((value) => value.replace(BEARER, ""));
    // What `setup --http` writes: our gateway, whatever its address, or an earlier one of this machine.
    const url = URL.parse(server.url);
    const isHere = url !== null && isLoopback(url);
    return sent.some((token) => isOwnToken(token) || (isHere && token.startsWith(TOKEN_PREFIX)));
  }
  const words = [server.command, ...(server.args ?? [])];
  return words.some((word) => /(?:^|[\\/])trunkline(?:\.js|\.exe|\.cmd)?$/.test(word));
}

function isSame(one: OwnServer | undefined, other: OwnServer | undefined): boolean {
  return one !== undefined && other !== undefined && isDeepStrictEqual(plain(one), plain(other));
}

/** Which program or address it is, as JSON has it: lists of the configuration may have another prototype, or fields that are undefined. */
function plain(server: OwnServer): unknown {
  const {
    args,
    env,
    headers,
    timeout: _,
    autoApprove: __,
    ...rest
  } = JSON.parse(JSON.stringify(server)) as Record<string, unknown>;
  const filled = (value: unknown): boolean =>
    value !== undefined && Object.keys(value as object).length > 0;
  return {
    ...rest,
    ...(filled(args) && { args }),
    ...(filled(env) && { env }),
    ...(filled(headers) && { headers }),
  };
}
