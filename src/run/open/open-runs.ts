import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import type { ExternalAgentOptions } from "../../agent/external-agent.ts";
import { configuredModels } from "../../agent/models/model-commands.ts";
import { type Models, type SecretStoreOpener, storedKey } from "../../agent/models/models.ts";
import type { ModelSettings } from "../../config/schema/schema.gen.ts";
import { hostText } from "../../base/address.ts";
import { currentSession } from "../../base/background.ts";
import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import { accessTokenOf, type Principal } from "../../base/principal.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { RunLimitSettings } from "../../config/schema/schema.gen.ts";
import { BUILT_IN, type Config } from "../../config/config.ts";
import { openData } from "../../config/data-folder.ts";
import { parseFile } from "../../config/file/parse-file.ts";
import { ForgeHttp, type ForgeHttpOptions } from "../../forge/forge-http.ts";
import {
  type Forge,
  type ForgeKind,
  type RepositoryAddress,
  apiOf,
  forgeKind,
  newRequestPage,
  webHost,
} from "../../forge/forge.ts";
import { Gitea } from "../../forge/gitea.ts";
import { GitHub } from "../../forge/github.ts";
import { GitLab } from "../../forge/gitlab.ts";
import { propose } from "../../forge/propose.ts";
import { type Identity, splitHost } from "../../identity/identity.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import type { SandboxParts } from "../../sandbox/probe.ts";
import { openSandbox, PROXY, removeGroups } from "../../sandbox/sandbox.ts";
import { makeSettings } from "../../sandbox/sandbox-folder.ts";
import type { Agent } from "../../session/agent.ts";
import { isVisitor } from "../../session/workplace.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import { DENIED_NAMES } from "../change/scan.ts";
import type { RunSetup } from "../environment/environments.ts";
import { entryFor } from "../environment/recipe.ts";
import type { SetupPlaceOpener, SetupPlace } from "../environment/run-steps.ts";
import type { Proposal, ProposalResult, PullRequestProposer } from "../pull-request.ts";
import { type RemotePolicy, pinAddresses, refuseRepository } from "../remote-ref.ts";
import { type InnerAgent, runAgent } from "../run-agent.ts";
import { isPlan } from "../run-plan.ts";
import type { Run } from "../run.ts";
import { limitsFor } from "../run-limits.ts";
import { type Runs, runsIn } from "../runs.ts";
import type { SharedCheckpoints } from "../workspace/shared-checkpoints.ts";
import { RunUsers } from "../workspace/run-users.ts";
import { type AgentPlace, SAFE, openConfinedAgent, openFreeAgent } from "./confined-agent.ts";
import { visitorAgent } from "./visitor-agent.ts";
import { openDriver, sandboxFor } from "./examine-runs.ts";
import { type RunIdentity, identifyFor } from "./identify.ts";
import { type ModelServices, modelServices } from "./model-services.ts";

/** Milliseconds that `session/new` waits for a workspace: clients give up after 60 s. */
const ANSWER_WITHIN = 20_000;
/** In a fleet, a session that is opened again accepts prompts sooner: its worker may have been lost. */
const REOPEN_WITHIN = 500;
/** Milliseconds that a workspace which is prepared again may hold up the next one. */
const PREPARED_WITHIN = 2_000;

export interface OpenedRuns extends AsyncDisposable {
  place(meta: unknown, principal: Principal): SessionSetup | undefined;
  agent(name: string, run: unknown): Agent;
  remove(run: unknown): Promise<void>;
  /** Addresses of the repositories in the cache, as far as this process has used them; the last first. */
  repositories(): readonly string[];
}

/** Opens remote runs as configured. Throws if they need a sandbox and there is none. */
export async function openRuns(app: AppContext, carried?: SharedCheckpoints): Promise<OpenedRuns> {
  const { config, log } = app;
  const { remote } = config;
  // Users of sandboxes have to pass through this folder. The folder above it keeps other users out.
  openData(config.data);
  const folder = join(config.data, "run");
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await using opening = new AsyncDisposableStack();
  const parts = await sandboxFor(folder, remote.sandbox);
  if (parts === undefined) log.warn("run.no-sandbox", { setting: "remote.sandbox" });
  const driver = opening.use(await openDriver(folder, parts));
  const settings = parts && opening.use(await makeSettings(folder)).path;
  const identify = identifyFor(app);
  const open = openKeys(config.data, process.env);
  const models = configuredModels({ settings: config.models, env: process.env, log, open });
  const users = parts?.users === true ? new RunUsers(join(folder, "users")) : undefined;
  const runs = await runsIn({
    folder,
    driver,
    policy: remote,
    scan: { ...remote.scan, denied: [...DENIED_NAMES, ...remote.scan.deny] },
    limitsOf: ({ url, token }) => limitsFor(remote.limits, url, token),
    turns: remote.turns,
    mostBases: remote.bases,
    hibernateAfter: remote.hibernateAfter * 1000,
    identify,
    pullRequest: { mode: remote.pullRequest, propose: proposeOnForge(remote, identify) },
    coAuthor: remote.coAuthor,
    users,
    setup: runSetup(remote, { parts, settings, open }),
    removePlace: removeGroups,
    carried,
    log,
  });
  opening.use(runs);
  const inner = (name: string, run: Run): Promise<InnerAgent> =>
    innerAgent(app, name, { place: placeOf(run), parts, settings, models });
  const remove = async (plan: unknown): Promise<void> => {
    if (isVisitor(plan)) await removeGroups(plan.visitor, undefined);
    await runs.remove(plan);
    if (!isPlan(plan)) return;
    await removeGroups(plan.workspace, users?.of(plan.workspace));
    // Only now, when no file of this user is left that the next workspace could find.
    users?.free(plan.workspace);
  };
  const slots = new Semaphore({ running: availableParallelism() });
  const pace = carried && { slots, longest: PREPARED_WITHIN };
  const opened = opening.move();
  return {
    place: (meta, principal) => place(runs, meta, principal),
    agent: (name, plan) => {
      if (isVisitor(plan)) {
        const openInner = (at: AgentPlace) => innerAgent(app, name, { place: at, parts, models });
        return visitorAgent(config, name, plan, openInner);
      }
      return runAgent({
        runs,
        name,
        plan,
        answerWithin: ANSWER_WITHIN,
        reopenWithin: carried && REOPEN_WITHIN,
        pace,
        inner: (run) => inner(name, run),
      });
    },
    remove,
    repositories: () => runs.repositories,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function placeOf(run: Run): AgentPlace {
  const { plan, workspace, objects, limits, variables, owner } = run;
  const { folder, tree, home } = workspace;
  const { workspace: name, url } = plan;
  return { name, folder, tree, home, url, objects, limits, variables, owner };
}

function place(runs: Runs, meta: unknown, principal: Principal): SessionSetup | undefined {
  const wanted = runs.plan(meta);
  if (wanted === undefined) return undefined;
  refuseRepository(principal, wanted.url);
  const within = principal.limits?.repositories;
  const token = accessTokenOf(principal) === undefined ? undefined : principal.name;
  const plan = { ...wanted, within, token };
  const cwd = runs.treeOf(plan);
  return { cwd, additionalDirectories: [], mcpServers: [], run: plan, meta: meta as never };
}

export interface InnerAgentOptions {
  readonly place: AgentPlace;
  /** Undefined if runs have no sandbox (`remote.sandbox`). */
  readonly parts: SandboxParts | undefined;
  /** Those of the system, for sandboxes. */
  readonly settings?: string | undefined;
  readonly models: Models;
}

/**
 * The agent that works in a run, or in a session that has moved here. Even the built-in agent is started as a separate program, so that
 * everything it reads and runs is inside the sandbox.
 */
export async function innerAgent(
  { config, log }: AppContext,
  name: string,
  { place, parts, settings, models }: InnerAgentOptions,
): Promise<InnerAgent> {
  const configured = name === BUILT_IN ? undefined : config.agents[name];
  if (name !== BUILT_IN && configured === undefined) {
    const says = `Cannot find agent '${name.slice(0, 100)}'. \`trunkline agent list\` shows the configured agents.`;
    throw new TrunklineError("not-found", says);
  }
  const limits = config.limits.messages;
  const agent = ({ settings }: ModelServices): ExternalAgentOptions => {
    return { ...(configured ?? builtIn(settings)), name, limits, log };
  };
  const servicesAt = (proxy: string, pass?: string): Promise<ModelServices> =>
    modelServices({ models, settings: config.models, proxy, pass });
  if (parts === undefined) return await openFreeAgent({ agent, models: servicesAt });
  const services = await servicesAt(PROXY);
  return await openConfinedAgent({
    place,
    parts,
    settings,
    agent: agent(services),
    needs:
      name === BUILT_IN
        ? selfCommand()
            .slice(1)
            .map((path) => dirname(path))
        : [],
    allowHosts: config.remote.egress.allowHosts,
    models: services,
    services: entryFor(place.url, config.remote.setup.repositories)?.services ?? {},
  });
}

/**
 * It cannot read the configuration in a sandbox, so it is told its models; and that its commands need no
 * sandbox of their own: they have that of the run, or a person wants none.
 */
function builtIn(settings: ModelSettings): Pick<ExternalAgentOptions, "command" | "args"> {
  const [command, ...args] = selfCommand();
  const set = [`models=${JSON.stringify(settings)}`, "agent.sandbox=off"];
  const flags = set.flatMap((each) => ["--set", each]);
  return { command, args: [...args, "acp", "--agent", BUILT_IN, ...flags] };
}

/** Milliseconds for all calls of one pull request: the answer of the turn waits for them. */
const TIME = 25_000;
const TIME_OF_A_CALL = 10_000;

export interface ForgePolicy extends RemotePolicy {
  /** The software of self-hosted forges, by host. */
  readonly forges: Readonly<Record<string, ForgeKind>>;
}

/** Opens pull requests with the token of the identity that matches the repository. */
export function proposeOnForge(
  policy: ForgePolicy,
  identify: (url: string) => Promise<RunIdentity>,
): PullRequestProposer {
  return async (proposal) => {
    let page: string | undefined;
    try {
      const { identity, credentials } = await identify(proposal.url);
      const address = addressOf(proposal.url, identity);
      const kind = forgeKind(address.host, policy.forges, identity);
      if (kind === undefined) {
        const says = `the software of the forge '${address.host}' is not known. Set it in \`remote.forges\`.`;
        throw new TrunklineError("config", says);
      }
      page = newRequestPage(kind, address, proposal.head);
      const forge = forgeAt(kind, address, policy, needToken(credentials), proposal);
      return await propose(forge, proposal);
    } catch (error) {
      return failure(error, page);
    }
  };
}

function failure(error: unknown, page: string | undefined): ProposalResult {
  const { message } = error as Error;
  const why = /[.!?]$/.test(message) ? message : `${message}.`;
  return { state: "failed", why, ...(page === undefined ? {} : { page }) };
}

/** The web address of a repository. For SSH it is assumed to be on the same host. */
function addressOf(url: string, identity: Identity | undefined): RepositoryAddress {
  const { transport, host = "", port, owner, repository } = parseRemoteUrl(url);
  if (host === "" || owner === undefined || repository === undefined) {
    throw new TrunklineError("usage", "the repository is not on a forge.");
  }
  const place = { owner, repository, scheme: transport === "http" ? "http" : "https" } as const;
  if (transport === "https" || transport === "http") {
    return { ...place, host: hostText({ host, port }) };
  }
  // The identity's host is used only for its SSH alias and its port: its token may go nowhere
  // else, and the same path on another forge is somebody else's repository.
  const { host: its = "", sshHost } = identity ?? {};
  const isIts = its !== "" && (host === sshHost || host === splitHost(its).name);
  return { ...place, host: isIts ? its : webHost(host) };
}

function needToken({ token, noToken }: RunIdentity["credentials"]): string {
  if (token !== undefined) return token;
  const none = "no identity matches the repository";
  const next = "Add one with `trunkline identity add`, and set its token";
  throw new TrunklineError("untrusted", noToken ?? `${none}. ${next}.`);
}

const FORGES = { github: GitHub, gitlab: GitLab, gitea: Gitea } as const;

function forgeAt(
  kind: ForgeKind,
  address: RepositoryAddress,
  policy: RemotePolicy,
  token: string,
  { signal }: Proposal,
): Forge {
  const Kind = FORGES[kind];
  const api = apiOf(kind, address);
  const options: ForgeHttpOptions = {
    api,
    headers: Kind.headersFor(token),
    addresses: () => pinAddresses(parseRemoteUrl(`${api}/`), policy),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIME)]),
    timeout: TIME_OF_A_CALL,
  };
  return Kind.open(new ForgeHttp(options), address.owner, address.repository);
}

interface RunSetupOptions {
  readonly parts: SandboxParts | undefined;
  readonly settings?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly open: SecretStoreOpener;
}

/** The configured set-up of repositories. Secrets come from the environment of the server, or are stored. */
export function runSetup(
  { setup, egress, limits }: Config["remote"],
  { parts, settings, env = process.env, open }: RunSetupOptions,
): RunSetup {
  return {
    settings: setup,
    mostLayers: setup.layers,
    openPlace: setupPlaces(parts, egress.allowHosts, limits, settings),
    maxLayer: setup.maxLayer,
    findSecret: async (name) => env[name] || storedKey(name, open),
    parse: (path, text) => parseFile(path, text).value,
    machine: thisMachine(),
  };
}

/** Compiled programs may not run on another system, or on another release of it. */
function thisMachine(): string {
  // Not every system has this file.
  const release = attempt(() => readFileSync("/etc/os-release", "utf8")) ?? "";
  return `${process.platform} ${process.arch} ${release}`;
}

/**
 * Runs a command in a shell that redirects stderr to stdout, so that both stay in order. The repository
 * may choose the variables. They are set here, inside the sandbox, not for the programs that create it:
 * those would load the library of an `LD_PRELOAD` outside of the sandbox.
 */
function shellFor(env: Readonly<Record<string, string>>, command: readonly string[]) {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const args = ["-c", 'exec env -- "$@" 2>&1', "sh", ...variables, ...command];
  return { command: "/bin/sh", args };
}

/**
 * Opens places for set-up: sandboxes like those of agents, because set-up runs code of the repository.
 * Only the allowed hosts differ. `allowHosts` are those of agents.
 */
export function setupPlaces(
  parts: SandboxParts | undefined,
  allowHosts: readonly string[],
  limits: RunLimitSettings = {},
  settings?: string,
): SetupPlaceOpener {
  return async (options) => {
    const { name, url, workspace, folder, owner, home, objects, refused } = options;
    const own = { ...usualVariables(), ...options.secrets };
    if (parts === undefined) return unconfined(workspace.tree, own, options.env);
    const egress = new EgressProxy({
      allowHosts: [...allowHosts, ...options.allowHosts],
      setting: "`allowHosts` of `remote.setup.repositories` or `remote.egress.allowHosts`",
      refused: (_, why) => refused(why),
    });
    const sandbox = await openSandbox({
      name,
      // It is removed with the workspace, even if we are killed.
      data: join(workspace.folder, "sandbox"),
      parts,
      settings,
      write: [workspace.tree],
      also: [{ path: workspace.tree, at: folder }],
      home,
      read: objects,
      limits: limitsFor(limits, url),
      egress,
      user: owner,
    });
    return {
      start: (command) => {
        const env = { ...own, ...SAFE };
        const program = { ...shellFor(options.env, command), env, cwd: folder };
        return OwnedChild.start({ ...sandbox.wrap(program), serves: currentSession() });
      },
      [Symbol.asyncDispose]: async () => {
        egress[Symbol.dispose]();
        await sandbox[Symbol.asyncDispose]();
      },
    };
  };
}

function unconfined(
  cwd: string,
  env: NodeJS.ProcessEnv,
  more: Readonly<Record<string, string>>,
): SetupPlace {
  return {
    start: (command) =>
      OwnedChild.start({ ...shellFor(more, command), env, cwd, serves: currentSession() }),
    [Symbol.asyncDispose]: async () => {},
  };
}
