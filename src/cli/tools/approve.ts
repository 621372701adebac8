import { TrunklineError } from "../../base/errors.ts";
import { type OpenedTools, openTools } from "../../app/tool/open-tools.ts";
import { INSTRUCTIONS_NAME } from "../../tool/offer/server-instructions.ts";
import type { Seen } from "../../store/approval/approval.ts";
import type { Invocation } from "../shell/command.ts";
import { diffLines } from "../../base/text/diff-lines.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { paint } from "../shell/style.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { untilKnown } from "./tools.ts";

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

/** `trunkline tools diff [NAME]` */
export async function diff(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  await using opened = await open(invocation);
  const [name] = positionals;
  const all = candidates(opened);
  const held = (name === undefined ? all : find(all, name)).filter(({ why }) => why !== undefined);
  if (name !== undefined && held.length === 0 && find(all, name).length === 0) throw unknown(name);
  if (values.json) out(`${JSON.stringify({ held: held.map(facts) }, null, 2)}\n`);
  else if (held.length > 0) out(held.map((each) => show(each, invocation.color)).join("\n"));
  else
    err(
      name === undefined
        ? "Nothing is held.\n"
        : `'${name}' has not changed since it was approved.\n`,
    );
  return 0;
}

/** `trunkline tools approve NAME…|--all|--server SERVER` */
export async function approve(
  invocation: Invocation<{
    readonly json?: boolean;
    readonly all?: boolean;
    readonly server?: string;
  }>,
): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const ways = [positionals.length > 0, values.all === true, values.server !== undefined];
  if (ways.filter(Boolean).length > 1) {
    throw new TrunklineError(
      "usage",
      "Cannot approve: give tools, --all or --server, and only one of these",
    );
  }
  await using opened = await open(invocation);
  const all = candidates(opened);
  const held = all.filter(({ why }) => why !== undefined);
  if (!ways.some(Boolean) && held.length > 0) {
    const names = held.map(({ server, name }) => visibleLine(`${server}/${name}`)).join(", ");
    throw new TrunklineError(
      "usage",
      `Cannot approve without a choice: name tools, or give --all. Held: ${names}`,
    );
  }
  const chosen =
    values.server !== undefined
      ? ofServer(all, values.server)
      : values.all === true
        ? held
        : positionals.map((name) => choose(all, name));
  // `choose` has thrown for an unknown name, so either all of them are approved or none.
  for (const { server, name } of chosen) await opened.approvals?.approve(server, name);
  if (values.json) {
    const approved = chosen.map(({ server, name, now }) => {
      return { server, name, fingerprint: now.fingerprint };
    });
    out(`${JSON.stringify({ approved }, null, 2)}\n`);
    return 0;
  }
  for (const each of chosen) out(`Approved ${labelOf(each)}.\n`);
  if (chosen.length === 0) err("Nothing is held.\n");
  return 0;
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
  for (const { definition, source } of tools.list()) {
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
  throw new TrunklineError(
    "usage",
    `Cannot approve '${name}': several servers have it. Choose one: ${names}`,
  );
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
  const next = "`trunkline tools list` lists the tools.";
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
  const colored = (line: string): string => {
    if (line.startsWith(" ")) return line;
    return paint(line.startsWith("+") ? "green" : "red", line, color);
  };
  const states = {
    new: "is new",
    changed: "has changed",
    lookalike: `looks like '${visibleLine(like)}'`,
  };
  const lines =
    now.described === undefined || (why === "changed" && before?.described === undefined)
      ? ["  (its description is too long to be stored and shown)"]
      : diffLines(linesOf(before?.described), linesOf(now.described)).map(colored);
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
