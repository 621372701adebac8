import { TrunklineError } from "../base/errors.ts";
import { type OpenedTools, openTools } from "../gateway/open-tools.ts";
import type { Invocation } from "./command.ts";
import { diffLines } from "./diff-lines.ts";
import { printable } from "./printable.ts";
import { quietHouse } from "./quiet-house.ts";
import { untilKnown } from "./until-known.ts";

type Approvals = NonNullable<OpenedTools["approvals"]>;
type Pending = ReturnType<Approvals["pending"]>[number];

/** `trunkline tools diff [NAME]` */
export async function diff(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  await using opened = await open(invocation);
  const [name] = positionals;
  const pending = opened.approvals?.pending() ?? [];
  const wanted = name === undefined ? pending : find(opened, pending, name);
  if (name !== undefined && wanted.length === 0) mustBeOffered(opened, name);
  if (values.json) out(`${JSON.stringify({ held: wanted }, null, 2)}\n`);
  else if (wanted.length > 0) out(wanted.map((each) => show(each, invocation.color)).join("\n"));
  else err(name === undefined ? "Nothing is held.\n" : `'${name}' is as it was approved.\n`);
  return 0;
}

/** `trunkline tools approve NAME…|--all` */
export async function approve(
  invocation: Invocation<{ readonly json?: boolean; readonly all?: boolean }>,
): Promise<number> {
  const { values, positionals, out, err } = invocation;
  if (values.all === true && positionals.length > 0) {
    throw new TrunklineError("usage", "Name the tools to approve, or say --all, not both");
  }
  await using opened = await open(invocation);
  const pending = opened.approvals?.pending() ?? [];
  if (values.all !== true && positionals.length === 0 && pending.length > 0) {
    const names = pending.map(({ server, name }) => printable(`${server}/${name}`)).join(", ");
    throw new TrunklineError("usage", `Name the tools to approve, or say --all. Held: ${names}`);
  }
  const chosen = values.all ? pending : positionals.map((name) => choose(opened, pending, name));
  // Where one of them cannot be approved, none is.
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

/** With what the servers offer now, as far as they can be reached. */
async function open(invocation: Invocation): Promise<OpenedTools> {
  const opened = await openTools(await quietHouse(invocation), { needsApprovals: true });
  await untilKnown(opened, invocation.err);
  return opened;
}

/** A tool by its name here, by its name there, or by `SERVER/NAME`. */
function find({ offer }: OpenedTools, pending: readonly Pending[], name: string): Pending[] {
  const here = offer.tools.held().find(({ tool }) => tool.definition.name === name)?.source;
  const isHere = (each: Pending): boolean =>
    each.server === here?.server && each.name === here.name;
  const known = pending.filter(isHere);
  if (known.length > 0) return known;
  return pending.filter((each) => each.name === name || `${each.server}/${each.name}` === name);
}

function choose(opened: OpenedTools, pending: readonly Pending[], name: string): Pending {
  const [found, ...others] = find(opened, pending, name);
  if (found === undefined) {
    mustBeOffered(opened, name);
    throw new TrunklineError("not-found", `Cannot approve '${name}': it is not held`);
  }
  if (others.length === 0) return found;
  const names = [found, ...others].map((each) => `${each.server}/${each.name}`).join(", ");
  throw new TrunklineError("usage", `Several servers have a tool '${name}'. Say which: ${names}`);
}

function mustBeOffered({ offer }: OpenedTools, name: string): void {
  const isOffered = offer.tools.list().some(({ definition, source }) => {
    return [definition.name, `${source?.server}/${source?.name}`].includes(name);
  });
  if (isOffered) return;
  const next = "`trunkline tools list` shows what there is.";
  throw new TrunklineError("not-found", `There is no tool '${printable(name)}'. ${next}`);
}

function labelOf({ server, name, now }: Pending): string {
  return printable(`'${name}' of '${server}' (${now.fingerprint.slice(0, 12)})`);
}

function show(pending: Pending, color: boolean): string {
  const { before, now, why } = pending;
  const paint = (line: string): string => {
    if (!color || line.startsWith(" ")) return line;
    return `\x1b[${line.startsWith("+") ? 32 : 31}m${line}\x1b[39m`;
  };
  const state = why === "new" ? "is new" : "has changed";
  const lines =
    now.described === undefined || (why === "changed" && before?.described === undefined)
      ? ["  (its description is too long to be kept and shown)"]
      : diffLines(linesOf(before?.described), linesOf(now.described)).map(paint);
  return `${labelOf(pending)} ${state}:\n${lines.join("\n")}\n`;
}

/** Texts as they are read, line by line; all else as JSON. */
function linesOf(described: object | undefined): string[] {
  return Object.entries(described ?? {}).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return printable(`${key}: ${text}`).split("\n");
  });
}
