import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { isAbsolute, join } from "node:path";
import { ExternalAgent, type ExternalAgentOptions } from "../../agent/external-agent.ts";
import type { Confine } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import { openSandbox } from "../../sandbox/sandbox.ts";
import { workspaceFolder } from "../environment/recipe.ts";
import type { Run } from "../run.ts";
import type { InnerAgent } from "../spares.ts";
import { findProgram } from "./find-program.ts";
import type { ModelServices } from "./model-services.ts";
import type { Log } from "../../base/log.ts";
import { progressUpdate } from "../run-agent.ts";
import type { SessionUpdate } from "../../session/agent.ts";

export interface ConfinedAgentOptions {
  readonly run: Run;
  readonly parts: SandboxParts;
  /** The program that speaks ACP. */
  readonly agent: ExternalAgentOptions;
  /** Files and folders that it needs in addition to the system's. */
  readonly needs: readonly string[];
  readonly allowHosts: readonly string[];
  readonly models: ModelServices;
}

/** Limits for all programs of a sandbox together. */
export const LIMITS = { memory: 4 * 1024 ** 3, processes: 512, cpus: 4 };

/** Opens an agent in its own sandbox, together with the commands that it runs. They end with the sandbox. */
export async function openConfinedAgent(options: ConfinedAgentOptions): Promise<InnerAgent> {
  const { run, parts, agent, allowHosts, models } = options;
  const { PATH = "" } = process.env;
  const program = findProgram(agent.command, PATH);
  if (program === undefined) {
    const why =
      "it is neither a path nor in PATH. Install it, or set `command` of the agent to its path";
    throw new TrunklineError("unavailable", `Cannot find the program '${agent.command}': ${why}.`);
  }
  // Absolute paths among the configured arguments, such as a script for an interpreter.
  const named = (agent.args ?? []).filter((arg) => isAbsolute(arg) && existsSync(arg));
  const { workspace } = run.plan;
  const { tree, home } = run.workspace;
  const refused = refusedHosts(agent.log, workspace);
  const egress = new EgressProxy({
    allowHosts,
    services: models.services,
    setting: "`remote.egress.allowHosts`",
    refused: refused.refused,
  });
  // It is removed with the workspace. The lock of the workspace ensures that no other sandbox uses it.
  const data = join(run.workspace.folder, "sandbox");
  await rm(data, { recursive: true, force: true });
  const sandbox = await openSandbox({
    name: workspace,
    data,
    parts,
    write: [tree],
    also: [{ path: tree, at: workspaceFolder(run.plan.url) }],
    home,
    read: [run.objects, ...program.needs, ...named, ...options.needs],
    limits: LIMITS,
    egress,
    variables: models.variables,
    user: run.owner,
  });
  const confine: Confine = ({ command, args = [], env, cwd = tree, ...rest }) => {
    const path = command === agent.command ? program.path : command;
    return { ...rest, ...sandbox.wrap({ command: path, args, env: { ...env, ...SAFE }, cwd }) };
  };
  const inner = new ExternalAgent({ ...agent, actsAs: undefined, confine });
  return {
    name: inner.name,
    start: (owner) => inner.start(owner),
    open: (session) => {
      refused.tellTo((update) => session.update(update));
      return inner.open(session);
    },
    [Symbol.asyncDispose]: async () => {
      await inner[Symbol.asyncDispose]();
      egress[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

export interface FreeAgentOptions {
  readonly agent: (models: ModelServices) => ExternalAgentOptions;
  readonly models: (proxy: string, pass: string) => Promise<ModelServices>;
}

/**
 * Opens an agent without a sandbox. All users of this machine can reach the proxy that has its models, so
 * that asks for a pass.
 */
export async function openFreeAgent(options: FreeAgentOptions): Promise<InnerAgent> {
  const listener = createServer();
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as AddressInfo;
  const pass = randomBytes(24).toString("base64url");
  const models = await options.models(`http://127.0.0.1:${port}`, pass);
  const { services, variables } = models;
  const egress = new EgressProxy({ allowHosts: [], services, setting: "`models.providers`" });
  egress.serve(listener);
  const agent = options.agent(models);
  const inner = new ExternalAgent({ ...agent, env: { ...agent.env, ...variables } });
  return {
    name: inner.name,
    start: (owner) => inner.start(owner),
    open: (session) => inner.open(session),
    [Symbol.asyncDispose]: async () => {
      await inner[Symbol.asyncDispose]();
      egress[Symbol.dispose]();
    },
  };
}

/** git refuses repositories of other users, and in the sandbox the user differs. */
export const SAFE = {
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
};

/** The most hosts that are reported: a program could invent any number of names. */
const MOST = 20;
const LONGEST = 300;

/** Reports the connections that a sandbox refuses, in the log and in the session, once for each host. */
export function refusedHosts(log: Log, workspace: string) {
  const told = new Set<string>();
  const waiting: SessionUpdate[] = [];
  let tell: ((update: SessionUpdate) => void) | undefined;
  return {
    /** From now on, where the session is told. It is also told what was refused before. */
    tellTo(update: (update: SessionUpdate) => void): void {
      tell = update;
      for (const each of waiting.splice(0)) update(each);
    },
    refused: (host: string, why: string): void => {
      if (told.has(host) || told.size >= MOST) return;
      told.add(host);
      log.warn("run.egress-refused", { workspace, host, why });
      const update = progressUpdate(`A connection was refused: ${why.slice(0, LONGEST)}.`);
      if (tell === undefined) waiting.push(update);
      else tell(update);
    },
  };
}
