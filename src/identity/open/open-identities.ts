import { existsSync } from "node:fs";

import type { IdentityLookup, AgentIdentity } from "../../agent/command-environment.ts";
import type { Log } from "../../base/log.ts";
import type { Config, ConfigInput } from "../../config/config.ts";
import { editConfigFile } from "../../config/file/edit-file.ts";
import type { ReloadSource } from "../../config/follow-config.ts";
import { loadConfig } from "../../config/load.ts";
import { userFile } from "../../config/locations.ts";
import { withSharedIdentities } from "../../fleet/open/shared-identities-file.ts";
import { SESSION_MARK } from "../../git/git.ts";
import { SESSION_VARIABLE, trailersOf } from "../agent-commits.ts";
import type { IdentitiesOptions } from "../identities.ts";
import type { IdentityCommands } from "../identity-commands.ts";
import { addForgeVariables, type ForgeVariables } from "../tokens/tokens.ts";

/** What is used of the running program. */
export interface ConfiguredApp {
  readonly config: Config;
  readonly log: Log;
  readonly reloading: Pick<ReloadSource, "files" | "set"> | undefined;
}

/** What the identities of a configuration are opened with. */
export function identitiesOptions(
  config: Pick<Config, "identities" | "agentCommits" | "data" | "x-juggler">,
  input: ConfigInput,
): IdentitiesOptions {
  const { data } = config;
  const { cwd, env } = input;
  const { path, namedBy } = userFile(input);
  return {
    settings: withSharedIdentities(data, config.identities),
    agentCommits: config.agentCommits,
    juggler: config["x-juggler"],
    data,
    env,
    cwd,
    file: {
      path,
      isNamed: namedBy !== undefined,
      edit: async (edits) => {
        await editConfigFile(path, edits, { env, data });
      },
      check: async (settings) => {
        const { checkIdentitySettings } = await import("../../config/schema/schema.gen.ts");
        return checkIdentitySettings(settings);
      },
    },
  };
}

/** The identities as the files configure them now: some may have been added since the start. */
export async function currentIdentities(
  app: ConfiguredApp,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<IdentityCommands> {
  const { openIdentityCommands } = await import("../identity-commands.ts");
  const { config, input } = await currentConfig(app, folder, env);
  return openIdentityCommands(identitiesOptions(config, input));
}

/** The configuration in a folder as the files have it now. */
export async function currentConfig(
  app: ConfiguredApp,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly config: Config; readonly input: ConfigInput }> {
  const input = currentInput(app, folder, env);
  return { config: (await loadConfig(input)).config, input };
}

/** How the configuration in a folder is read. */
export function currentInput(
  { config: { data }, reloading }: ConfiguredApp,
  folder: string,
  env: NodeJS.ProcessEnv,
): ConfigInput {
  // The user's own file comes first; as long as it does not exist, nobody can have named it.
  const [file] = reloading?.files ?? [];
  const configFile = file !== undefined && existsSync(file) ? file : undefined;
  return { cwd: folder, env, flags: { config: configFile, data } };
}

/** An agent, and the identity that its configuration names. */
export interface IdentifiedAgent {
  readonly agent: string;
  readonly identity?: string | undefined;
}

/**
 * The identity that an agent has to git in a folder: the one that a rule or its configuration names, else
 * the one detected for the folder. Without one, it acts as the user who runs us.
 */
export function agentIdentity(
  app: ConfiguredApp,
  { agent, identity: chosen }: IdentifiedAgent,
  env: NodeJS.ProcessEnv = process.env,
): IdentityLookup {
  const forge = forgeTokens(app);
  // Where a worker is lost, another one opens all its sessions at once.
  const together = new SharedRuns<AgentIdentity | undefined>();
  return (cwd, session = "") => together.ask(`${cwd}\n${session}`, () => identityIn(cwd, session));

  async function identityIn(cwd: string, session: string): Promise<AgentIdentity | undefined> {
    await using commands = await currentIdentities(app, cwd, env);
    const rule = await commands.agentRule(agent, cwd);
    // A process that serves several sessions does not know for which of them it commits.
    const isSayable = (line: string): boolean => session !== "" || !line.includes(SESSION_MARK);
    const trailers = trailersOf(rule, agent).filter(isSayable);
    const ofSession = session === "" ? {} : { [SESSION_VARIABLE]: session };
    const actAs = async (name?: string): Promise<AgentIdentity> => {
      const change = await commands.environments(name, rule, trailers);
      const environment = (base: NodeJS.ProcessEnv) => ({ ...change(base), ...ofSession });
      // Throws where the identity is not usable, before an agent is started with another.
      environment({});
      const own = name === undefined ? {} : await forge(commands, name);
      return {
        name: name ?? "",
        environment,
        processEnvironment: (base) => addForgeVariables(environment(base), own),
      };
    };
    const named = rule?.identity ?? chosen;
    if (named !== undefined) return await actAs(named);
    try {
      const { list } = commands.identities;
      const name = list.length === 0 ? undefined : await commands.identities.right(cwd);
      if (name !== undefined) return await actAs(name);
    } catch (error) {
      app.log.warn("agent.no-identity", { cwd, error });
    }
    return trailers.length === 0 ? undefined : await actAs();
  }
}

/** The name of the identity that `agentIdentity` would give an agent in a folder. */
export async function agentIdentityName(
  app: ConfiguredApp,
  agent: string,
  cwd: string,
): Promise<string | undefined> {
  await using commands = await currentIdentities(app, cwd, process.env);
  const chosen =
    (await commands.agentRule(agent, cwd))?.identity ?? app.config.agents[agent]?.identity;
  if (chosen !== undefined) return chosen;
  return commands.identities.list.length === 0 ? undefined : await commands.identities.right(cwd);
}

/** Milliseconds that a token is kept for: every command of an agent asks, and a store is slow. */
const HOLDS = 60_000;

type ForgeTokens = (commands: IdentityCommands, name: string) => Promise<ForgeVariables>;

/** Looks tokens up once for many commands. An agent can work without one, so a failure is logged. */
function forgeTokens({ log }: ConfiguredApp): ForgeTokens {
  const known = new Map<string, { readonly own: Promise<ForgeVariables>; readonly at: number }>();
  return (commands, name) => {
    const before = known.get(name);
    if (before !== undefined && performance.now() - before.at < HOLDS) return before.own;
    const own = commands.forgeVariables(name).catch((error: unknown) => {
      log.warn("agent.no-token", { identity: name, error });
      return {};
    });
    known.set(name, { own, at: performance.now() });
    return own;
  };
}

/**
 * Shares one run of some work among the callers of a key. A call that comes while the work runs waits for
 * the next run: something may have changed since the present one began.
 */
export class SharedRuns<T> {
  readonly #running = new Map<string, Promise<T>>();
  readonly #next = new Map<string, Promise<T>>();

  ask(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, work);
    const waiting = this.#next.get(key);
    if (waiting !== undefined) return waiting;
    const next = running
      .catch(() => {})
      .then(() => {
        this.#next.delete(key);
        return this.#begin(key, work);
      });
    this.#next.set(key, next);
    return next;
  }

  #begin(key: string, work: () => Promise<T>): Promise<T> {
    const running = work().finally(() => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    });
    this.#running.set(key, running);
    return running;
  }
}
