import { TrunklineError } from "../../base/errors.ts";
import {
  addEntry,
  type EntrySection,
  noteMissingProgram,
  pathFor,
  programOf,
  removeEntry,
} from "../config/edit-entry.ts";
import { readPairs } from "../config/read-pairs.ts";
import type { Editing } from "../config/tell-edited.ts";
import type { Invocation } from "../shell/command.ts";

const SERVERS: EntrySection = { what: "server", path: ["mcpServers"] };

type ServerValues = Editing & {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly transport?: "http" | "sse";
  readonly cwd?: string;
  readonly replace?: boolean;
};

/** `trunkline server add NAME -- COMMAND…|URL` */
export async function add(invocation: Invocation<ServerValues>): Promise<number> {
  const [name = "", ...rest] = invocation.positionals;
  const settings = await settingsOf(invocation, rest);
  const next = `Test it with \`trunkline server test ${/\s/.test(name) ? `'${name}'` : name}\`.`;
  const code = await addEntry(invocation, SERVERS, name, settings, next);
  if ("command" in settings) noteMissingProgram(invocation, rest[0] ?? "");
  return code;
}

/** `trunkline server remove NAME` */
export async function remove(invocation: Invocation<Editing>): Promise<number> {
  return removeEntry(invocation, SERVERS, invocation.positionals[0] ?? "");
}

async function settingsOf(
  invocation: Invocation<ServerValues>,
  rest: readonly string[],
): Promise<Record<string, unknown>> {
  const { env, header, transport, cwd } = invocation.values;
  const [first = "", ...args] = rest;
  if (/^[a-z]+:\/\//i.test(first)) {
    refuse(args.length > 0, `'${args[0]}' after a URL`);
    refuse(env !== undefined, "--env with a URL: no program is started");
    refuse(cwd !== undefined, "--cwd with a URL: no program is started");
    const headers = await readPairs("--header", header);
    return {
      ...(transport === "sse" ? { type: "sse" } : {}),
      url: first,
      ...(header === undefined ? {} : { headers }),
    };
  }
  refuse(header !== undefined, "--header with a program: only a URL gets headers");
  refuse(transport !== undefined, "--transport with a program: only a URL has one");
  const variables = await readPairs("--env", env);
  return {
    ...programOf(invocation, rest),
    ...(env === undefined ? {} : { env: variables }),
    ...(cwd === undefined ? {} : { cwd: pathFor(invocation, cwd) }),
  };
}

function refuse(isWrong: boolean, what: string): void {
  if (isWrong) throw new TrunklineError("usage", `Cannot use ${what}.`);
}
