import { realpathSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { parse } from "jsonc-parser";

import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { homeOf } from "../../base/process/environment.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { isJsoncObject, setInJsonc } from "../../gateway/config/file/set-in-jsonc.ts";
import { replaceFile } from "../../store/replace-file.ts";
import { readSecret } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";
import { type GatewayUrl, readGatewayUrl } from "../shell/gateway-url.ts";

type SetupValues = {
  readonly remote?: string;
  readonly name?: string;
  readonly remove?: boolean;
  readonly json?: boolean;
};

const MAX_SIZE = 1024 * 1024;

/** `trunkline setup jetbrains`: an entry of `acp.json`; the rest of the file stays as it is. */
export async function setupJetbrains(invocation: Invocation<SetupValues>): Promise<number> {
  const { values, env, out, err } = invocation;
  const { remote, name = "Trunkline", remove = false } = values;
  const path = join(homeOf(env), ".jetbrains", "acp.json");
  const before = textOf(path);
  const key = ["remote", name];
  if (remove) {
    const after = before === undefined ? undefined : setInJsonc(before, key, undefined);
    return await finish(invocation, { path, before, after, verb: "Removed", name });
  }
  const { url, warning } = gatewayFrom(remote);
  if (warning !== undefined) err(`${warning}\n`);
  const token = (await tokenFrom(invocation)) ?? tokenOf(before, name, url);
  const entry = token === undefined ? { url } : { url, token };
  const after = setInJsonc(before ?? "{}\n", key, entry);
  const code = await finish(invocation, { path, before, after, verb: "Wrote", name });
  if (token === undefined && values.json !== true) {
    out(
      "It has no token yet. On the server, `trunkline token create NAME --scope sessions` makes " +
        "one; give it to this command on its standard input, or in TRUNKLINE_TOKEN.\n",
    );
  }
  return code;
}

interface Edit {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly verb: string;
  readonly name: string;
}

async function finish(
  { values, out }: Invocation<SetupValues>,
  { path, before, after, verb, name }: Edit,
): Promise<number> {
  const isChanged = after !== undefined && after !== before;
  if (isChanged) {
    await mkdir(dirname(path), { recursive: true });
    // The file may be a symbolic link, as people keep such files elsewhere: write to its target.
    await replaceFile(before === undefined ? path : realpathSync(path), after);
  }
  const what = `'${visibleLine(name)}' in ${visibleLine(path)}`;
  if (values.json === true) out(`${JSON.stringify({ file: path, isChanged }, null, 2)}\n`);
  else out(isChanged ? `${verb} ${what}.\n` : `Nothing to change: ${what}.\n`);
  return 0;
}

/** The token that the file has for the same server. */
function tokenOf(text: string | undefined, name: string, url: string): string | undefined {
  const { remote } = (parse(text ?? "{}") ?? {}) as { remote?: Record<string, Entry | undefined> };
  const entry = remote?.[name];
  return entry?.url === url ? entry.token : undefined;
}

interface Entry {
  readonly url?: string;
  readonly token?: string;
}

function textOf(path: string): string | undefined {
  let text: string | undefined;
  try {
    text = readRegularFile(path, { most: MAX_SIZE })?.toString("utf8");
  } catch (error) {
    const says = `Cannot read '${path}': ${(error as Error).message}`;
    throw new TrunklineError("config", says, { cause: error });
  }
  if (text === undefined || isJsoncObject(text)) return text;
  throw new TrunklineError("config", `Cannot change '${path}': it is not a JSON object. Repair it`);
}

function gatewayFrom(remote: string | undefined): GatewayUrl {
  if (remote !== undefined) return readGatewayUrl(remote);
  const says =
    "Cannot set up a server without --remote: give it as --remote wss://trunkline.example.com/acp.";
  throw new TrunklineError("usage", says);
}

/** Never from an argument, which others on the machine can read. */
async function tokenFrom({ env }: Invocation<SetupValues>): Promise<string | undefined> {
  const { TRUNKLINE_TOKEN } = env;
  const given = TRUNKLINE_TOKEN ?? (await readSecret("Token (empty for none): "));
  return given.trim() === "" ? undefined : given.trim();
}
