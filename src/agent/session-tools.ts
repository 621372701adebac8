import { isSelfCommand } from "../base/process/self-command.ts";
import type { Log } from "../base/log.ts";
import { untilAborted } from "../base/abort.ts";
import { counted } from "../base/text/counted.ts";
import type { AgentOpenOptions, McpServer, Turn } from "../session/agent.ts";
import type { Offer } from "../tool/offer/offer.ts";
import type { Toolbox } from "../tool/toolbox.ts";
import type { ReviewComments } from "./commands/session-commands.ts";
import type { AgentTool } from "./tools/agent-tool.ts";
import { editFile, multiEdit, writeFile } from "./tools/edit-tools.ts";
import { gitCommit, gitDiff, gitLog, gitStatus } from "./tools/git-tools.ts";
import { listFiles, searchFiles } from "./tools/search-files.ts";
import { readFile } from "./tools/read-file.ts";
import { runCommand } from "./tools/run-command.ts";
import { updatePlan } from "./tools/person-tools.ts";
import { REVIEWS, ToolGroups } from "./tools/tool-groups.ts";
import { addToolbox, AGENT_NAME } from "./tools/toolbox-tools.ts";
import { promptText } from "./turn/instructions.ts";
import { webFetch, type WebRules } from "./web/web-fetch.ts";
import type { Speaker } from "./turn/speaker.ts";

/** The MCP servers of a session's setup, and their tools. */
export interface SessionServers extends AsyncDisposable {
  readonly tools: Toolbox;
  /** Waits a limited time for servers that have not answered yet. */
  known(): Promise<void> | undefined;
  status(): readonly ServerStatus[];
}

export interface ServerStatus {
  readonly name: string;
  /** Whether the server has listed its tools. */
  readonly isKnown: boolean;
  readonly lastError?: string;
}

export type ServerOpener = (
  servers: readonly McpServer[],
  options: Pick<AgentOpenOptions, "sessionId" | "cwd" | "log" | "revoked" | "clientServers">,
) => Promise<SessionServers>;

/** What every model is offered, in this order. */
const BUILT_IN_TOOLS: readonly AgentTool[] = [
  readFile,
  listFiles,
  searchFiles,
  editFile,
  multiEdit,
  writeFile,
  runCommand,
  gitStatus,
  gitDiff,
  gitLog,
  gitCommit,
  updatePlan,
];

export type OfferOpener = () => Promise<Pick<Offer, "tools" | "known" | "missing" | "profileFor">>;

export interface SessionToolsOptions {
  /** From where pages may be fetched without a question. */
  readonly web?: WebRules | undefined;
  /** Opens the toolbox, when a model is to be offered its tools. */
  readonly offer?: OfferOpener;
  /** Starts the MCP servers of a session. Without it, clients are told that theirs are not used. */
  readonly openServers?: ServerOpener;
  readonly reviews?: ReviewComments;
  /** Milliseconds after the session was opened, until which turns wait for tools. */
  readonly timeout: number;
}

/** The tools for a session's model: built-in, of the session's MCP servers, and of the toolbox. */
export class SessionTools implements AsyncDisposable {
  readonly groups = new ToolGroups();
  readonly #options: SessionToolsOptions;
  readonly #servers: Promise<SessionServers | undefined>;
  readonly #wanted: readonly string[];
  readonly #cwd: string;
  readonly #reported = new Set<string>();
  readonly #openedAt = performance.now();
  readonly #log: Log;
  #offer: ReturnType<OfferOpener> | undefined;

  constructor(session: AgentOpenOptions, options: SessionToolsOptions) {
    this.#options = options;
    const mcpServers = session.mcpServers.filter((server) => !isTrunkline(server));
    this.#wanted = mcpServers.map(({ name }) => name);
    this.#cwd = session.cwd;
    this.#log = session.log;
    this.#servers = this.#open({ ...session, mcpServers });
  }

  /** Opens the toolbox, once there is a model that can use it. */
  begin(): void {
    if (this.#offer !== undefined) return;
    this.#offer = this.#options.offer?.();
    // Clear the cached failure so that the next call retries.
    this.#offer?.then((offer) => offer.known()).catch(() => (this.#offer = undefined));
  }

  /** The tools that a principal may use now, with those of the turn. Missing servers are reported once. */
  async gather(
    speaker: Speaker,
    { principal, prompt }: Pick<Turn, "principal" | "prompt">,
    ofTurn: readonly AgentTool[] = [],
  ): Promise<Map<string, AgentTool>> {
    const own = [...BUILT_IN_TOOLS, webFetch(this.#options.web ?? {}), ...ofTurn];
    const tools = new Map(own.map((tool) => [tool.name, tool]));
    const [servers, offer] = await Promise.all([
      this.#servers,
      this.#opened(speaker),
      this.#lookForReviews(),
    ]);
    await this.#briefly([servers?.known(), offer?.known(principal)]);
    const project = { folder: this.#cwd, folders: [this.#cwd] };
    const subject = { door: "agent", client: AGENT_NAME, folder: this.#cwd, principal };
    const profile = offer?.profileFor(subject);
    const left = [
      ...addToolbox(tools, servers?.tools, { principal, project, isBrought: true }),
      ...addToolbox(tools, offer?.tools, { principal, project, profile, isBrought: false }),
    ];
    this.groups.prepare(tools, promptText(prompt));
    if (left.length > 0) {
      const says = `There is no room for ${counted(left.length, "tool")}, which the model is not offered`;
      await this.#report(speaker, "too many tools", says, left.slice(0, 20).join(", "));
    }
    await this.reportServers(speaker, "it has not answered yet");
    for (const { name, why } of offer?.missing(profile, principal) ?? []) {
      const says = `The tools of '${name}' are left out for now`;
      await this.#report(speaker, `missing ${name}`, says, why);
    }
    return tools;
  }

  /** Reports missing servers once. A server that has not answered counts if `silence` says what to report. */
  async reportServers(speaker: Speaker, silence?: string): Promise<void> {
    const servers = await this.#servers;
    if (servers === undefined && this.#wanted.length > 0) {
      const says = "The MCP servers of this session cannot be used";
      await this.#report(speaker, "servers", says, this.#wanted.join(", "));
    }
    for (const { name, isKnown, lastError: why = silence } of servers?.status() ?? []) {
      if (isKnown || why === undefined) continue;
      const says = `The MCP server '${name}' is not there, so its tools are left out for now`;
      await this.#report(speaker, `server ${name}`, says, why);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = await this.#servers;
    await servers?.[Symbol.asyncDispose]();
  }

  /** Offers the review tools if the project has open comments: the work is probably about them. */
  async #lookForReviews(): Promise<void> {
    try {
      if (await this.#options.reviews?.hasOpen(this.#cwd)) this.groups.open(REVIEWS);
    } catch (error) {
      this.#log.warn("agent.reviews-unknown", { error });
    }
  }

  async #opened(speaker: Speaker): Promise<Awaited<ReturnType<OfferOpener>> | undefined> {
    this.begin();
    try {
      return await this.#offer;
    } catch (error) {
      this.#log.error("agent.toolbox-failed", { error });
      await this.#report(speaker, "toolbox", "The toolbox cannot be used", String(error));
      return undefined;
    }
  }

  async #open(session: AgentOpenOptions): Promise<SessionServers | undefined> {
    const { mcpServers, log } = session;
    if (mcpServers.length === 0) return undefined;
    try {
      const servers = await this.#options.openServers?.(mcpServers, session);
      // Started now, so that they are ready for the first prompt.
      servers?.known()?.catch(() => {});
      return servers;
    } catch (error) {
      log.error("agent.servers-failed", { error });
      return undefined;
    }
  }

  /** Waits until the timeout, counted from the opening of the session, so that only the first turn waits. */
  async #briefly(waits: readonly (Promise<void> | undefined)[]): Promise<void> {
    const open = waits.filter((wait) => wait !== undefined);
    const left = this.#options.timeout - (performance.now() - this.#openedAt);
    if (open.length === 0 || left <= 0) return;
    await untilAborted(Promise.allSettled(open), AbortSignal.timeout(Math.ceil(left))).catch(
      () => {},
    );
  }

  async #report(speaker: Speaker, key: string, says: string, why: string): Promise<void> {
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    await speaker.notice("warning", says, why);
  }
}

/**
 * Zed hands an agent all of its MCP servers. Where Trunkline is one of them, the model would be
 * offered every tool of the toolbox twice.
 */
function isTrunkline({ command, args }: McpServer): boolean {
  const words: unknown[] = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])];
  return isSelfCommand(words, "mcp");
}
