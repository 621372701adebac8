import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { isAbsolute, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ExternalAgent, type ExternalAgentOptions } from "../../agent/external-agent.ts";
import type { Confiner } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import { openSandbox } from "../../sandbox/sandbox.ts";
import { workspaceFolder } from "../environment/recipe.ts";
import { background } from "../../base/background.ts";
import type { EffectiveLimits } from "../run-limits.ts";
import type { FileOwner } from "../workspace/driver.ts";
import { diskUse } from "../workspace/workspace.ts";
import { findProgram } from "./find-program.ts";
import type { ModelServices } from "./model-services.ts";
import type { Log } from "../../base/log.ts";
import { type InnerAgent, progressUpdate } from "../run-agent.ts";
import type { SessionUpdate } from "../../session/agent.ts";

/** Where a confined agent works. */
export interface AgentPlace {
  /** A unique name; letters, digits and dashes. */
  readonly name: string;
  /** The folder of everything that belongs to it. */
  readonly folder: string;
  readonly tree: string;
  /** Where HOME is kept; undefined where it is removed with the sandbox. */
  readonly home: string | undefined;
  /** The address of its repository; empty if it has none. */
  readonly url: string;
  /** Folders with objects that git needs in the tree. */
  readonly objects: readonly string[];
  readonly limits: EffectiveLimits;
  readonly variables: Readonly<Record<string, string>>;
  /** The owner of its files, if that is not our own user. */
  readonly owner: FileOwner | undefined;
}

export interface ConfinedAgentOptions {
  readonly place: AgentPlace;
  readonly parts: SandboxParts;
  /** Those of the system, for sandboxes. */
  readonly settings?: string | undefined;
  /** The program that speaks ACP. */
  readonly agent: ExternalAgentOptions;
  /** Files and folders that it needs in addition to the system's. */
  readonly needs: readonly string[];
  readonly allowHosts: readonly string[];
  readonly models: ModelServices;
  /** Commands that run beside it, by name. */
  readonly services: Readonly<Record<string, string>>;
}

/** Opens an agent in its own sandbox, together with the commands that it runs. They end with the sandbox. */
export async function openConfinedAgent(options: ConfinedAgentOptions): Promise<InnerAgent> {
  const { place, parts, settings, agent, allowHosts, models } = options;
  const { PATH = "" } = process.env;
  const program = findProgram(agent.command, PATH);
  if (program === undefined) {
    const why =
      "it is neither a path nor in PATH. Install it, or set `command` of the agent to its path";
    throw new TrunklineError("unavailable", `Cannot find the program '${agent.command}': ${why}.`);
  }
  // Absolute paths among the configured arguments, such as a script for an interpreter.
  const named = (agent.args ?? []).filter((arg) => isAbsolute(arg) && existsSync(arg));
  const { name: workspace, tree, home, url } = place;
  const refused = refusedHosts(agent.log, workspace);
  const egress = new EgressProxy({
    allowHosts,
    services: models.services,
    setting: "`remote.egress.allowHosts`",
    refused: refused.refused,
  });
  // It is removed with the workspace. The lock of the workspace ensures that no other sandbox uses it.
  const data = join(place.folder, "sandbox");
  await rm(data, { recursive: true, force: true });
  const sandbox = await openSandbox({
    name: workspace,
    data,
    parts,
    settings,
    write: [tree],
    also: url === "" ? [] : [{ path: tree, at: workspaceFolder(url) }],
    home,
    read: [...place.objects, ...program.needs, ...named, ...options.needs],
    limits: place.limits,
    // A repository does not say where its models are.
    variables: { ...place.variables, ...models.variables },
    egress,
    user: place.owner,
  });
  const confine: Confiner = ({ command, args = [], env, cwd = tree, ...rest }) => {
    const path = command === agent.command ? program.path : command;
    const start = besideServices(options.services, path, args);
    return { ...rest, ...sandbox.wrap({ ...start, env: { ...env, ...SAFE }, cwd }) };
  };
  const inner = new ExternalAgent({ ...agent, actsAs: undefined, confine });
  const watch = watchDisk(place.folder, place.limits.disk, async (why) => {
    agent.log.warn("run.disk-full", { workspace, why });
    refused.tell(why);
    await inner[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });
  return {
    name: inner.name,
    open: (session) => {
      refused.tellTo((update) => session.update(update));
      return inner.open(session);
    },
    [Symbol.asyncDispose]: async () => {
      watch[Symbol.dispose]();
      await inner[Symbol.asyncDispose]();
      egress[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

/** Starts services that belong to the sandbox's first process, and becomes the program. */
const WITH_SERVICES = `
mkdir -p ~/services
count=$1
shift
while [ "$count" -gt 0 ]; do
  name=$1 line=$2
  (exec sh -c "$line" </dev/null >~/services/"$name".log 2>&1 &)
  shift 2
  count=$((count - 1))
done
exec "$@"`;

function besideServices(
  services: ConfinedAgentOptions["services"],
  command: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const all = Object.entries(services);
  if (all.length === 0) return { command, args };
  const words = ["sh", String(all.length), ...all.flat(), command, ...args];
  return { command: "/bin/sh", args: ["-c", WITH_SERVICES, ...words] };
}

/** Milliseconds between two counts, unless one takes long. */
const COUNT_EVERY = 5_000;
/** The share of the time that counting may take. */
const COUNT_SHARE = 20;

/** Counts what a folder takes, and calls back once it is over the limit. */
export function watchDisk(
  folder: string,
  most: number | undefined,
  over: (why: string) => Promise<void>,
  every = COUNT_EVERY,
): Disposable {
  const stop = new AbortController();
  const { signal } = stop;
  const watch = async (limit: number): Promise<void> => {
    for (let wait = every; ;) {
      await delay(wait, undefined, { ref: false, signal });
      const begun = performance.now();
      const bytes = await diskUse(folder).catch(() => 0);
      signal.throwIfAborted();
      wait = Math.max(every, COUNT_SHARE * (performance.now() - begun));
      if (bytes <= limit) continue;
      const what = `its files take ${bytes} bytes on disk, and \`remote.limits\` allows ${limit}`;
      return await over(
        `The agent was ended: ${what}. Open the session again with more, or delete it.`,
      );
    }
  };
  const watching = most === undefined ? Promise.resolve() : watch(most);
  background(
    watching.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    }),
    "Counting the files of a run",
  );
  return { [Symbol.dispose]: () => stop.abort() };
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
  let update: ((update: SessionUpdate) => void) | undefined;
  const tell = (message: string): void => {
    if (update === undefined) waiting.push(progressUpdate(message));
    else update(progressUpdate(message));
  };
  return {
    /** Sets where refusals are reported, and reports those that came before. */
    tellTo(to: (update: SessionUpdate) => void): void {
      update = to;
      for (const each of waiting.splice(0)) to(each);
    },
    tell,
    refused: (host: string, why: string): void => {
      if (told.has(host) || told.size >= MOST) return;
      told.add(host);
      log.warn("run.egress-refused", { workspace, host, why });
      tell(`A connection was refused: ${why.slice(0, LONGEST)}.`);
    },
  };
}
