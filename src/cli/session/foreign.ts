import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { OWNER } from "../../base/principal.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { AppContext } from "../../gateway/app-context.ts";
import { LazySessions } from "../../app/session/lazy-sessions.ts";
import { foreignId, readForeignId } from "../../session/foreign/foreign-id.ts";
import type { ListedForeign } from "../../session/foreign/foreign-sessions.ts";
import type { Sessions } from "../../session/sessions.ts";
import type { Invocation } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";

interface ImportValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly agent?: string;
  readonly folder?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `trunkline session import SESSION --agent NAME` */
export async function importSession(invocation: Invocation<ImportValues>): Promise<number> {
  const { values, positionals, cwd, out } = invocation;
  const given = positionals[0] ?? "";
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
  const listed = await listAll(sessions, [agent]).then(
    ({ found }) => found.find((one) => one.theirs === theirs),
    () => undefined,
  );
  const folder = values.folder === undefined ? listed?.cwd : resolve(cwd, values.folder);
  const session = await sessions.open(id, {
    cwd: folder ?? cwd,
    additionalDirectories: [],
    mcpServers: [],
    isForced: values.force === true,
  });
  if (listed?.title !== undefined) await session.rename(listed.title);
  const { last: events } = session;
  await sessions.close(id);
  if (values.json === true) out(`${JSON.stringify({ session: id, events }, null, 2)}\n`);
  else out(`Imported as ${id}.\nContinue it: trunkline chat --session ${id}\n`);
  return 0;
}

/** The sessions that agents began themselves, for `trunkline session list`. */
export async function foreignSessions(
  app: AppContext,
  agents: readonly string[] | undefined,
  folder: string | undefined,
  err: (text: string) => void,
): Promise<ListedForeign[]> {
  await using lazy = new LazySessions(app);
  const { found, problems } = await listAll(await lazy.open(), agents, folder);
  for (const { agent, message } of problems) {
    err(`trunkline: ${visibleLine(agent)}: ${visibleLine(message)}\n`);
  }
  return found;
}

/** Pages of lists; an agent that never ends its list must not keep us. */
const MOST_PAGES = 50;

async function listAll(
  sessions: Sessions,
  agents: readonly string[] | undefined,
  cwd?: string,
): Promise<{
  readonly found: ListedForeign[];
  readonly problems: { readonly agent: string; readonly message: string }[];
}> {
  const found: ListedForeign[] = [];
  const problems: { agent: string; message: string }[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { agents, cwd, cursor, principal: OWNER };
    const list = await sessions.foreign.list(query);
    found.push(...list.sessions);
    problems.push(...list.problems);
    cursor = list.nextCursor;
    if (cursor === undefined) break;
  }
  return { found, problems };
}

/** One line for each, with the command that continues it. */
export function foreignTable(sessions: readonly ListedForeign[]): string {
  const rows = sessions.map(({ agent, theirs, title, updatedAt, cwd }) => [
    visibleLine(theirs),
    (updatedAt ?? "").slice(0, 16).replace("T", " "),
    visibleLine(agent),
    visibleLine(title ?? "").slice(0, 40),
    visibleLine(cwd),
  ]);
  const heads = ["ID AT THE AGENT", "LAST USED", "AGENT", "TITLE", "FOLDER"];
  const all = [heads, ...rows];
  const widths = heads.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  const lines = all.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  "));
  const next = "Continue one with: trunkline session import SESSION --agent NAME";
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n${next}\n`;
}
