import { resolve } from "node:path";

import { budgetShares } from "../../base/limit/budget.ts";
import { TrunklineError } from "../../base/errors.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import { SessionCommands, type SessionEntry } from "../../session/open/session-commands.ts";
import { exportedEvents } from "../../session/turn/exported-events.ts";
import { SessionWorktrees } from "../../session/open/session-worktrees.ts";
import { subjectOf, subjectWords } from "../../session/permission/subject.ts";
import type { Invocation } from "../shell/command.ts";
import { maskAll, maskWhole } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { sessionTable, SessionText } from "./session-text.ts";

type Printing = { readonly json?: boolean };

interface ListValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly folder?: string;
  readonly agent?: readonly string[];
  readonly "all-agents"?: boolean;
  readonly json?: boolean;
}

/** `trunkline session list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, cwd, env, out, err, edge } = invocation;
  const app = await openQuietApp(invocation);
  await using commands = await SessionCommands.open(app.config.data);
  const folder = values.folder === undefined ? undefined : resolve(cwd, values.folder);
  const sessions = await commands.list(folder);
  const states = await commands.worktrees(sessions, env);
  const shown = sessions.map((one) => ({ ...one, worktree: states.get(one.id) }));
  const agents = values["all-agents"] === true ? undefined : (values.agent ?? []);
  const foreign =
    agents?.length === 0
      ? undefined
      : await import("./foreign.ts").then(async ({ foreignSessions, foreignTable }) => {
          const found = await foreignSessions(app, agents, folder, err);
          return { found, text: found.length === 0 ? "" : foreignTable(found) };
        });
  if (values.json === true) {
    const theirs = foreign === undefined ? {} : { ofAgents: foreign.found };
    out(`${JSON.stringify({ sessions: shown, ...theirs }, null, 2)}\n`);
    return 0;
  }
  if (sessions.length > 0) {
    const { withState } = await import("./session-state.ts");
    const table = shown.map(async (one) => ({ ...one, ...(await withState(one)) }));
    out(sessionTable(await Promise.all(table), edge));
  } else err("There are no sessions. An editor that runs `trunkline acp` starts one.\n");
  if (foreign !== undefined) out(`\n${foreign.text || "Agents have no other sessions.\n"}`);
  return 0;
}

/** `trunkline session show ID` */
export async function show(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out } = invocation;
  const { config } = await openQuietApp(invocation);
  await using commands = await SessionCommands.open(config.data);
  const session = await commands.find(positionals[0] ?? "");
  const used = await commands.used(session.id);
  const { budget = {} } = config.sessions;
  let events = 0;
  let turns = 0;
  let last: string | undefined;
  for await (const { event } of commands.events(session.id)) {
    events++;
    if (event.kind === "prompt" && event.steers !== true) turns++;
    if (event.kind === "prompt") last = "running or interrupted";
    if (event.kind === "end") last = event.stopReason;
  }
  if (values.json === true) {
    const shown = { ...session, events, turns, lastTurn: last, used, budget };
    out(`${JSON.stringify(shown, null, 2)}\n`);
    return 0;
  }
  const rows = [
    ["id", session.id],
    ["title", session.title ?? ""],
    ["folder", session.cwd],
    ["agent", session.agent],
    ["started", new Date(session.created).toISOString()],
    ["last used", new Date(session.updated).toISOString()],
    ["open", session.isHeld ? "yes" : "no"],
    ["forked from", session.parent ?? ""],
    ["turns", String(turns)],
    ["last turn", last ?? ""],
    ["events", String(events)],
    ["used", budgetShares(budget, used).join(", ")],
  ] as const;
  for (const [name, value] of rows) {
    if (value !== "") out(`${name.padEnd(12)} ${visibleLine(value)}\n`);
  }
  return 0;
}

/** `trunkline session replay ID` */
export async function replay(
  invocation: Invocation<Printing & { readonly after?: string }>,
): Promise<number> {
  const { values, positionals, out, color } = invocation;
  const after = numberOf(values.after, "--after");
  await using commands = await open(invocation);
  const { id } = await commands.find(positionals[0] ?? "");
  const text = new SessionText(color);
  for await (const entry of commands.events(id, after)) {
    out(values.json === true ? `${JSON.stringify(entry)}\n` : text.event(entry));
  }
  return 0;
}

/** `trunkline session export ID` */
export async function exportSession(
  invocation: Invocation<{ readonly format?: string; readonly patch?: boolean }>,
): Promise<number> {
  const { values, positionals, out, data } = invocation;
  await using commands = await open(invocation);
  const session = await commands.find(positionals[0] ?? "");
  if (values.patch === true) {
    data(await commands.patch(session));
    return 0;
  }
  const events: SessionEntry[] = await Array.fromAsync(exportedEvents(commands.events(session.id)));
  if (values.format !== "markdown") {
    out(`${JSON.stringify({ session: maskAll(session), events }, null, 2)}\n`);
    return 0;
  }
  out(`# ${visibleLine(maskWhole(session.title ?? session.id))}\n`);
  const text = new SessionText(false);
  for (const entry of events) {
    const said = text.event(entry);
    // Markdown: a quotation continues until an empty line.
    out(entry.event.kind === "prompt" ? `\n${said}\n` : said);
  }
  return 0;
}

/** `trunkline session delete ID…` */
export async function remove(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out } = invocation;
  const app = await openQuietApp(invocation);
  await using commands = await SessionCommands.open(app.config.data);
  await using runs = new LazyRuns(app);
  const worktrees = new SessionWorktrees(app.config, invocation.env);
  const deleted: string[] = [];
  const branches: Record<string, string> = {};
  for (const name of positionals) {
    const { id, notes } = await commands.find(name);
    const kept = await commands.delete(id, worktrees);
    if (notes.run !== undefined) await runs.remove(notes.run);
    deleted.push(id);
    if (kept !== undefined) branches[id] = kept;
    const says = kept === undefined ? "" : ` Its work is on the branch ${visibleLine(kept)}.`;
    if (values.json !== true) out(`Deleted ${id}.${says}\n`);
  }
  if (values.json === true) out(`${JSON.stringify({ deleted, branches }, null, 2)}\n`);
  return 0;
}

/** `trunkline session permissions` */
export async function permissions(
  invocation: Invocation<Printing & { readonly folder?: string; readonly revoke?: string }>,
): Promise<number> {
  const { values, cwd, out, err } = invocation;
  await using commands = await open(invocation);
  if (values.revoke !== undefined) {
    const id = numberOf(values.revoke, "--revoke");
    if (!(await commands.revoke(id))) {
      throw new TrunklineError(
        "not-found",
        `Cannot revoke permission '${id}': no such permission. ${LIST_RULES}`,
      );
    }
    if (values.json === true) out(`${JSON.stringify({ revoked: id })}\n`);
    else out(`Revoked permission ${id}. Agents will ask again.\n`);
    return 0;
  }
  const folder = values.folder === undefined ? undefined : resolve(cwd, values.folder);
  const rules = (await commands.rules.list(folder)).map((rule) => {
    return { ...rule, subject: subjectOf(rule.subject) };
  });
  if (values.json === true) out(`${JSON.stringify({ permissions: rules }, null, 2)}\n`);
  else if (rules.length === 0) err("There are no lasting permissions.\n");
  for (const { id, decision, subject, workspace, by } of values.json === true ? [] : rules) {
    const said = `${decision.padEnd(6)}  ${visibleLine(subjectWords(subject))}`;
    out(`${String(id).padStart(4)}  ${said}  in ${visibleLine(workspace)} (${visibleLine(by)})\n`);
  }
  return 0;
}

const LIST_RULES = "`trunkline session permissions` lists them.";

async function open(invocation: Invocation): Promise<SessionCommands> {
  const { config } = await openQuietApp(invocation);
  return SessionCommands.open(config.data);
}

function numberOf(text: string | undefined, option: string): number {
  if (text === undefined) return 0;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0 && text !== "") return number;
  throw new TrunklineError("usage", `Cannot use '${text}' for ${option}: give a whole number.`);
}
