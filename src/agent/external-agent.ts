import { background } from "../base/background.ts";
import { type Confine, OwnedChild } from "../base/process/child-process.ts";
import { TrunklineError } from "../base/errors.ts";
import type { LimitTable } from "../base/limit/limits.ts";
import type { Log } from "../base/log.ts";
import { usualVariables } from "../base/process/environment.ts";
import { AgentConnection, type AgentListener } from "../protocol/acp/connect.ts";
import type { Agent, AgentOpenOptions } from "../session/agent.ts";
import { childChannel } from "../wire/channel/child.ts";
import type { ActsAs, AgentIdentity } from "./command-environment.ts";
import { ExternalCapabilities } from "./external-capabilities.ts";
import { ExternalSession } from "./external-session.ts";
import { ExternalSessions } from "./external-sessions.ts";

export interface ExternalAgentOptions {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly limits?: LimitTable | undefined;
  /** Whom it acts as to git in a folder. Each has a process of its own: the environment tells. */
  readonly actsAs?: ActsAs | undefined;
  /** How the agent, and the commands that it has us run, are kept apart from the machine. */
  readonly confine?: Confine | undefined;
  readonly log: Log;
}

/** A process that speaks ACP, for as long as it lives. */
export interface AgentProcess {
  readonly connection: AgentConnection;
  readonly capabilities: ExternalCapabilities;
  readonly sessions: ExternalSessions;
  /** Resolves when nothing can be asked of it any more. */
  readonly over: Promise<unknown>;
}

/**
 * Somebody else's agent, as a program that speaks ACP on its standard streams. One process serves
 * all sessions of one principal that act as the same identity; when it dies, the next prompt starts
 * another, which takes them up where it can.
 */
export class ExternalAgent implements Agent, AsyncDisposable {
  readonly name: string;
  readonly #options: ExternalAgentOptions;
  /** By whose sessions they serve, and the name of whom they act as. */
  readonly #running = new Map<string, Promise<AgentProcess>>();
  /** Each with the id of the principal whose sessions it serves. */
  readonly #children = new Map<OwnedChild, string>();

  constructor(options: ExternalAgentOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** As one would type it. */
  get commandLine(): string {
    return [this.#options.command, ...(this.#options.args ?? [])].join(" ");
  }

  async open(options: AgentOpenOptions): Promise<ExternalSession> {
    const identity = await this.#options.actsAs?.(options.cwd);
    const { confine = asItIs } = this.#options;
    const session = new ExternalSession(this, { ...options, identity, confine });
    options.revoked.add({ stopped: () => this.#kill(options.owner) });
    await session.begin();
    return session;
  }

  /** The process for a principal's sessions that acts as somebody, started if it is not there. */
  process(owner: string, identity: AgentIdentity | undefined): Promise<AgentProcess> {
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

  /** Ends all that serves a principal, at once. */
  #kill(owner: string): void {
    for (const [child, of] of this.#children) if (of === owner) child.kill();
  }

  async #start(owner: string, identity: AgentIdentity | undefined): Promise<AgentProcess> {
    const { name, command, args = [], env, limits, log, confine = asItIs } = this.#options;
    const said = (line: string): void => log.info("agent.said", { agent: name, line });
    const base = { ...usualVariables(), ...env };
    let started: OwnedChild | undefined;
    try {
      const child = await OwnedChild.start(
        confine({ command, args, env: identity?.environment(base) ?? base, stderr: said }),
      );
      started = child;
      this.#children.set(child, owner);
      background(
        child.exit.then(() => this.#children.delete(child)),
        "Forgetting an agent that has ended",
      );
      const sessions = new ExternalSessions();
      const channel = childChannel(child, { stray: said });
      const listener = listenerFor(sessions);
      // One that dies while it says hello is told apart from one that says nothing.
      const connection = await Promise.race([
        AgentConnection.open(channel, { listener, limits }),
        child.exit.then((exit) => {
          throw new TrunklineError("unavailable", `Agent '${name}' ended at once (${exit}).`);
        }),
      ]);
      background(
        child.exit.then((exit) => log.info("agent.ended", { agent: name, exit })),
        "Noting the end of an agent",
      );
      // It may close its output and linger.
      background(
        connection.ended.then(() => child.end()),
        "Ending an agent that has closed its output",
      );
      const capabilities = new ExternalCapabilities(name, connection.capabilities);
      const over = Promise.race([child.exit, connection.ended]);
      // What it had us start does not outlive it; what its successor does is not touched.
      background(
        over.then(() => {
          for (const session of sessions.all())
            background(session.services.terminals.clear(), "Ending the commands of an agent");
        }),
        "Ending what an agent had started",
      );
      return { connection, capabilities, sessions, over };
    } catch (error) {
      await started?.end();
      throw error;
    }
  }
}

const asItIs: Confine = (options) => options;

const CLOSED = { action: "cancel" } as const;

/** Finds the session that an agent speaks of. */
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
    // Where it belongs to no session, there is nobody to put it to.
    elicit: async (params) =>
      sessions.get(params.sessionId ?? "")?.services.elicit(params) ?? CLOSED,
  };
}
