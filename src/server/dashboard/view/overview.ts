import { mayUseAll, OWNER, type Principal } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import { type Client, seenClients } from "../../../store/access/running-clients.ts";
import { auditBackwards } from "../../../store/audit/audit-reader.ts";
import type { Config } from "../../../config/config.ts";
import type { Overview, OverviewStep } from "../api.ts";
import type { SessionRows } from "../session/session-rows.ts";

export interface OverviewOptions {
  readonly sessions: SessionRows;
  readonly data: string;
  readonly config: () => Pick<Config, "mcpServers" | "identities">;
  /** Open review threads that a principal may see. */
  readonly threads: (principal: Principal) => Promise<number>;
  readonly approvals: () => number;
  readonly origin: () => string;
  /** Servers that should run and do not. */
  readonly down: () => number;
  /** Assistants that are connected to /mcp now. */
  readonly assistants: () => number;
}

/** Entries of the audit, and sessions, among which an assistant and an editor are looked for. */
const MOST_ENTRIES = 500;
const MOST_SESSIONS = 50;
/** Programs that are named on the page. */
const MOST_NAMES = 4;
/** Clients of sessions that are part of Trunkline itself. */
const OURS = new Set(["dashboard", "terminal", "chat", "run"]);

type StepEvidence = Pick<OverviewStep, "says" | "at" | "isBroken">;

/** The start page: what is connected, and the commands that connect the rest. */
export async function readOverview(
  options: OverviewOptions,
  principal: Principal = OWNER,
): Promise<Overview> {
  const { threads, approvals, down, origin } = options;
  const seesAll = mayUseAll(principal);
  return {
    steps: seesAll ? await steps(options) : [],
    counts: {
      threads: await threads(principal),
      approvals: seesAll ? approvals() : 0,
      down: seesAll ? down() : 0,
    },
    urls: { mcp: `${origin()}/mcp`, acp: `${origin().replace("http", "ws")}/acp` },
  };
}

async function steps(options: OverviewOptions): Promise<OverviewStep[]> {
  const { identities } = options.config();
  return [
    step("assistant", await assistant(options), [
      ["trunkline setup claude-code", "Connect Claude Code."],
      ["trunkline setup", "List the programs on this machine, and choose."],
    ]),
    step("editor", await editor(options), [
      ["trunkline setup zed", "Connect Zed."],
      ["trunkline setup jetbrains", "Connect a JetBrains IDE."],
    ]),
    step("agent", await agent(options), [
      ["trunkline chat", "Talk with one in the terminal."],
      ["trunkline agent list", "See those that are installed, and how to add them."],
    ]),
    step("server", servers(options), [
      ["trunkline server add NAME -- COMMAND", "Add an MCP server: its tools are offered here."],
      ["trunkline setup --import", "Take over the servers that other programs have."],
    ]),
    step("identity", counted(Object.keys(identities), "identities"), [
      [
        "trunkline identity add NAME --provider github --user USER --email EMAIL",
        "Add a git identity.",
      ],
      ["trunkline identity import FILE", "Take over those of RemoteJuggler."],
    ]),
  ];
}

function step(
  id: OverviewStep["id"],
  found: StepEvidence | undefined,
  commands: readonly (readonly [string, string])[],
): OverviewStep {
  const shown = commands.map(([run, explains]) => ({ run, explains }));
  return { id, isDone: found !== undefined, ...found, commands: shown };
}

function counted(names: readonly string[], what: string): StepEvidence | undefined {
  if (names.length === 0) return undefined;
  return { says: names.length === 1 ? `${names[0]}` : `${names.length} ${what}` };
}

/** The servers, and in the same breath how many of them do not work. */
function servers({ config, down }: OverviewOptions): StepEvidence | undefined {
  const names = Object.keys(config().mcpServers);
  const found = counted(names, "servers");
  const count = down();
  if (found === undefined || count === 0) return found;
  const says = names.length === 1 ? `${names[0]} is down` : `${found.says}, ${count} down`;
  return { says, isBroken: true };
}

/** Programs that have started `trunkline mcp` or `trunkline acp`, and are connected now. */
function connected(data: string, kind: Client["kind"]): StepEvidence | undefined {
  const names = new Set<string>();
  for (const each of seenClients(data))
    if (each.isRunning && each.kind === kind) names.add(each.name);
  if (names.size === 0) return undefined;
  return { says: `${maskText([...names].slice(0, MOST_NAMES).join(", "))}: connected` };
}

/** The program of that kind that was connected last. */
function lastSeen(data: string, kind: Client["kind"]): StepEvidence | undefined {
  const last = seenClients(data).find((each) => each.kind === kind);
  return last && { says: maskText(last.name), at: last.since };
}

/** The audit also has the calls of assistants that have started `trunkline mcp` themselves. */
async function assistant({ data, assistants }: OverviewOptions): Promise<StepEvidence | undefined> {
  const now = connected(data, "assistant");
  if (now !== undefined) return now;
  let read = 0;
  for await (const { entry } of auditBackwards(data)) {
    if (entry.door === "mcp" && typeof entry.caller === "string") {
      return { says: entry.caller, at: Date.parse(String(entry.time)) };
    }
    if (++read > MOST_ENTRIES) break;
  }
  const count = assistants();
  return count > 0 ? { says: `${count} connected` } : lastSeen(data, "assistant");
}

/** Editors are known by the prompts that they sent, whichever process they talked to. */
async function editor({ data, sessions }: OverviewOptions): Promise<StepEvidence | undefined> {
  const now = connected(data, "editor");
  if (now !== undefined) return now;
  for (const session of await sessions.reader.list({ limit: MOST_SESSIONS })) {
    const { client } = await sessions.digests.of(session);
    if (client !== undefined && !OURS.has(client)) return { says: client, at: session.updated };
  }
  return lastSeen(data, "editor");
}

/** An agent has answered if a turn has come to its end. */
async function agent({ sessions }: OverviewOptions): Promise<StepEvidence | undefined> {
  for (const session of await sessions.reader.list({ limit: MOST_SESSIONS })) {
    const { ended } = await sessions.digests.of(session);
    if (ended === "end_turn") return { says: session.agent, at: session.updated };
  }
  return undefined;
}
