import { background, currentSession } from "../base/background.ts";
import { type ChildExit, type Confine, OwnedChild } from "../base/process/child-process.ts";
import { TrunklineError } from "../base/errors.ts";
import type { LimitTable } from "../base/limit/limits.ts";
import type { Log } from "../base/log.ts";
import { usualVariables } from "../base/process/environment.ts";
import { LastWords } from "../base/process/stderr-log.ts";
import { maskText } from "../base/text/mask.ts";
import { AgentConnection, type AgentListener } from "../protocol/acp/connect.ts";
import type { Agent, AgentOpenOptions, ForeignPage, ForeignQuery } from "../session/agent.ts";
import { childChannel } from "../wire/channel/child.ts";
import { type Tap, tapped } from "../wire/channel/tapped.ts";
import type { ActsAs, AgentIdentity } from "./command-environment.ts";
import { ExternalCapabilities } from "./external-capabilities.ts";
import type { OpenCommandSandbox } from "./files/command-sandbox.ts";
import { ExternalSession } from "./external-session.ts";
import { ExternalSessions } from "./external-sessions.ts";

export interface ExternalAgentOptions {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly limits?: LimitTable | undefined;
  /** Finds the identity for git in a folder. Each identity has its own process, with its own environment. */
  readonly actsAs?: ActsAs | undefined;
  /** Runs the agent, and the commands that it has us run, in a sandbox. */
  readonly confine?: Confine | undefined;
  /** Opens the sandbox of the commands that it has us run, where only those are in one. */
  readonly sandbox?: OpenCommandSandbox | undefined;
  /** The holder of its sessions. Whoever takes one of them ends the processes, which serve them all. */
  readonly serves?: string | undefined;
  /** Sees the messages of each process, and what it writes to stderr. */
  readonly tap?: ((agent: string) => (Tap & { line(text: string): void }) | undefined) | undefined;
  readonly log: Log;
}

/** Milliseconds. */
const UNUSED = 60_000;

/** A running agent process and its connection. */
export interface AgentProcess {
  readonly connection: AgentConnection;
  readonly capabilities: ExternalCapabilities;
  readonly sessions: ExternalSessions;
  /** Resolves when the process or its connection has ended. */
  readonly over: Promise<unknown>;
}

/**
 * An agent that is another program, which speaks ACP on its standard streams. One process serves all
 * sessions of one principal with the same identity. When it dies, the next prompt starts another, which
 * loads the sessions again if it can.
 */
export class ExternalAgent implements Agent, AsyncDisposable {
  readonly name: string;
  readonly #options: ExternalAgentOptions;
  /** By owner and name of the identity. */
  readonly #running = new Map<string, Promise<AgentProcess>>();
  /** How often a process was asked for. */
  #used = 0;
  /** Each with the id of the owner of its sessions. */
  readonly #children = new Map<OwnedChild, string>();

  constructor(options: ExternalAgentOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** The words of the command line. */
  get command(): readonly string[] {
    return [this.#options.command, ...(this.#options.args ?? [])];
  }

  /** The command line, as a person would type it. */
  get commandLine(): string {
    return this.command.join(" ");
  }

  async open(options: AgentOpenOptions): Promise<ExternalSession> {
    const identity = await this.#options.actsAs?.(options.cwd);
    const { confine = asItIs, sandbox: opens } = this.#options;
    const sandbox = opens?.([options.cwd, ...options.additionalDirectories]);
    const session = new ExternalSession(this, { ...options, identity, confine, sandbox });
    options.revoked.add({ stopped: () => this.#kill(options.owner) });
    await session.begin();
    return session;
  }

  /** Starts the process for an owner's sessions before the first of them needs it. */
  async start(owner: string): Promise<void> {
    await this.process(owner, undefined);
  }

  async list(query: ForeignQuery): Promise<ForeignPage> {
    const process = await this.process(query.owner, undefined);
    try {
      const { listSessions } = await import("./external-import.ts");
      return await listSessions(this, process, query);
    } finally {
      this.#endIfUnused(process);
    }
  }

  /** Ends a process that was started for a list only, unless it is used soon. */
  #endIfUnused(process: AgentProcess): void {
    const used = this.#used;
    const timer = setTimeout(() => {
      if (used !== this.#used) this.#endIfUnused(process);
      else if (process.sessions.isEmpty) {
        background(process.connection[Symbol.asyncDispose](), "Ending an agent that is not used");
      }
    }, UNUSED).unref();
    background(
      process.over.then(() => clearTimeout(timer)),
      "Forgetting an agent that has ended",
    );
  }

  /** The process for an owner and an identity. Starts it if it is not running. */
  process(owner: string, identity: AgentIdentity | undefined): Promise<AgentProcess> {
    this.#used++;
    const key = `${owner}\n${identity?.name ?? ""}`;
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const running = this.#start(owner, identity);
    this.#running.set(key, running);
    const gone = (): void => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    running.then(({ over }) => over.then(gone), gone);
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#children.keys(), (child) => child.end()));
    for (const running of this.#running.values()) {
      await (await running.catch(() => undefined))?.connection[Symbol.asyncDispose]();
    }
  }

  /** Kills all processes of an owner. */
  #kill(owner: string): void {
    for (const [child, of] of this.#children) if (of === owner) child.kill();
  }

  async #start(owner: string, identity: AgentIdentity | undefined): Promise<AgentProcess> {
    const { name, command, args = [], env, limits, log, confine = asItIs } = this.#options;
    const { serves = currentSession() } = this.#options;
    const tap = this.#options.tap?.(name);
    const words = new LastWords();
    const said = (line: string): void => {
      words.add(line);
      log.info("agent.said", { agent: name, line });
      tap?.line(line);
    };
    const base = { ...usualVariables(), ...env };
    let started: OwnedChild | undefined;
    try {
      const child = await OwnedChild.start(
        confine({
          ...{ command, args, env: identity?.processEnvironment(base) ?? base, stderr: said },
          serves,
        }),
      );
      started = child;
      this.#children.set(child, owner);
      background(
        child.exit.then(() => this.#children.delete(child)),
        "Forgetting an agent that has ended",
      );
      const sessions = new ExternalSessions();
      const own = childChannel(child, { stray: said });
      const channel = tap === undefined ? own : tapped(own, tap);
      const listener = listenerFor(sessions);
      // Distinguishes a process that dies during `initialize` from one that does not answer.
      const connection = await Promise.race([
        AgentConnection.open(channel, { listener, limits }),
        child.exit.then(() => {
          throw new TrunklineError("closed", "It ended at once");
        }),
      ]);
      background(
        child.exit.then((exit) => log.info("agent.ended", { agent: name, exit })),
        "Noting the end of an agent",
      );
      // A process may close its output without exiting.
      background(
        connection.ended.then(() => child.end()),
        "Ending an agent that has closed its output",
      );
      const capabilities = new ExternalCapabilities(name, connection.capabilities);
      const over = Promise.race([child.exit, connection.ended]);
      // Terminals end with the agent that created them. Those of the next process are not affected.
      background(
        over.then(() => {
          for (const session of sessions.all())
            background(session.services.terminals.clear(), "Ending the commands of an agent");
        }),
        "Ending what an agent had started",
      );
      return { connection, capabilities, sessions, over };
    } catch (error) {
      // Then all is read that it said.
      await started?.end();
      const isOver = error instanceof TrunklineError && error.code === "closed";
      throw isOver && started !== undefined
        ? endedAtOnce(name, await started.exit, words.line)
        : error;
    }
  }
}

/** Characters of an agent's last words that are told with the reason of its end. */
const LONGEST_WORDS = 200;

function endedAtOnce(name: string, exit: ChildExit, words = ""): TrunklineError {
  const last = maskText(words).slice(0, LONGEST_WORDS);
  const why = last === "" ? ". Run its command by hand to see why" : `, after saying: ${last}`;
  return new TrunklineError("unavailable", `Agent '${name}' ended at once (${exit})${why}.`);
}

const asItIs: Confine = (options) => options;

const CLOSED = { action: "cancel" } as const;

/** Passes the messages of an agent to the session that they name. */
function listenerFor(sessions: ExternalSessions): AgentListener {
  const find = ({ sessionId }: { readonly sessionId: string }): ExternalSession => {
    const session = sessions.get(sessionId);
    if (session !== undefined) return session;
    throw new TrunklineError("not-found", `There is no session '${sessionId}' here`);
  };
  return {
    update: (params) => sessions.heard(params),
    requestPermission: (params) => find(params).services.permission(params),
    readTextFile: (params) => find(params).services.readTextFile(params),
    writeTextFile: (params) => find(params).services.writeTextFile(params),
    createTerminal: (params) => find(params).services.createTerminal(params),
    terminalOutput: async (params) =>
      find(params).services.terminals.find(params.terminalId).output(),
    waitForExit: (params) => find(params).services.waitForExit(params),
    killTerminal: async (params) => {
      await find(params).services.terminals.find(params.terminalId).kill();
      return {};
    },
    releaseTerminal: async (params) => {
      await find(params).services.terminals.release(params.terminalId);
      return {};
    },
    // An elicitation without a session has no client to show it.
    elicit: async (params) =>
      sessions.get(params.sessionId ?? "")?.services.elicit(params) ?? CLOSED,
  };
}
