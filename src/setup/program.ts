import { execFile, type ExecException } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { TrunklineError } from "../base/errors.ts";
import { absolutePath } from "../base/process/environment.ts";
import { selfCommand } from "../base/process/self-command.ts";
import { visibleLine } from "../base/text/visible.ts";
import { expandPath } from "../config/locations.ts";
import { findProgram } from "../run/open/find-program.ts";
import { AccessTokens } from "../store/access/access-tokens.ts";
import { runningGateways } from "../store/access/running-gateways.ts";
import { withLock } from "../store/replace-file.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { isSet } from "../cli/shell/host.ts";
import { openQuietApp } from "../cli/shell/open-app.ts";
import {
  carryOut,
  type Change,
  type ChangeValues,
  checkOurs,
  openFile,
  presentIn,
  type ProgramFile,
  takeBackup,
} from "./change.ts";
import { isMap } from "./format/format.ts";
import { placesOf, type StartCommand, type Target } from "./targets.ts";

export type ProgramValues = ChangeValues & OptionValues<"config" | "data", "http">;

/** `trunkline setup TARGET` for a program that has an entry for us. */
export async function setUpProgram(
  invocation: Invocation<ProgramValues>,
  target: Target,
): Promise<number> {
  const { values } = invocation;
  if (values.http === true && target.noHttp !== undefined) {
    const says = `Cannot set up ${target.label} over HTTP: ${target.noHttp}.`;
    throw new TrunklineError("usage", `${says} Without --http it starts Trunkline itself.`);
  }
  const needsToken = values.http === true && values.print !== true && values["dry-run"] !== true;
  if (needsToken) await oneAtATime(invocation, () => writeEntries(invocation, target));
  else await writeEntries(invocation, target);
  return 0;
}

async function writeEntries(invocation: Invocation<ProgramValues>, target: Target): Promise<void> {
  const { values, env, out } = invocation;
  const file = openFile(target.file(placesOf(env)), values);
  const wanted = changeFor(invocation, target, file);
  const present = presentIn(wanted);
  const isTrial = values.print === true || values["dry-run"] === true;
  const needsAccess = values.http === true && values.remove !== true;
  const access = needsAccess
    ? await accessFor(invocation, target.name, { present, isTrial })
    : undefined;
  const change = access === undefined ? wanted : changeFor(invocation, target, file, access);
  let isChanged: boolean;
  try {
    isChanged = await carryOut(invocation, change);
  } catch (error) {
    if (access?.isNew === true) await endAccess(invocation, target.name, access);
    throw error;
  }
  if (isChanged && !needsAccess) await endAccess(invocation, target.name, present);
  if (isChanged && values.remove !== true && values.json !== true) {
    for (const note of [access?.note, target.note]) if (note !== undefined) out(`${note}\n`);
  }
}

/** The change that sets a program up, or takes it back. */
export function changeFor(
  invocation: Invocation<ProgramValues>,
  target: Target,
  file: ProgramFile,
  access?: GatewayAccess,
): Change {
  const { values } = invocation;
  const edits = target.entries.map(({ role, path, stdio, http }) => {
    if (values.remove === true) return { path, entry: undefined };
    const isHttp = access !== undefined && http !== undefined;
    const entry = isHttp
      ? http(access.url, access.authorization)
      : stdio(startCommand(invocation, role));
    return { path, entry };
  });
  const what = edits.map(({ path }) => `'${path.join(".")}'`).join(" and ");
  const isSecret = access !== undefined;
  const { format, start } = target;
  const change: Change = { file, format, edits, start, what, isSecret };
  const isClaude = target.name === "claude-code" && access === undefined;
  return isClaude ? { ...change, write: writeByClaude(invocation, change) } : change;
}

/** What starts Trunkline with the configuration and data that this command has. */
function startCommand(
  { values, env, cwd }: Invocation<ProgramValues>,
  role: "mcp" | "acp",
): StartCommand {
  const [command, ...words] = selfCommand();
  const { TRUNKLINE_CONFIG, TRUNKLINE_DATA } = env;
  const config = values.config ?? TRUNKLINE_CONFIG;
  const data = values.data ?? TRUNKLINE_DATA;
  const options = Object.entries({ config, data }).flatMap(([name, path]) =>
    isSet(path) ? [`--${name}`, expandPath(path, cwd, env)] : [],
  );
  return { command, args: [...words, role, ...options] };
}

function writeByClaude(
  invocation: Invocation<ProgramValues>,
  change: Change,
): (() => Promise<void>) | undefined {
  const { env, values } = invocation;
  const isThere = presentIn(change).some(isMap);
  // Its command replaces an entry whole, with what a person has added to it.
  if (isThere && values.remove !== true) return undefined;
  const claude = findProgram("claude", absolutePath(env.PATH));
  if (claude === undefined) return undefined;
  return async () => {
    checkOurs(change.file);
    await takeBackup(change.file);
    const { command, args } = startCommand(invocation, "mcp");
    const action = isThere ? "remove" : "add";
    const entry = isThere ? ["trunkline"] : ["trunkline", "--", command, ...args];
    await runClaude(claude.path, env, ["mcp", action, "--scope", "user", ...entry]);
  };
}

const TIMEOUT = 30_000;

/** Runs Claude Code's own command, which takes the lock that all its windows take to write its file. */
async function runClaude(program: string, env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const running = promisify(execFile)(program, args, { env, timeout: TIMEOUT, cwd: "/" });
  // Without an input it cannot ask a question and wait for the answer.
  running.child.stdin?.end();
  try {
    await running;
  } catch (error) {
    const { stderr = "", message, killed } = error as ExecException;
    const why = killed === true ? "it did not end within 30 s" : String(stderr).trim() || message;
    const says = `Cannot set up Claude Code: '${program} ${args.slice(0, 2).join(" ")}' failed: ${visibleLine(why)}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

const TOKEN = /tlk_[\w-]{43}/;

/** How a program on this machine reaches the gateway over HTTP. */
interface GatewayAccess {
  readonly url: string;
  readonly authorization: { readonly Authorization: string };
  /** Whether its token was created for it now. */
  readonly isNew: boolean;
  /** What a person has to do before it works. */
  readonly note?: string;
}

/** The address of the running gateway, or of the one that the configuration describes. */
async function gatewayOf(
  invocation: Invocation,
): Promise<{ data: string; url: string; note?: string }> {
  const { config } = await openQuietApp(invocation);
  const { data, serve } = config;
  const [running] = await runningGateways(data);
  if (running !== undefined) {
    const address = running.browser.startsWith("https:") ? running.browser : running.url;
    return { data, url: `${address}/mcp` };
  }
  if (serve.port === 0) {
    const says = "Cannot tell the address of the gateway: `serve.port` is 0, and none is running.";
    throw new TrunklineError("unavailable", `${says} Start it with \`trunkline serve\`.`);
  }
  const isAny = serve.host === "0.0.0.0" || serve.host === "::";
  const host = isAny ? "127.0.0.1" : serve.host.includes(":") ? `[${serve.host}]` : serve.host;
  const note = "No gateway is running now: start it with `trunkline serve`.";
  return { data, url: `http://${host}:${serve.port}/mcp`, note };
}

/**
 * Access for one program, with a token of its own that can be revoked and allows only tools. The
 * owner's token is never written anywhere else. The token of an entry that is there is used again.
 */
async function accessFor(
  invocation: Invocation,
  target: string,
  { present, isTrial }: { readonly present: unknown; readonly isTrial: boolean },
): Promise<GatewayAccess> {
  const { data, url, note } = await gatewayOf(invocation);
  const given = invocation.env.TRUNKLINE_TOKEN?.trim();
  const known = tokenIn(present);
  await using tokens = new AccessTokens(data);
  let token = given === "" ? undefined : given;
  if (token === undefined && known !== undefined && tokens.use(known) !== undefined) token = known;
  if (token === undefined && isTrial) token = "TOKEN";
  const isNew = token === undefined;
  if (token === undefined) {
    await revoke(tokens, nameFor(target));
    const scopes = ["tools", "review"] as const;
    ({ token } = await tokens.create(nameFor(target), { scopes: [...scopes] }));
  }
  return { url, authorization: { Authorization: `Bearer ${token}` }, isNew, ...(note && { note }) };
}

/** Revokes the token of a program whose entry was removed. */
async function endAccess(invocation: Invocation, target: string, present: unknown): Promise<void> {
  if (tokenIn(present) === undefined) return;
  const { config } = await openQuietApp(invocation);
  await using tokens = new AccessTokens(config.data);
  await revoke(tokens, nameFor(target));
}

/**
 * Runs one set-up at a time: two at once would each revoke the token that the other has just written.
 */
async function oneAtATime<T>(invocation: Invocation, work: () => Promise<T>): Promise<T> {
  const { config } = await openQuietApp(invocation);
  await mkdir(config.data, { recursive: true, mode: 0o700 });
  return withLock(join(config.data, "setup.lock"), work);
}

async function revoke(tokens: AccessTokens, name: string): Promise<void> {
  if (tokens.list().some((each) => each.name === name)) await tokens.revoke(name);
}

function nameFor(target: string): string {
  return `setup-${target}`;
}

/** The token in an entry, in whichever of its fields. */
function tokenIn(entry: unknown): string | undefined {
  return TOKEN.exec(JSON.stringify(entry) ?? "")?.[0];
}
