import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import { type OpenedTools, openTools } from "../../app/tool/open-tools.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { TERMINAL, TerminalCaller } from "./terminal-caller.ts";
import { confirm } from "../shell/ask.ts";
import type { Profile } from "../../tool/profile/profile.ts";
import type { Tool } from "../../tool/tool.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { firstLine } from "../shell/layout.ts";
import { paint } from "../shell/style.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { printResult, readArguments } from "./tool-result.ts";

/** Source of the built-in tools, which come from no server. */
const OURS = "trunkline";

interface Row {
  readonly name: string;
  readonly source: string;
  readonly says: string;
  /** Why it is not offered. */
  readonly mark: string;
}

/** `trunkline tools list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, out, err } = invocation;
  await using opened = await openTools(await openQuietApp(invocation));
  const profile = profileNamed(opened.offer, values.profile);
  await untilKnown(opened, err);
  if (values.cost === true) {
    const { printCost } = await import("./cost.ts");
    return printCost(invocation, opened.offer, profile);
  }
  if (values.json) {
    out(`${JSON.stringify(asJson(opened, profile), null, 2)}\n`);
    return 0;
  }
  const rows = rowsOf(opened, profile);
  if (rows.length === 0)
    err("There are no tools. Add MCP servers to `mcpServers` in the configuration.\n");
  else out(table(rows, invocation));
  for (const { why } of opened.offer.missing()) err(`${visibleLine(why)}\n`);
  for (const { name, noTools } of opened.status()) {
    if (noTools !== undefined)
      err(`MCP server '${visibleLine(name)}' has no tools: ${visibleLine(noTools)}.\n`);
  }
  const held = opened.offer.tools.held().length + opened.offer.instructions.held().length;
  if (held > 0) err(`${held} held: check them with \`trunkline tools diff\`.\n`);
  return 0;
}

interface ListValues {
  readonly [name: string]: string | boolean | undefined;
  readonly json?: boolean;
  readonly cost?: boolean;
  readonly profile?: string;
}

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
export async function untilKnown(
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
    ...tools.list().map((tool) => rowOf(tool, allowed.has(tool) ? "" : "(denied) ")),
    ...tools.held().map(({ tool, why, like = "" }) => {
      return rowOf(
        tool,
        why === "lookalike" ? `(held: like ${visibleLine(like)}) ` : `(held: ${why}) `,
      );
    }),
  ];
}

function rowOf({ definition, source, bringer = OURS }: Tool, mark: string): Row {
  const { name, title, description } = definition;
  const says = firstLine([title, description].find((text) => typeof text === "string") ?? "");
  return { name: visibleLine(name), source: visibleLine(source?.server ?? bringer), says, mark };
}

function asJson(opened: OpenedTools, profile: Profile | undefined): object {
  const { tools } = opened.offer;
  const all = profile === undefined ? tools.list() : tools.listFor({ caller: TERMINAL, profile });
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

function table(rows: readonly Row[], { color, isTerminal, width }: Invocation): string {
  const widest = (pick: (row: Row) => string): number =>
    Math.max(...rows.map((row) => pick(row).length));
  const names = widest(({ name }) => name);
  const sources = widest(({ source }) => source);
  const lines = rows.map(({ name, source, says, mark }) => {
    const whole = `${name.padEnd(names)}  ${source.padEnd(sources)}  ${mark}${says}`.trimEnd();
    const line = isTerminal && whole.length > width ? `${whole.slice(0, width - 1)}…` : whole;
    return paint("yellow", line, color && mark !== "");
  });
  return `${lines.join("\n")}\n`;
}

/** `trunkline tools call NAME` */
export async function call(
  invocation: Invocation<{ readonly args: string; readonly json?: boolean }>,
): Promise<number> {
  const { values, positionals, err, cwd } = invocation;
  const [name = ""] = positionals;
  const args = await readArguments(values.args);
  await using opened = await openTools(await openQuietApp(invocation));
  const stop = new AbortController();
  const signalled = untilSignal().then(() => {
    stop.abort();
    throw new TrunklineError("cancelled", `The call of '${name}' was cancelled`);
  });
  const caller = new TerminalCaller({
    folder: cwd,
    signal: stop.signal,
    tell: (line) => err(`${line}\n`),
    confirm: process.stdin.isTTY && values.args !== "-" ? confirm : undefined,
  });
  const { tools } = opened.offer;
  const isThere = (): boolean =>
    tools.get(name) !== undefined || tools.held().some(({ tool }) => tool.definition.name === name);
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
  const near = suggest(
    name,
    offer.tools.list().map(({ definition }) => definition.name),
  );
  const next =
    near.length > 0
      ? `Did you mean ${near.map((word) => `'${word}'`).join(" or ")}?`
      : "`trunkline tools list` lists them.";
  const missing = offer.missing().map(({ why }) => ` ${visibleLine(why)}.`);
  const says = `There is no tool '${visibleLine(name)}'. ${next}${missing.join("")}`;
  return new TrunklineError("not-found", says);
}
