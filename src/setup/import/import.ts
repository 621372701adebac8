import { chmodSync, statSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

import { TrunklineError, fileWords } from "../../base/errors.ts";
import { MASK, maskAll, maskWhole, isSecretName, maskText } from "../../base/text/mask.ts";
import { isLoopback } from "../../base/private-address.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { editConfigFile } from "../../config/file/edit-file.ts";
import { describeProblem, isObject } from "../../base/check.ts";
import { checkConfigFile } from "../../config/schema/schema.gen.ts";
import { foreignKeys, withOwnReferences } from "../../config/file/foreign-keys.ts";
import { pastedServer } from "../../config/file/files.ts";
import { userFile } from "../../config/locations.ts";
import { hashToken, TOKEN_PREFIX } from "../../store/access/access-token.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { confirm } from "../../cli/shell/ask.ts";
import type { Invocation, OptionValues } from "../../cli/shell/command.ts";
import { configFlags, openQuietApp } from "../../cli/shell/open-app.ts";
import { readProgramFile } from "../change.ts";
import { valueAt } from "../format/format.ts";
import { type ProgramFolders, placesOf, type SetupTarget, TARGETS } from "../targets.ts";

type ImportValues = OptionValues<never, "dry-run" | "yes">;

/** `trunkline setup [PROGRAM] --import`: the MCP servers of other programs into our configuration. */
export async function importServers(
  invocation: Invocation<ImportValues>,
  program: string | undefined,
): Promise<number> {
  const { values, env, cwd, out, err } = invocation;
  const targets = TARGETS.filter(({ name }) => program === undefined || name === program);
  if (targets.length === 0) {
    const says = `Cannot import from '${program ?? ""}': it has no file with MCP servers.`;
    throw new TrunklineError("usage", says);
  }
  const { config } = await openQuietApp(invocation);
  const { path: file } = userFile({ cwd, env, flags: configFlags(invocation.values) });
  const known = config.mcpServers as Readonly<Record<string, OwnServer>>;
  const hashes = new Set(new AccessTokens(config.data).list().map(({ sha256 }) => sha256));
  const isOwnToken = (token: string): boolean => hashes.has(hashToken(token));
  const { candidates, problems } = collectServers(targets, placesOf(env), known, isOwnToken);
  for (const problem of problems) err(`${visibleLine(problem)}\n`);
  const fresh = candidates.filter((each) => each.server !== undefined && !each.isKnown);
  const isAsking = values.yes !== true && values["dry-run"] !== true;
  if (values.json !== true || isAsking) {
    const show = values.json === true ? err : out;
    show(candidates.length === 0 ? "No MCP servers were found.\n" : listOf(candidates));
  }
  const isAgreed = fresh.length > 0 && (await agrees(invocation, fresh, file));
  if (isAgreed) await addServers(file, fresh, { env, data: config.data });
  if (values.json === true) {
    const listed = candidates.map((each) => ({
      ...each,
      server: undefined,
      takes: takenOf(each),
    }));
    out(`${JSON.stringify({ file, isChanged: isAgreed, servers: listed }, null, 2)}\n`);
  } else if (isAgreed) {
    const names = fresh.map(({ name }) => visibleLine(name));
    out(
      `Added ${names.join(", ")} to ${visibleLine(file)}.\n` +
        "You can now remove the servers from the other programs, which get them through Trunkline.\n",
    );
  } else if (fresh.length === 0) out("Nothing to import.\n");
  return problems.length > 0 ? 1 : 0;
}

async function agrees(
  { values, err }: Invocation<ImportValues>,
  fresh: readonly ImportCandidate[],
  file: string,
): Promise<boolean> {
  const secrets = fresh.flatMap(({ name, secrets: all }) => all.map((each) => `${name}: ${each}`));
  if (secrets.length > 0) {
    const where = `to ${visibleLine(file)}, which only you can read`;
    err(`These are secrets, and are copied ${where}:\n`);
    for (const secret of secrets) err(`  ${visibleLine(secret)}\n`);
  }
  if (values["dry-run"] === true) return false;
  if (values.yes === true) return true;
  if (process.stdin.isTTY) return confirm(`Add ${counted(fresh.length, "server")} to ${file}?`);
  const says = "Cannot ask whether to import: this is not a terminal. Agree with --yes.";
  throw new TrunklineError("usage", says);
}

/** The one place where servers are added to our own configuration. */
async function addServers(
  file: string,
  servers: readonly ImportCandidate[],
  options: { readonly env: NodeJS.ProcessEnv; readonly data: string },
): Promise<void> {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  const hasSecrets = servers.some(({ secrets }) => secrets.length > 0);
  if (hasSecrets && mode !== undefined && (mode & 0o077) !== 0) chmodSync(file, mode & 0o700);
  const edits = servers.map(({ name, server }) => ({ path: ["mcpServers", name], value: server }));
  await editConfigFile(file, edits, options);
}

function listOf(candidates: readonly ImportCandidate[]): string {
  const lines = candidates.flatMap((each) => [lineOf(each), ...takenLines(each)]);
  return lines.map((line) => `${visibleLine(line)}\n`).join("");
}

function lineOf({ name, program, server, problem, isKnown, leftOut }: ImportCandidate): string {
  const head = `${name} (${program}): `;
  if (isKnown) return `${head}already there`;
  if (server === undefined) return `${head}not taken over, because ${problem ?? ""}`;
  const what = server.url ?? [server.command, ...(server.args ?? [])].join(" ");
  const rest = leftOut.length === 0 ? "" : `; left out: ${leftOut.join(", ")}`;
  return `${head}${maskWhole(what)}${rest}`;
}

/** How each field is called that is taken over in addition to the command or the address. */
const TAKEN: Readonly<Record<string, string>> = {
  cwd: "in the folder",
  env: "with variables",
  headers: "with headers",
  autoApprove: "CALLED WITHOUT ASKING",
  timeout: "milliseconds for a call",
  include: "only the tools",
  exclude: "without the tools",
  envFile: "variables from the file",
  headersHelper: "headers from the command",
  oauth: "login",
  type: "transport",
};

/** All that a person agrees to, so that nothing is taken over which was not shown. */
function takenLines(candidate: ImportCandidate): string[] {
  if (candidate.isKnown) return [];
  return Object.entries(takenOf(candidate)).map(([field, value]) => {
    const words = isObject(value)
      ? Object.entries(value).map(([name, text]) => `${name}=${String(text)}`)
      : [value].flat();
    const isSeconds = field === "timeout" && Number(value) < 1_000;
    const what = isSeconds ? "seconds for a call" : (TAKEN[field] ?? field);
    return `  ${what}: ${words.join(", ")}`;
  });
}

function takenOf({ server, secrets }: ImportCandidate): Readonly<Record<string, unknown>> {
  if (server === undefined) return {};
  const inFirstLine = new Set(["command", "args", "url"]);
  const rest = Object.entries(server).filter(([field]) => !inFirstLine.has(field));
  const shown = rest.map(([field, value]) => {
    if (field !== "env" && field !== "headers") return [field, maskAll(value)] as const;
    const pairs = Object.entries(value as Readonly<Record<string, string>>).map(([name, text]) => {
      return [name, secrets.includes(`${field}.${name}`) ? MASK : maskWhole(text)] as const;
    });
    return [field, Object.fromEntries(pairs)] as const;
  });
  return Object.fromEntries(shown);
}

/** A server that another program has, and what importing it would do. */
interface ImportCandidate extends ReadServer {
  /** Its name in Trunkline's configuration. */
  readonly name: string;
  /** Where it was found. */
  readonly program: string;
  readonly file: string;
  /** Whether the configuration has it already. */
  readonly isKnown: boolean;
}

/**
 * The servers that programs have, each once. Our own entry is not among them, which may have a token of
 * our own gateway.
 */
function collectServers(
  targets: readonly SetupTarget[],
  places: ProgramFolders,
  known: Readonly<Record<string, OwnServer>>,
  isOwnToken: (token: string) => boolean,
) {
  const candidates: ImportCandidate[] = [];
  /** Files that could not be read, with the reason. */
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
      const read = readServer(entry, target.name === "gemini");
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

function entriesOf(target: SetupTarget, path: string): (readonly [string, unknown])[] {
  const mcp = target.entries.find(({ role }) => role === "mcp");
  const { text } = readProgramFile(path);
  if (mcp === undefined || text === undefined) return [];
  const whole = target.format.read(text);
  const all = valueAt(whole, mcp.path.slice(0, -1));
  if (Array.isArray(all)) return (all as unknown[]).map((item) => [nameOf(item), item]);
  if (!isObject(all)) return [];
  return Object.entries(all).map(([name, item]) => {
    return [
      name,
      isObject(item) && isObject(whole) ? withSwitches(target.name, whole, name, item) : item,
    ];
  });
}

/** A server with what its program says of it elsewhere in the file: whether it, or some of its tools, are off. */
function withSwitches(
  program: string,
  whole: Readonly<Record<string, unknown>>,
  name: string,
  entry: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (program === "gemini" && isObject(whole.mcp)) {
    const { allowed, excluded } = whole.mcp;
    const isOff = Array.isArray(allowed) && !allowed.includes(name);
    return isOff || listAt({ excluded }, "excluded").includes(name)
      ? { ...entry, disabled: true }
      : entry;
  }
  if (program !== "opencode" || !isObject(whole.tools)) return entry;
  // Names of tools there are `SERVER_TOOL`.
  const own = `${name}_`;
  const off = Object.entries(whole.tools).filter(([, isOn]) => isOn === false);
  const patterns = off.flatMap(([pattern]) => {
    if (pattern.startsWith(own)) return [pattern.slice(own.length)];
    const [start = "", ...rest] = pattern.split("*");
    if (rest.length === 0 || !own.startsWith(start)) return [];
    return [rest.length === 1 && rest[0] === "" ? "*" : `*${rest.join("*")}`];
  });
  return patterns.length === 0 ? entry : { ...entry, disabledTools: patterns };
}

function nameOf(item: unknown): string {
  return isObject(item) && typeof item.name === "string" ? item.name : "server";
}

/** RFC 9110 § 11.1: the name of a scheme is the same in upper and lower case. */
const BEARER = /^Bearer +/i;

/** Trunkline as a server of itself would offer every tool twice. */
function isOurs(server: OwnServer | undefined, isOwnToken: (token: string) => boolean): boolean {
  if (server === undefined) return false;
  if (server.url !== undefined) {
    const sent = Object.values(server.headers ?? {}).map((value) => value.replace(BEARER, ""));
    // What `setup --http` writes: our gateway, whatever its address, or an earlier one of this machine.
    const url = URL.parse(server.url);
    const isHere = url !== null && isLoopback(url);
    return sent.some((token) => isOwnToken(token) || (isHere && token.startsWith(TOKEN_PREFIX)));
  }
  const words = [server.command ?? "", ...(server.args ?? [])];
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
  return { ...rest, ...filled({ args, env, headers }) };
}

/** The members that have something in them. */
function filled(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isEmpty = (value: unknown): boolean =>
    value === "" || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && !isEmpty(value)),
  );
}

/** A server as it stands in Trunkline's own configuration. */
interface OwnServer {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly oauth?: { readonly clientSecret?: string };
}

/** What became of a server of another program. */
interface ReadServer {
  /** Undefined if it cannot be taken over. */
  readonly server?: OwnServer;
  /** Why not. */
  readonly problem?: string;
  /** Fields that have no counterpart, and variables that have to be set by hand. */
  readonly leftOut: readonly string[];
  /** Fields that are secrets, by their names: `env.GITHUB_TOKEN`. */
  readonly secrets: readonly string[];
}

/** Fields that are taken over, of a program and of an address, and those that both have. */
const COMMAND_FIELDS = ["command", "args", "env", "cwd", "envFile"];
const ADDRESS_FIELDS = ["type", "url", "headers", "headersHelper", "oauth"];
const COMMON_FIELDS = ["timeout", "autoApprove", "include", "exclude"];

/** Fields whose absence changes nothing. */
const NEEDLESS = new Set(["name", "type", "disabled", "description", "bundled", "display_name"]);

/** What refers to a value in other programs and means nothing here, such as `${cmd: …}`. */
const FOREIGN = /\$\{(?!(?:env:|input:|keychain:)?[\w.-]+(?::-[^}]*)?\})[^}]*\}/;

/** Reads a server in any of the forms that programs have. Gemini has `$NAME` anywhere in a text. */
function readServer(foreign: unknown, isGemini: boolean): ReadServer {
  if (!isObject(foreign)) return unfit("it is not an object");
  const entry = JSON.parse(JSON.stringify(foreign), (_, value: unknown) =>
    typeof value === "string" ? withOwnReferences(value, isGemini) : value,
  ) as Readonly<Record<string, unknown>>;
  if (entry.disabled === true || entry.enabled === false) return unfit("it is switched off");
  const { lost } = foreignKeys(entry);
  if (lost.length > 0) return unfit(`Trunkline cannot keep what '${lost.join("', '")}' switch off`);
  const leftOut: string[] = [];
  const whole = pastedServer(entry, [], ([key = ""]) => leftOut.push(String(key)));
  const { command, args = [], url } = whole;
  if (command === undefined && url === undefined) return unfit("it is built into that program");
  const words = [command ?? url, args].flat().filter((word) => typeof word === "string");
  const variable = words.find((word) => FOREIGN.test(word));
  if (variable !== undefined)
    return unfit(`it uses '${variable}', which Trunkline does not expand`);
  if (command === undefined && !/^(?:https?:\/\/|\$\{)/.test(String(url))) {
    return unfit(`'${maskText(String(url))}' is not an HTTP address`);
  }
  const own = command === undefined ? ADDRESS_FIELDS : COMMAND_FIELDS;
  const taken: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(whole)) {
    if (![...own, ...COMMON_FIELDS].includes(field)) leftOut.push(field);
    else if (isObject(value)) taken[field] = withoutForeign(field, value, leftOut);
    else if (field === "envFile") taken[field] = fromProject(String(value));
    else if (field !== "type" || value === "sse") taken[field] = value;
  }
  const server = filled(taken) as OwnServer;
  const problem = checkConfigFile({ mcpServers: { it: server } });
  if (problem !== undefined)
    return unfit(describeProblem("", { ...problem, path: problem.path.slice(2) }));
  return {
    server,
    leftOut: leftOut.filter((field) => !NEEDLESS.has(field)),
    secrets: secretsIn(server),
  };
}

/** The members of a field that mean the same here. */
function withoutForeign(
  field: string,
  members: Readonly<Record<string, unknown>>,
  leftOut: string[],
): Readonly<Record<string, unknown>> {
  const isKept = ([name, value]: readonly [string, unknown]): boolean =>
    field === "oauth" ? LOGIN.has(name) : !FOREIGN.test(String(value));
  const all = Object.entries(members);
  leftOut.push(...all.filter((each) => !isKept(each)).map(([name]) => `${field}.${name}`));
  return Object.fromEntries(all.filter(isKept));
}

/** Which fields of a server are secrets, by their names. */
function secretsIn({ args = [], env, headers, oauth, url = "" }: OwnServer): string[] {
  // A flag says of the next word that it is a secret.
  const visible = args.flatMap((word, at) => {
    const both = `${args[at - 1] ?? ""} ${word}`;
    return maskText(word) !== word || !maskText(both).endsWith(` ${word}`) ? [`args[${at}]`] : [];
  });
  const login = oauth?.clientSecret?.includes("${") === false ? ["oauth.clientSecret"] : [];
  const address = maskText(url) === url ? [] : ["url"];
  return [
    ...[...secretPairs("env", env), ...visible],
    ...[...secretPairs("headers", headers), ...login, ...address],
  ];
}

function secretPairs(field: string, pairs: Readonly<Record<string, string>> = {}): string[] {
  const found = Object.entries(pairs).filter(([key, text]) => {
    const isSecret = isSecretName(key, text) || maskText(text) !== text || /key$/i.test(key);
    return text !== "" && !text.includes("${") && isSecret;
  });
  return found.map(([key]) => `${field}.${key}`);
}

function listAt(entry: Readonly<Record<string, unknown>>, name: string): string[] {
  const value = entry[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** The members of a login that have the same names here. */
const LOGIN = new Set(["clientId", "clientSecret", "scopes", "callbackPort"]);

/** Other programs start their servers in the project's folder, so a relative path is relative to that. */
function fromProject(path: string): string {
  return /^(?:\/|~|\$\{|[A-Za-z]:)/.test(path) ? path : `\${workspaceFolder}/${path}`;
}

function unfit(problem: string): ReadServer {
  return { problem, leftOut: [], secrets: [] };
}
