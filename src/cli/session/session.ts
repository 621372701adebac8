import type { SessionRecord } from "../../session/store.ts";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { budgetShares } from "../../base/limit/budget.ts";
import { OWNER } from "../../base/principal.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import type { SessionEntry } from "../../session/event.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
import { exportedEvents } from "../../session/turn/exported-events.ts";
import { SessionWorktrees } from "../../session/open/session-worktrees.ts";
import { subjectOf, subjectWords } from "../../session/permission/permission.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { maskAll, maskWhole } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { AppContext } from "../../config/app-context.ts";
import { LazySessions } from "../../app/session/lazy-sessions.ts";
import type { CommitProgram } from "../../git/commit-programs.ts";
import { isPlan } from "../../run/run-plan.ts";
import { readFacts } from "../../run/workspace/workspace-facts.ts";
import {
  foreignId,
  type ListedForeign,
  readForeignId,
} from "../../session/foreign/foreign-sessions.ts";
import type { LandResult, LandOptions } from "../../worktree/land.ts";
import { confirm } from "../shell/ask.ts";
import { firstLine, linesText, print, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { conversationText } from "../transcript/conversation-text.ts";
import type { WorktreeState } from "../../worktree/branches.ts";

type ListValues = OptionValues<"folder", "all-agents", "agent">;

/** `trunkline session list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, cwd, env, err, edge } = invocation;
  const app = await openQuietApp(invocation);
  await using commands = await SessionCommands.open(app.config.data);
  const folder = values.folder === undefined ? undefined : resolve(cwd, values.folder);
  const sessions = await commands.list(folder);
  const states = await commands.worktrees(sessions, env);
  const away = await commands.moves.away();
  const agents = values["all-agents"] === true ? undefined : (values.agent ?? []);
  const foreign =
    agents?.length === 0 ? undefined : await foreignSessions(app, agents, folder, err);
  const theirs = foreign === undefined ? {} : { ofAgents: foreign };
  const [forText, forJson] = values.json === true ? [[], sessions] : [sessions, []];
  const listed: ListedSession[] = [];
  for (const one of forText) {
    const state = away.has(one.id) ? "moved" : await stateOf(one);
    listed.push({ ...one, worktree: states.get(one.id), state });
  }
  const shown = forJson.map((one) => ({
    ...one,
    worktree: states.get(one.id),
    movedTo: away.get(one.id),
  }));
  const notes =
    sessions.length > 0
      ? []
      : ["There are no sessions. An editor that runs `trunkline acp` starts one."];
  const own = listed.length === 0 ? "" : sessionTable(listed, edge);
  const text = own + (foreign === undefined ? "" : `\n${foreignTable(foreign)}`);
  return print(invocation, { sessions: shown, ...theirs }, text, { notes });
}

/** `trunkline session show ID` */
export async function show(invocation: Invocation): Promise<number> {
  const { positionals } = invocation;
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
  const movedTo = (await commands.moves.away()).get(session.id);
  const shown = { ...session, events, turns, lastTurn: last, used, budget, movedTo };
  const rows = [
    ["id", session.id],
    ["title", session.title ?? ""],
    ...placeRows(session),
    ["agent", session.agent],
    ["started", new Date(session.created).toISOString()],
    ["last used", new Date(session.updated).toISOString()],
    ["open", session.isHeld ? "yes" : "no"],
    ["moved to", movedTo ?? ""],
    ["forked from", session.parent ?? ""],
    ["turns", String(turns)],
    ["last turn", last ?? ""],
    ["events", String(events)],
    ["used", budgetShares(budget, used).join(", ")],
  ];
  return print(invocation, shown, table(rows.filter(([, value]) => value !== "")));
}

/** Where a session works. For a run, its repository and branch: its folder is internal. */
function placeRows({ cwd, notes }: SessionRecord): string[][] {
  if (!isPlan(notes.run)) return [["folder", cwd]];
  const { url, target } = notes.run;
  return [
    ["repository", maskWhole(url)],
    ["branch", target],
  ];
}

/** `trunkline session replay ID` */
export async function replay(invocation: Invocation<OptionValues<"after">>): Promise<number> {
  const { values, positionals, out, color, width } = invocation;
  const after = numberOf(values.after, "--after");
  await using commands = await open(invocation);
  const { id } = await commands.find(positionals[0] ?? "");
  const text = conversationText({ color, width });
  for await (const entry of commands.events(id, after)) {
    out(values.json === true ? `${JSON.stringify(entry)}\n` : text.event(entry));
  }
  out(text.end());
  return 0;
}

/** `trunkline session export ID` */
export async function exportSession(
  invocation: Invocation<OptionValues<"format" | "bundle", "share">>,
): Promise<number> {
  const { values, positionals, out } = invocation;
  if (values.bundle !== undefined) return (await import("./move.ts")).exportBundle(invocation);
  await using commands = await open(invocation);
  const session = await commands.find(positionals[0] ?? "");
  const events: SessionEntry[] = await Array.fromAsync(exportedEvents(commands.events(session.id)));
  if (values.format !== "markdown") {
    out(`${JSON.stringify({ session: maskAll(session), events }, null, 2)}\n`);
    return 0;
  }
  out(`# ${visibleLine(maskWhole(session.title ?? session.id))}\n`);
  const text = conversationText();
  for (const entry of events) {
    const said = text.event(entry);
    // Markdown: a quotation continues until an empty line.
    out(entry.event.kind === "prompt" ? `\n${said}\n` : said);
  }
  return 0;
}

/** `trunkline session delete ID…` */
export async function remove(invocation: Invocation): Promise<number> {
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
  return print(invocation, { deleted, branches }, "");
}

/** `trunkline session permission` */
export async function permissions(
  invocation: Invocation<OptionValues<"folder" | "revoke">>,
): Promise<number> {
  const { values, cwd } = invocation;
  await using commands = await open(invocation);
  if (values.revoke !== undefined) {
    const id = numberOf(values.revoke, "--revoke");
    if (!(await commands.revoke(id))) {
      const says = `Cannot revoke permission '${id}': no such permission. ${LIST_RULES}`;
      throw new TrunklineError("not-found", says);
    }
    const says = `Revoked permission ${id}. Agents will ask again.\n`;
    return print(invocation, { revoked: id }, says);
  }
  const folder = values.folder === undefined ? undefined : resolve(cwd, values.folder);
  const rules = (await commands.rules.list(folder)).map((rule) => {
    return { ...rule, subject: subjectOf(rule.subject) };
  });
  const lines = rules.map(({ id, decision, subject, workspace, by }) => {
    const said = `${decision.padEnd(6)}  ${visibleLine(subjectWords(subject))}`;
    return `${String(id).padStart(4)}  ${said}  in ${visibleLine(workspace)} (${visibleLine(by)})`;
  });
  const notes = rules.length === 0 ? ["There are no lasting permissions."] : [];
  return print(invocation, { permissions: rules }, linesText(lines), { notes });
}

const LIST_RULES = "`trunkline session permission` lists them.";

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

/** The files of a hibernated run are only a commit; those of a closed run are still on disk. */
async function stateOf({ isHeld, notes, cwd }: SessionRecord): Promise<ListedSession["state"]> {
  if (isHeld) return "open";
  if (notes.run === undefined) return "";
  const facts = await readFacts(dirname(cwd)).catch(() => undefined);
  return facts?.isAway === true ? "hibernated" : "closed";
}

type ImportValues = OptionValues<"agent" | "folder", "force">;

/** `trunkline session import SESSION --agent NAME` */
export async function importSession(invocation: Invocation<ImportValues>): Promise<number> {
  const { values, positionals, cwd } = invocation;
  const given = positionals[0] ?? "";
  if (values.agent === undefined && existsSync(resolve(cwd, given))) {
    return (await import("./move.ts")).importBundle(invocation);
  }
  const { agent = values.agent, id: theirs } = readForeignId(given) ?? { id: given };
  if (agent === undefined) {
    const next = "Name it with --agent";
    throw new TrunklineError("usage", `Cannot import '${given}': which agent began it? ${next}.`);
  }
  const id = foreignId({ agent, id: theirs });
  if (id === undefined) {
    throw new TrunklineError("usage", `Cannot import '${given}': no session has such an id.`);
  }
  const app = await openQuietApp(invocation);
  await using lazy = new LazySessions(app);
  const sessions = await lazy.open();
  const listed = await sessions.foreign.list({ agents: [agent], principal: OWNER }).then(
    (list) => list.sessions.find((one) => one.theirs === theirs),
    () => undefined,
  );
  const folder = values.folder === undefined ? listed?.cwd : resolve(cwd, values.folder);
  const session = await sessions.open(id, {
    cwd: folder ?? cwd,
    additionalDirectories: [],
    mcpServers: [],
    isForced: values.force === true,
  });
  if (listed?.title !== undefined) await session.keep({}, { title: listed.title });
  const { last: events } = session;
  await sessions.close(id);
  const says = `Imported as ${id}.\nContinue it: trunkline chat --session ${id}\n`;
  return print(invocation, { session: id, events }, says);
}

/** The sessions that agents began themselves, for `trunkline session list`. */
async function foreignSessions(
  app: AppContext,
  agents: readonly string[] | undefined,
  folder: string | undefined,
  err: (text: string) => void,
): Promise<readonly ListedForeign[]> {
  await using lazy = new LazySessions(app);
  const { foreign } = await lazy.open();
  const { sessions, problems } = await foreign.list({ agents, cwd: folder, principal: OWNER });
  for (const { agent, message } of problems) {
    err(`trunkline: ${visibleLine(agent)}: ${visibleLine(message)}\n`);
  }
  return sessions;
}

/** One line for each, with the command that continues it. */
function foreignTable(sessions: readonly ListedForeign[]): string {
  if (sessions.length === 0) return "Agents have no other sessions.\n";
  const rows = sessions.map(({ agent, theirs, title, updatedAt, cwd }) => {
    const used = (updatedAt ?? "").slice(0, 16).replace("T", " ");
    return [theirs, used, agent, visibleLine(title ?? "").slice(0, 40), cwd];
  });
  const heads = ["ID AT THE AGENT", "LAST USED", "AGENT", "TITLE", "FOLDER"];
  const next = "Continue one with: trunkline session import SESSION --agent NAME";
  return `${table([heads, ...rows])}${next}\n`;
}

type LandValues = OptionValues<"branch" | "into", "merge" | "squash" | "run-changed">;

/** `trunkline session land ID` */
export async function land(invocation: Invocation<LandValues>): Promise<number> {
  const { values, positionals, env } = invocation;
  const wanted = wantedWay(values);
  const { config } = await openQuietApp(invocation);
  await using commands = await SessionCommands.open(config.data);
  const session = await commands.find(positionals[0] ?? "");
  const allow = (changed: readonly CommitProgram[]): Promise<boolean> =>
    allowChanged(changed, values["run-changed"] === true);
  const landed = await commands.land(session, { ...wanted, env, allow });
  return print(invocation, landed, `${wordsOf(landed)}\n`);
}

/** Asks the person to agree to programs that git runs and that have changed since the session began. */
async function allowChanged(
  changed: readonly CommitProgram[],
  isAgreed: boolean,
): Promise<boolean> {
  if (isAgreed) return true;
  const list = changed.map(
    ({ name, command }) => `  ${visibleLine(name)}: ${visibleLine(command)}`,
  );
  const says = `Since the session began, what git runs has changed:\n${list.join("\n")}`;
  if (process.stdin.isTTY) return await confirm(`${says}\nRun it?`);
  const next = "Look at it, and add --run-changed if you agree.";
  throw new TrunklineError("untrusted", `Cannot land the session. ${says}\n${next}`);
}

function wantedWay(values: LandValues): Pick<LandOptions, "how" | "into"> {
  const { merge, squash, branch, into } = values;
  const ways = [merge, squash, branch].filter((way) => way !== undefined);
  if (ways.length > 1 || (branch !== undefined && into !== undefined)) {
    const says = "--merge, --squash and --branch exclude each other, and --branch excludes --into";
    throw new TrunklineError("usage", `Cannot land: ${says}.`);
  }
  if (branch !== undefined) return { how: "branch", into: branch };
  return { how: squash === true ? "squash" : "merge", into };
}

function wordsOf({ how, into, commit, committed }: LandResult): string {
  const name = visibleLine(into);
  const at = commit.slice(0, 12);
  const first = committed ? "Committed what was uncommitted. " : "";
  const says: Readonly<Record<LandResult["how"], string>> = {
    nothing: `There is nothing to land: ${name} has it already.`,
    "fast-forward": `Moved ${name} forward to ${at}.`,
    merge: `Merged into ${name} as ${at}.`,
    squash: `Added to ${name} as one commit, ${at}.`,
    branch: `The branch ${name} is at ${at}.`,
  };
  return first + says[how];
}

const LONGEST_TITLE = 40;
const HEADINGS = ["ID", "LAST USED", "STATE", "AGENT", "BRANCH", "TITLE", "FOLDER"];

function branchText({ branch, commits, uncommitted, isMissing }: WorktreeState): string {
  if (isMissing) return `${branch} (no folder)`;
  const parts = [
    ...(commits === 0 ? [] : [`+${commits}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} changed`]),
  ];
  return parts.length === 0 ? branch : `${branch} (${parts.join(", ")})`;
}

/** A session, with whether it is open, or the state of a run that is not. */
interface ListedSession extends SessionRecord {
  readonly state: "open" | "closed" | "hibernated" | "moved" | "";
  readonly worktree?: WorktreeState | undefined;
}

/** One line per session. */
export function sessionTable(sessions: readonly ListedSession[], edge: number): string {
  // The repository of a remote run; its folder, in the data folder, says nothing to a person.
  const rows = sessions.map(({ id, agent, title, updated, cwd, state, worktree, notes }) => [
    // Ids of sessions that agents began themselves all begin alike.
    readForeignId(id) === undefined ? id.slice(0, 8) : id,
    new Date(updated).toISOString().slice(0, 16).replace("T", " "),
    state,
    agent,
    worktree === undefined ? "" : branchText(worktree),
    firstLine(title ?? "(no prompt yet)").slice(0, LONGEST_TITLE),
    (notes.run as { readonly url?: string } | undefined)?.url ?? cwd,
  ]);
  // Most people have no session with a work tree, and no remote run.
  const used = HEADINGS.map((_, at) => rows.some((row) => row[at] !== ""));
  const shown = [HEADINGS, ...rows].map((row) => row.filter((_, at) => used[at]));
  return table(shown, Math.max(edge, 80));
}
