import { join, resolve } from "node:path";
import { type ExecException, execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { promisify } from "node:util";

import { isObject } from "../base/check.ts";
import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { absolutePath, isSet } from "../base/process/environment.ts";
import { selfCommand, typedCommand } from "../base/process/self-command.ts";
import { visibleLine } from "../base/text/visible.ts";
import { findProgram } from "../run/open/find-program.ts";
import { lazygitCommands, lazygitFile, withCommands } from "../review/transfer/lazygit-setup.ts";
import { askLine, readSecret } from "../cli/shell/ask.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { readGatewayUrl } from "../server/http/gateway-url.ts";
import { linesText, print, table } from "../cli/shell/layout.ts";
import {
  carryOut,
  type ProgramFileChange,
  type ChangeValues,
  checkOurs,
  diffText,
  openFile,
  presentIn,
  type ProgramFile,
  readProgramFile,
  takeBackup,
  writeProgramFile,
} from "./change.ts";
import { editAll, type KeyPath } from "./format/format.ts";
import { importServers } from "./import/import.ts";
import { type PrintedSetup, PRINTED_SETUPS } from "./printed-setups.ts";
import { placesOf, type StartCommand, type SetupTarget, TARGETS } from "./targets.ts";
import { expandPath } from "../config/locations.ts";
import { AccessTokens } from "../store/access/access-tokens.ts";
import { runningGateways } from "../store/access/running-gateways.ts";
import { withLock } from "../store/replace-file.ts";
import { openQuietApp } from "../cli/shell/open-app.ts";

type SetupValues = ProgramValues &
  JetbrainsValues &
  LazygitValues &
  OptionValues<never, "import" | "yes">;

/** Options that only some targets have. */
const SPECIAL: Readonly<Record<string, string>> = {
  user: "lazygit",
  repo: "lazygit",
  remote: "jetbrains",
  name: "jetbrains",
};

/** `trunkline setup [TARGET]` */
export async function run(invocation: Invocation<SetupValues>): Promise<number> {
  const { values, positionals } = invocation;
  const [target] = positionals;
  checkOptions(values, target);
  if (values.import === true) return importServers(invocation, target);
  return target === undefined ? listAndAsk(invocation) : setUp(invocation, target);
}

function checkOptions(values: SetupValues, target: string | undefined): void {
  const given = (name: string): boolean => values[name as keyof SetupValues] !== undefined;
  const wrong = Object.keys(SPECIAL).find((name) => given(name) && SPECIAL[name] !== target);
  if (wrong !== undefined)
    throw usage(`Cannot use --${wrong}: it is an option of ${SPECIAL[wrong]}.`);
  const isPrinted = PRINTED_SETUPS.some(({ name }) => name === target);
  if (values.http === true && (target === "lazygit" || isPrinted)) {
    throw usage(`Cannot use --http: ${target} starts Trunkline itself.`);
  }
  if (values.remove === true && isPrinted) {
    throw usage(`Cannot use --remove: nothing was written for ${target}. Take it out by hand.`);
  }
  if (values.yes === true && values.import !== true) {
    throw usage("Cannot use --yes: it is an option of --import.");
  }
  const modes = ["print", "dry-run", "import"].filter(given);
  if (values.print === true && values.remove === true) modes.push("remove");
  if (modes.length > 1 && !(modes.length === 2 && given("dry-run") && given("import"))) {
    throw usage(`Cannot use --${modes.join(" and --")} together: give one of them.`);
  }
  if (target === undefined && values.import !== true) {
    const lonely = ["print", "dry-run", "remove", "http"].find(given);
    if (lonely !== undefined) throw usage(`Cannot use --${lonely} without a program: name one.`);
  }
}

async function setUp(invocation: Invocation<SetupValues>, name: string): Promise<number> {
  const { values } = invocation;
  if (name === "lazygit") return setupLazygit(invocation);
  const printed = PRINTED_SETUPS.find((each) => each.name === name);
  if (printed !== undefined) return printSetup(invocation, printed);
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw usage(`Cannot set up '${name}': it is not known.`);
  checkJetbrains(values);
  const isRemote = values.remote !== undefined || values.remove === true;
  if (name === "jetbrains" && isRemote) return setupJetbrains(invocation, target);
  return setUpProgram(invocation, target);
}

/** Shows what is here, and at a terminal asks what to set up. */
async function listAndAsk(invocation: Invocation<SetupValues>): Promise<number> {
  const { values, err } = invocation;
  const all = findPrograms(invocation);
  const found = all.filter(({ at }) => at !== undefined);
  const open = found.filter(({ state }) => state === "no" || state === "differs");
  print(invocation, { programs: all }, found.length === 0 ? NONE : tableOf(found));
  if (values.json !== true) {
    for (const { problem } of found) if (problem !== undefined) err(`${problem}\n`);
  }
  if (open.length === 0) return 0;
  if (values.json === true || !invocation.isTerminal || !process.stdin.isTTY) {
    if (values.json !== true) {
      err(
        "`trunkline setup PROGRAM` sets one up; with --dry-run it only shows what it would do.\n",
      );
    }
    return 1;
  }
  const names = open.map(({ name }) => name);
  const answer = await askLine(`Set up which? ${names.join(", ")}, or all (Enter: none) `);
  return setUpAll(invocation, answer === "all" ? names : answer.split(/[\s,]+/).filter(Boolean));
}

/** If one fails, the others are still set up. */
async function setUpAll(
  invocation: Invocation<SetupValues>,
  names: readonly string[],
): Promise<number> {
  let code = 0;
  for (const name of names) {
    try {
      await setUp(invocation, name);
    } catch (error) {
      code = 1;
      invocation.err(`${name}: ${(error as Error).message}\n`);
    }
  }
  return code;
}

const NONE =
  "None of the programs that can be set up was found here. `trunkline setup --help` lists them; one " +
  "that is not in PATH can be set up by its name.\n";

const STATES: Readonly<Record<FoundProgram["state"], string>> = {
  yes: "yes",
  http: "yes, over HTTP",
  differs: "yes, with another command: run it again",
  no: "no",
  unknown: "cannot tell",
  "by-hand": "by hand: `trunkline setup` with its name prints it",
};

function tableOf(found: readonly FoundProgram[]): string {
  const rows = found.map(({ name, at = "", state }) => [name, STATES[state], at]);
  return table([["PROGRAM", "SET UP", "FOUND"], ...rows]);
}

function usage(says: string): TrunklineError {
  return new TrunklineError("usage", says);
}

/** A program as it is on this machine. */
interface FoundProgram {
  readonly name: string;
  readonly label: string;
  /** The program, or the folder that shows that it was here; undefined if it was not found. */
  readonly at: string | undefined;
  /**
   * Whether our entry is there: as it would be written now (`yes`, or `http`), with another command
   * (`differs`), or not. `unknown` if the file cannot be read, `by-hand` if that is not ours to see.
   */
  readonly state: "yes" | "http" | "differs" | "no" | "unknown" | "by-hand";
  readonly problem?: string;
}

/** All programs that can be set up, in the order of the table. */
function findPrograms(invocation: Invocation): FoundProgram[] {
  const { env, cwd } = invocation;
  const at = (...programs: string[]): string | undefined =>
    programs.map((program) => findProgram(program, absolutePath(env.PATH))?.path).find(Boolean);
  const lazygit = at("lazygit");
  return [
    ...TARGETS.map((target) => lookAt(invocation, target, at(...target.programs))),
    ...PRINTED_SETUPS.map(({ name, label, program }) => {
      return { name, label, at: at(program), state: "by-hand" } as const;
    }),
    {
      name: "lazygit",
      label: "lazygit",
      at: lazygit,
      ...stateOf(() => (hasLazygit(env, cwd) ? "yes" : "no")),
    },
  ];
}

function lookAt(
  invocation: Invocation,
  target: SetupTarget,
  program: string | undefined,
): FoundProgram {
  const { name, label } = target;
  const places = placesOf(invocation.env);
  const folder = target.folder(places);
  const at = program ?? (places.exists(folder) ? folder : undefined);
  return { name, label, at, ...stateOf(() => entryState(invocation, target)) };
}

function stateOf(look: () => FoundProgram["state"]): Pick<FoundProgram, "state" | "problem"> {
  try {
    return { state: look() };
  } catch (error) {
    return { state: "unknown", problem: (error as Error).message };
  }
}

function entryState(invocation: Invocation, target: SetupTarget): FoundProgram["state"] {
  const file = readProgramFile(target.file(placesOf(invocation.env)));
  if (file.text === undefined) return "no";
  const change = changeFor(invocation, target, file);
  const present = presentIn(change);
  if (!present.every(isObject)) return "no";
  if (editAll(target.format, file.text, change.edits) === file.text) return "yes";
  return present.some((entry) => /"https?:/.test(JSON.stringify(entry))) ? "http" : "differs";
}

function hasLazygit(env: NodeJS.ProcessEnv, cwd: string): boolean {
  const isIn = (repo?: string): boolean => {
    const { text = "" } = readProgramFile(lazygitFile(repo, env));
    return withCommands(text, []) !== text;
  };
  if (isIn()) return true;
  // Not in a repository.
  return attempt(() => isIn(cwd), false);
}

type JetbrainsValues = ChangeValues & OptionValues<"remote" | "name">;

/**
 * `trunkline setup jetbrains --remote URL`, and with --remove: a server among the agents. Without
 * --remote, --remove takes away the entry of this machine as well.
 */
async function setupJetbrains(
  invocation: Invocation<JetbrainsValues>,
  target: SetupTarget,
): Promise<number> {
  const { values, env, out, err } = invocation;
  const { remote, name = "Trunkline", remove = false } = values;
  const key: KeyPath = ["remote", name];
  const file = openFile(target.file(placesOf(env)), values);
  const common = { file, format: target.format, what: `'${visibleLine(name)}'`, isSecret: true };
  if (remove) {
    const local = remote === undefined ? target.entries.map(({ path }) => path) : [];
    const edits = [key, ...local].map((path) => ({ path, entry: undefined }));
    await carryOut(invocation, { ...common, edits });
    return 0;
  }
  const { url, warning } = readGatewayUrl(remote ?? "");
  if (warning !== undefined) err(`${warning}\n`);
  const known = { ...common, edits: [{ path: key, entry: undefined }] };
  const token = (await tokenFrom(invocation)) ?? tokenOf(known, url);
  const entry = token === undefined ? { url } : { url, token };
  await carryOut(invocation, { ...common, edits: [{ path: key, entry }] });
  if (token === undefined && values.json !== true) {
    out(
      "It has no token yet. On the server, `trunkline token create NAME --scope sessions` makes " +
        "one; give it to this command on its standard input, or in TRUNKLINE_TOKEN.\n",
    );
  }
  return 0;
}

/** The token that the file has for the same server. */
function tokenOf(change: ProgramFileChange, url: string): string | undefined {
  const [entry] = presentIn(change);
  const isSame = isObject(entry) && entry.url === url && typeof entry.token === "string";
  return isSame ? (entry.token as string) : undefined;
}

/** Never from an argument, which others on the machine can read. */
async function tokenFrom(invocation: Invocation<JetbrainsValues>): Promise<string | undefined> {
  const { env, values } = invocation;
  if (values.print === true || values["dry-run"] === true) return undefined;
  const given = env.TRUNKLINE_TOKEN ?? (await readSecret("Token (empty for none): "));
  return given.trim() === "" ? undefined : given.trim();
}

/** Says which of its options go together. */
function checkJetbrains({ remote, name, remove }: JetbrainsValues): void {
  if (name === undefined || remote !== undefined || remove === true) return;
  const says = "Cannot use --name without --remote: it is the name of a server.";
  throw new TrunklineError("usage", says);
}

type LazygitValues = ChangeValues & OptionValues<"repo", "user">;

const DONE = {
  written: "Added the commands to",
  removed: "Removed the commands from",
  unchanged: "Nothing to change in",
} as const;

/** `trunkline setup lazygit` */
async function setupLazygit(invocation: Invocation<LazygitValues>): Promise<number> {
  const { values, cwd, env, out, err, data } = invocation;
  const { user = false, remove = false } = values;
  if (user && values.repo !== undefined) {
    throw new TrunklineError("usage", "Cannot use both --user and --repo: give one of them.");
  }
  const commands = lazygitCommands(typedCommand(env));
  if (values.print === true) {
    err("In the configuration of lazygit:\n");
    data(withCommands("", commands));
    return 0;
  }
  const present = readProgramFile(
    lazygitFile(user ? undefined : resolve(cwd, values.repo ?? "."), env),
  );
  const { path: file, text: before = "" } = present;
  const bare = withCommands(before, []);
  const after = remove ? bare : withCommands(before, commands);
  const isChanged = after !== before;
  if (values["dry-run"] === true) {
    const nothing = `${DONE.unchanged} ${visibleLine(file)}.\n`;
    out(isChanged ? diffText(file, before, after) : nothing);
    return 0;
  }
  if (isChanged) {
    // A file that had nothing else was made for the commands.
    const left = remove && after.trim() === "" ? undefined : after;
    const isRestored = remove && left === present.backup;
    const backup = isRestored ? "drop" : bare !== before && !remove ? "keep" : "take";
    await writeProgramFile(present, { after: left, isSecret: false, backup });
  }
  const change = isChanged ? (remove ? "removed" : "written") : "unchanged";
  const lines = [`${DONE[change]} ${visibleLine(file)}.`];
  if (isChanged && !remove)
    lines.push("In lazygit: Y comments on a line, Ctrl-Y shows the threads.");
  return print(invocation, { file, change }, linesText(lines));
}

/** `trunkline setup neovim`: a configuration that is a program is not ours to edit. */
function printSetup({ err, data }: Invocation, { label, where, text }: PrintedSetup): number {
  err(
    `${label} has no file for this that Trunkline could edit. Put what you want of this ${where}:\n`,
  );
  data(text(selfCommand()));
  return 0;
}

type ProgramValues = ChangeValues & OptionValues<"config" | "data", "http">;

/** `trunkline setup TARGET` for a program that has an entry for us. */
async function setUpProgram(
  invocation: Invocation<ProgramValues>,
  target: SetupTarget,
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

async function writeEntries(
  invocation: Invocation<ProgramValues>,
  target: SetupTarget,
): Promise<void> {
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
function changeFor(
  invocation: Invocation<ProgramValues>,
  target: SetupTarget,
  file: ProgramFile,
  access?: GatewayAccess,
): ProgramFileChange {
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
  const change: ProgramFileChange = { file, format, edits, start, what, isSecret };
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
  change: ProgramFileChange,
): (() => Promise<void>) | undefined {
  const { env, values } = invocation;
  const isThere = presentIn(change).some(isObject);
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
  const { data, serve } = (await openQuietApp(invocation)).config;
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
  await using tokens = new AccessTokens((await openQuietApp(invocation)).config.data);
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
