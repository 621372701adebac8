import { text as readAll } from "node:stream/consumers";
import { TrunklineError } from "../../base/errors.ts";
import { diffLines } from "../../base/text/diff-lines.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type OpenedTools, openTools } from "../../app/tool/open-tools.ts";
import type { Seen } from "../../store/schema.gen.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { INSTRUCTIONS_NAME } from "../../tool/offer/server-instructions.ts";
import type { Profile } from "../../tool/profile/profile.ts";
import {
  resultText,
  type Tool,
  type ToolResult,
  type Caller,
  CannotAsk,
  type Question,
  type ToolContext,
} from "../../tool/tool.ts";
import { confirm } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { firstLine, linesText, paint, print } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { OWNER } from "../../base/principal.ts";

/** Source of the built-in tools, which come from no server. */
const OURS = "trunkline";

interface Row {
  readonly name: string;
  readonly heading: string;
  readonly says: string;
  /** Why it is not offered. */
  readonly mark: string;
}

/** `trunkline tool list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, err } = invocation;
  await using opened = await openTools(await openQuietApp(invocation));
  const profile = profileNamed(opened.offer, values.profile);
  await untilKnown(opened, err);
  const rows = rowsOf(opened, profile);
  const none = "There are no tools. Add MCP servers to `mcpServers` in the configuration.";
  const notes = rows.length === 0 ? [none] : [];
  notes.push(...opened.offer.missing().map(({ why }) => visibleLine(why)));
  for (const { name, noTools } of opened.status()) {
    if (noTools === undefined) continue;
    notes.push(`MCP server '${visibleLine(name)}' has no tools: ${visibleLine(noTools)}.`);
  }
  const held = opened.offer.tools.held().length + opened.offer.instructions.held().length;
  if (held > 0) notes.push(`${held} held: check them with \`trunkline tool diff\`.`);
  const text = rows.length === 0 ? "" : table(rows, invocation);
  return print(invocation, asJson(opened, profile), text, { notes });
}

type ListValues = OptionValues<"profile">;

function profileNamed({ profiles }: OpenedTools["offer"], name?: string): Profile | undefined {
  if (name === undefined) return undefined;
  const found = profiles?.get(name);
  if (found !== undefined) return found;
  const there = `Profiles in the configuration: ${profiles?.names.join(", ") || "none"}.`;
  throw new TrunklineError("usage", `There is no profile '${visibleLine(name)}'. ${there}`);
}

/**
 * Waits until all servers have listed their tools, or have failed to. A person can wait longer than
 * an assistant, which gives up on a list after some seconds; `tell` says which servers are slow.
 */
async function untilKnown(
  { offer }: Pick<OpenedTools, "offer">,
  tell: (line: string) => void,
): Promise<void> {
  await offer.known();
  let arrival = offer.arrival();
  if (arrival !== undefined) {
    for (const { why } of offer.missing()) tell(`Waiting: ${visibleLine(why)}.\n`);
  }
  for (; arrival !== undefined; arrival = offer.arrival()) await arrival;
}

function rowsOf({ offer: { tools } }: OpenedTools, profile: Profile | undefined): Row[] {
  if (profile !== undefined) {
    return tools.listFor({ caller: TERMINAL, profile }).map((tool) => rowOf(tool, ""));
  }
  const allowed = new Set(tools.listFor({ caller: TERMINAL }));
  return [
    ...tools.list(OWNER).map((tool) => rowOf(tool, allowed.has(tool) ? "" : "(denied) ")),
    ...tools.held().map(({ tool, why, like = "" }) => {
      return rowOf(
        tool,
        why === "lookalike" ? `(held: like ${visibleLine(like)}) ` : `(held: ${why}) `,
      );
    }),
  ];
}

function rowOf({ definition, source, bringer, purpose }: Tool, mark: string): Row {
  const { name, title, description } = definition;
  const says = firstLine([title, description].find((text) => typeof text === "string") ?? "");
  const heading = source?.server ?? bringer ?? purpose ?? OURS;
  return { name: visibleLine(name), heading: visibleLine(heading), says, mark };
}

function asJson(opened: OpenedTools, profile: Profile | undefined): object {
  const { tools } = opened.offer;
  const all =
    profile === undefined ? tools.list(OWNER) : tools.listFor({ caller: TERMINAL, profile });
  return {
    tools: all.map(({ definition, source, bringer = OURS }) => ({
      ...definition,
      source: source?.server ?? bringer,
    })),
    held: tools
      .held()
      .map(({ tool, source, ...why }) => ({ ...tool.definition, source: source.server, ...why })),
    servers: opened.status(),
  };
}

/** Our own tools by what they are for, then those of each server and plugin. */
function table(rows: readonly Row[], { color, isTerminal, width }: Invocation): string {
  const names = Math.max(...rows.map(({ name }) => name.length));
  const lineOf = ({ name, says, mark }: Row): string => {
    const whole = `  ${name.padEnd(names)}  ${mark}${says}`.trimEnd();
    const line = isTerminal && whole.length > width ? `${whole.slice(0, width - 1)}…` : whole;
    return paint("yellow", line, color && mark !== "");
  };
  const groups = Map.groupBy(rows, ({ heading }) => heading);
  const texts = [...groups].map(([heading, list]) =>
    [paint("bold", `${heading}:`, color), ...list.map(lineOf)].join("\n"),
  );
  return `${texts.join("\n\n")}\n`;
}

/** `trunkline tool call NAME` */
export async function call(invocation: Invocation<{ readonly args: string }>): Promise<number> {
  const { values, positionals, err, cwd } = invocation;
  const [name = ""] = positionals;
  const args = await readArguments(values.args);
  await using opened = await openTools(await openQuietApp(invocation));
  const stop = new AbortController();
  const signalled = untilSignal().then(() => {
    stop.abort();
    throw new TrunklineError("cancelled", `The call of '${name}' was cancelled`);
  });
  const caller = terminalContext({
    folder: cwd,
    signal: stop.signal,
    tell: (line) => err(`${line}\n`),
    confirm: process.stdin.isTTY && values.args !== "-" ? confirm : undefined,
  });
  const { tools } = opened.offer;
  const isThere = (): boolean =>
    tools.get(name, undefined, OWNER) !== undefined ||
    tools.held().some(({ tool }) => tool.definition.name === name);
  // An unknown name is called as well, so that the audit has it; only its error is replaced.
  const result = await Promise.race([
    (async () => tools.call(name, args, caller))().catch((error: unknown) => {
      throw isThere() ? failureOf(error) : unknownTool(name, opened.offer);
    }),
    signalled,
  ]);
  return printResult(invocation, result);
}

/** An error of another server is not reported as a bug of Trunkline. */
function failureOf(error: unknown): unknown {
  const isForeign = error instanceof Error && ["ToolFault", "CannotAsk"].includes(error.name);
  return isForeign ? new TrunklineError("unavailable", error.message, { cause: error }) : error;
}

function unknownTool(name: string, offer: OpenedTools["offer"]): TrunklineError {
  const names = offer.tools.list(OWNER).map(({ definition }) => definition.name);
  const near = suggest(name, names);
  const next =
    near.length > 0
      ? `Did you mean ${near.map((word) => `'${word}'`).join(" or ")}?`
      : "`trunkline tool list` lists them.";
  const missing = offer.missing().map(({ why }) => ` ${visibleLine(why)}.`);
  const says = `There is no tool '${visibleLine(name)}'. ${next}${missing.join("")}`;
  return new TrunklineError("not-found", says);
}

/** A tool of another server, as it was last seen. */
interface Candidate {
  readonly server: string;
  readonly name: string;
  /** Its name in the offer, if the server is reachable. */
  readonly here?: string;
  /** Why it is held; undefined if it is offered. */
  readonly why?: "new" | "changed" | "lookalike";
  readonly like?: string;
  readonly before?: Seen | undefined;
  readonly now: Seen;
}

/** `trunkline tool diff [NAME]` */
export async function diff(invocation: Invocation): Promise<number> {
  await using opened = await open(invocation);
  const [name] = invocation.positionals;
  const all = candidates(opened);
  const held = (name === undefined ? all : find(all, name)).filter(({ why }) => why !== undefined);
  const changed = changedTools(opened.offer, name);
  if (name !== undefined && [...changed, ...held, ...find(all, name)].length === 0) {
    throw unknown(name);
  }
  const none = name === undefined ? NONE_HELD : `'${name}' has not changed since it was approved.`;
  const text = [
    ...held.map((each) => show(each, invocation.color)),
    ...changed.map(({ profile, suspended, original, shown }) => {
      const says = `'${visibleLine(original.name)}' as the profile '${visibleLine(profile)}' shows it:`;
      const lines = diffLines(linesOf(original), linesOf(shown));
      const all = lines.map((line) => colored(line, invocation.color));
      return [...(suspended === undefined ? [] : [suspended]), says, ...all, ""].join("\n");
    }),
  ].join("\n");
  const notes = held.length === 0 ? [none] : [];
  return print(invocation, { held: held.map(facts), changed }, text, { notes });
}

/** What profiles make of one tool, or of all those that they suspend. */
function changedTools({ tools, profiles }: Offer, name: string | undefined) {
  const all = [...tools.list(OWNER), ...tools.held().map(({ tool }) => tool)];
  return (profiles?.names ?? []).flatMap((profile) => {
    const by = profiles?.get(profile) as Profile;
    return all.flatMap((tool) => {
      const { definition: original, source } = tool;
      const names = [original.name, source?.name, `${source?.server}/${source?.name}`];
      const suspended = by.suspension(tool);
      const isMeant = name === undefined ? suspended !== undefined : names.includes(name);
      if (!isMeant || by.overrideOf(tool) === undefined) return [];
      return [{ profile, suspended, original, shown: by.shown(tool).definition }];
    });
  });
}
function colored(line: string, color: boolean): string {
  if (line.startsWith(" ")) return line;
  return paint(line.startsWith("+") ? "green" : "red", line, color);
}

const NONE_HELD = "Nothing is held.";

/** `trunkline tool approve NAME…|--all|--server SERVER` */
export async function approve(
  invocation: Invocation<OptionValues<"server", "all">>,
): Promise<number> {
  const { values, positionals } = invocation;
  const ways = [positionals.length > 0, values.all === true, values.server !== undefined];
  if (ways.filter(Boolean).length > 1) {
    const says = "Cannot approve: give tools, --all or --server, and only one of these";
    throw new TrunklineError("usage", says);
  }
  await using opened = await open(invocation);
  const all = candidates(opened);
  const held = all.filter(({ why }) => why !== undefined);
  if (!ways.some(Boolean) && held.length > 0) {
    const names = held.map(({ server, name }) => visibleLine(`${server}/${name}`)).join(", ");
    const says = `Cannot approve without a choice: name tools, or give --all. Held: ${names}`;
    throw new TrunklineError("usage", says);
  }
  const chosen =
    values.server !== undefined
      ? ofServer(all, values.server)
      : values.all === true
        ? held
        : positionals.map((name) => choose(all, name));
  // `choose` has thrown for an unknown name, so either all of them are approved or none.
  for (const { server, name } of chosen) await opened.approvals?.approve(server, name);
  const approved = chosen.map(({ server, name, now }) => {
    return { server, name, fingerprint: now.fingerprint };
  });
  const text = linesText(chosen.map((each) => `Approved ${labelOf(each)}.`));
  return print(invocation, { approved }, text, { notes: chosen.length === 0 ? [NONE_HELD] : [] });
}

/** The tools with their approvals, once every reachable server has listed its own. */
async function open(invocation: Invocation): Promise<OpenedTools> {
  const opened = await openTools(await openQuietApp(invocation), { needsApprovals: true });
  await untilKnown(opened, invocation.err);
  return opened;
}

/** What can be approved: held tools, also of unreachable servers, offered tools, and instructions. */
function candidates({ approvals, offer }: OpenedTools): Candidate[] {
  const { tools, instructions } = offer;
  const found = new Map<string, Candidate>();
  const put = ({ server, name }: { server: string; name: string }, more: Partial<Candidate>) => {
    const now = approvals?.last(server, name);
    const key = JSON.stringify([server, name]);
    if (now !== undefined) found.set(key, { now, ...found.get(key), ...more, server, name });
  };
  for (const { server, name, why, before } of approvals?.pending() ?? []) {
    put({ server, name }, { why, before });
  }
  for (const { tool, source, why, like } of tools.held()) {
    put(source, { here: tool.definition.name, why, ...(like === undefined ? {} : { like }) });
  }
  for (const { definition, source } of tools.list(OWNER)) {
    if (source !== undefined) put(source, { here: definition.name });
  }
  for (const { server } of instructions.list()) put({ server, name: INSTRUCTIONS_NAME }, {});
  return [...found.values()];
}

/** A tool by its name in the offer, by its name on its server, or by `SERVER/NAME`. */
function find(all: readonly Candidate[], name: string): readonly Candidate[] {
  const here = all.filter((each) => each.here === name);
  if (here.length > 0) return here;
  return all.filter((each) => each.name === name || `${each.server}/${each.name}` === name);
}

function choose(all: readonly Candidate[], name: string): Candidate {
  const [found, ...others] = find(all, name);
  if (found === undefined) throw unknown(name);
  if (others.length === 0) return found;
  const names = [found, ...others].map((each) => `${each.server}/${each.name}`).join(", ");
  const says = `Cannot approve '${name}': several servers have it. Choose one: ${names}`;
  throw new TrunklineError("usage", says);
}

function ofServer(all: readonly Candidate[], server: string): readonly Candidate[] {
  const found = all.filter((each) => each.server === server);
  if (found.length > 0) return found;
  const servers = [...new Set(all.map((each) => each.server))].map(visibleLine).join(", ");
  const there = servers === "" ? "No server has tools." : `Servers with tools: ${servers}.`;
  const says = `Server '${visibleLine(server)}' has no tools. ${there}`;
  throw new TrunklineError("not-found", says);
}

function unknown(name: string): TrunklineError {
  const next = "`trunkline tool list` lists the tools.";
  const says = `No MCP server has a tool '${visibleLine(name)}'. ${next}`;
  return new TrunklineError("not-found", says);
}

/** A candidate as --json prints it. */
function facts({ server, name, why, like, before, now }: Candidate): object {
  return { server, name, why, like, before, now };
}

function labelOf({ server, name, now }: Candidate): string {
  return visibleLine(`'${name}' of '${server}' (${now.fingerprint.slice(0, 12)})`);
}

function show(candidate: Candidate, color: boolean): string {
  const { before, now, why, like = "" } = candidate;
  const states = {
    new: "is new",
    changed: "has changed",
    lookalike: `looks like '${visibleLine(like)}'`,
  };
  const lines =
    now.described === undefined || (why === "changed" && before?.described === undefined)
      ? ["  (its description is too long to be stored and shown)"]
      : diffLines(linesOf(before?.described), linesOf(now.described)).map((line) => {
          return colored(line, color);
        });
  return `${labelOf(candidate)} ${states[why ?? "new"]}:\n${lines.join("\n")}\n`;
}

/** Texts line by line; everything else as JSON. */
function linesOf(described: object | undefined): string[] {
  return Object.entries(described ?? {}).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return `${key}: ${text}`.split("\n");
  });
}

/** Prints the result of a tool as text, or with --json as it is. An error goes to stderr. */
export function printResult({ values, out, err, data }: Invocation, result: ToolResult): number {
  if (values.json === true) out(`${JSON.stringify(result, null, 2)}\n`);
  else (result.isError === true ? err : data)(`${resultText(result, 2)}\n`);
  return result.isError === true ? 1 : 0;
}

/** The value of `--args`; `-` reads it from stdin. */
export async function readArguments(given: string): Promise<Record<string, unknown>> {
  const text = given === "-" ? await readAll(process.stdin) : given;
  let args: unknown;
  try {
    args = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw new TrunklineError("usage", `Cannot read the arguments: ${message}`, { cause: error });
  }
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    const example = `--args '{"path":"README.md"}'`;
    throw new TrunklineError("usage", `The arguments must be an object, such as ${example}`);
  }
  return args as Record<string, unknown>;
}

interface TerminalOptions {
  /** The folder that the person is in. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** What a tool says while it works. */
  readonly tell: (line: string) => void;
  /** Asks the person for a yes or no. Undefined where nobody is there. */
  readonly confirm?: ((message: string) => Promise<boolean>) | undefined;
}

/** The name of the caller at a terminal, for the policy and the audit. */
export const TERMINAL: Caller = {
  door: "cli",
  name: "terminal",
  principal: OWNER,
  client: "terminal",
};

/** The context of a person who calls a tool from a terminal. */
export function terminalContext({ tell, confirm: asks, ...where }: TerminalOptions): ToolContext {
  /** A yes or no can be asked for; a form with fields cannot. */
  const canAsk = ({ method, params }: Question): boolean => {
    const { requestedSchema, mode } = params ?? {};
    const { properties = {} } = (requestedSchema ?? {}) as { properties?: object };
    const isPlain = mode !== "url" && Object.keys(properties).length === 0;
    return asks !== undefined && method === "elicitation/create" && isPlain;
  };
  return {
    ...where,
    caller: TERMINAL,
    meta: {},
    progress: (done, total, message) => {
      const count = total === undefined ? String(done) : `${done}/${total}`;
      tell(message === undefined ? count : `${count} ${message}`);
    },
    log: (level, data) => {
      if (level === "debug") return;
      tell(`${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`);
    },
    canAsk,
    ask: async (question) => {
      if (asks === undefined || !canAsk(question)) throw new CannotAsk(question);
      const isAllowed = await asks(String(question.params?.message));
      return isAllowed ? { action: "accept", content: {} } : { action: "decline" };
    },
  };
}
