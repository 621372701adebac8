import { mayUseAll, OWNER, type Principal } from "../../../base/principal.ts";
import { auditBackwards } from "../../../store/audit/audit-reader.ts";
import type { Config } from "../../../config/config.ts";
import type { Overview, OverviewStep } from "../api.ts";
import { onlyOwner, type SessionRows } from "../session/session-rows.ts";

export interface OverviewOptions {
  readonly sessions: SessionRows;
  readonly data: string;
  readonly config: () => Pick<Config, "mcpServers" | "identities">;
  /** Open review threads that a principal may see. */
  readonly threads: (principal: Principal) => Promise<number>;
  readonly approvals: () => number;
  readonly origin: () => string;
  readonly uptimeSeconds: () => number;
  /** Assistants that are connected to /mcp now. */
  readonly assistants: () => number;
}

/** Entries of the audit, and sessions, among which an assistant and an editor are looked for. */
const MOST_ENTRIES = 500;
const MOST_SESSIONS = 50;
/** Clients of sessions that are part of Trunkline itself. */
const OURS = new Set(["dashboard", "terminal", "chat", "run"]);

type StepEvidence = Pick<OverviewStep, "says" | "at">;

/** The start page: what is connected, and the commands that connect the rest. */
export async function readOverview(
  options: OverviewOptions,
  principal: Principal = OWNER,
): Promise<Overview> {
  const { sessions, threads, approvals, origin, uptimeSeconds } = options;
  const held = await sessions.reader.held();
  const waiting = await sessions.waiting(principal);
  const owner = onlyOwner(principal);
  const running = held.filter(
    ({ notes }) =>
      typeof notes.turn === "string" && (owner === undefined || (notes.owner ?? "") === owner),
  ).length;
  return {
    steps: mayUseAll(principal) ? await steps(options) : [],
    counts: {
      sessions: await sessions.reader.count(owner),
      waiting: waiting.length,
      running: running - waiting.length,
      threads: await threads(principal),
      approvals: mayUseAll(principal) ? approvals() : 0,
    },
    uptimeSeconds: uptimeSeconds(),
    urls: { mcp: `${origin()}/mcp`, acp: `${origin().replace("http", "ws")}/acp` },
  };
}

async function steps(options: OverviewOptions): Promise<OverviewStep[]> {
  const { mcpServers, identities } = options.config();
  return [
    step("assistant", await assistant(options), [
      ["trunkline setup claude-code", "Connect Claude Code."],
      ["trunkline setup", "List the programs on this machine, and choose."],
    ]),
    step("editor", await editor(options), [
      ["trunkline setup zed", "Connect Zed."],
      ["trunkline setup jetbrains", "Connect a JetBrains IDE."],
    ]),
    step("server", counted(Object.keys(mcpServers), "servers"), [
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

/** The audit also has the calls of assistants that have started `trunkline mcp` themselves. */
async function assistant({ data, assistants }: OverviewOptions): Promise<StepEvidence | undefined> {
  let read = 0;
  for await (const { entry } of auditBackwards(data)) {
    if (entry.door === "mcp" && typeof entry.caller === "string") {
      return { says: entry.caller, at: Date.parse(String(entry.time)) };
    }
    if (++read > MOST_ENTRIES) break;
  }
  const count = assistants();
  return count === 0 ? undefined : { says: `${count} connected` };
}

/** Editors are known by the prompts that they sent, whichever process they talked to. */
async function editor({ sessions }: OverviewOptions): Promise<StepEvidence | undefined> {
  for (const session of await sessions.reader.list({ limit: MOST_SESSIONS })) {
    const { client } = await sessions.digests.of(session);
    if (client !== undefined && !OURS.has(client)) return { says: client, at: session.updated };
  }
  return undefined;
}
