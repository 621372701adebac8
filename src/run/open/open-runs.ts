import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { limitRefusal, type Principal, mayUseRepository } from "../../base/principal.ts";
import type { Run } from "../run.ts";
import { RunAgent } from "../run-agent.ts";
import { isPlan } from "../run-plan.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import { Runs } from "../runs.ts";
import { type InnerAgent, Spares } from "../spares.ts";
import { DENIED_NAMES } from "../change/scan.ts";
import type { CarriedCheckpoints } from "../workspace/carried.ts";
import { canReflink, CopyDriver } from "../workspace/copy.ts";
import type { WorkspaceDriver } from "../workspace/driver.ts";
import { canOverlay, OverlayDriver } from "../workspace/overlay.ts";
import { RunUsers } from "../workspace/run-users.ts";
import { probeSandbox, type SandboxParts } from "../../sandbox/probe.ts";
import type { Agent } from "../../session/agent.ts";
import { SessionError } from "../../session/session-error.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import { openData } from "../../config/data-folder.ts";
import type { AppContext } from "../../config/app-context.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { removeSandbox } from "./confined-agent.ts";
import { identifyFor } from "./identify.ts";
import { innerAgent } from "./inner-agent.ts";
import { proposeOnForge } from "./propose-on-forge.ts";
import { runSetup } from "./run-setup.ts";

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
  /** Ends what was prepared for a principal whose access has ended. */
  endOf(principal: string): void;
}

/** Opens remote runs as configured. Throws if they need a sandbox and there is none. */
export async function openRuns(
  app: AppContext,
  mostSpares = 0,
  carried?: CarriedCheckpoints,
): Promise<OpenedRuns> {
  const { config, log } = app;
  const { remote } = config;
  // Users of sandboxes have to pass through this folder. The folder above it keeps other users out.
  openData(config.data);
  const folder = join(config.data, "run");
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await using opening = new AsyncDisposableStack();
  const parts = await sandboxFor(folder, remote.sandbox);
  if (parts === undefined) log.warn("run.no-sandbox", { setting: "remote.sandbox" });
  const driver = await chooseDriver(folder);
  if (Symbol.asyncDispose in driver) opening.use(driver as WorkspaceDriver & AsyncDisposable);
  const identify = identifyFor(app);
  const canBeOthers = process.getuid?.() === 0 && parts !== undefined;
  const users = canBeOthers ? new RunUsers(join(folder, "users")) : undefined;
  const runs = await Runs.open({
    folder,
    driver,
    policy: remote,
    scan: { ...remote.scan, denied: [...DENIED_NAMES, ...remote.scan.deny] },
    turns: remote.turns,
    mostBases: remote.bases,
    hibernateAfter: remote.hibernateAfter * 1000,
    identify,
    pullRequest: { mode: remote.pullRequest, propose: proposeOnForge(remote, identify) },
    coAuthor: remote.coAuthor,
    users,
    setup: runSetup(remote, { parts, open: openKeys(config.data, process.env) }),
    removePlace: removeSandbox,
    carried,
    log,
  });
  opening.use(runs);
  const inner = (name: string, run: Run): Promise<InnerAgent> =>
    innerAgent(app, name, { run, parts });
  const remove = async (plan: unknown): Promise<void> => {
    await runs.remove(plan);
    if (!isPlan(plan)) return;
    await removeSandbox(plan.workspace, users?.of(plan.workspace));
    // Only now, when no file of this user is left that the next workspace could find.
    users?.free(plan.workspace);
  };
  const spares = opening.use(
    new Spares({ most: mostSpares, open: (plan) => runs.open(plan, ""), inner, remove, log }),
  );
  const slots = new Semaphore({ running: availableParallelism() });
  const pace = carried && { slots, longest: PREPARED_WITHIN };
  const open = opening.move();
  return {
    place: (meta, principal) => place(runs, spares, meta, principal),
    agent: (name, plan) =>
      new RunAgent({
        runs,
        name,
        plan,
        answerWithin: ANSWER_WITHIN,
        reopenWithin: carried && REOPEN_WITHIN,
        pace,
        inner: (run) => inner(name, run),
        spares,
      }),
    remove,
    repositories: () => runs.repositories,
    endOf: (principal) => spares.endOf(principal),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function place(
  runs: Runs,
  spares: Spares,
  meta: unknown,
  principal: Principal,
): SessionSetup | undefined {
  const wanted = runs.plan(meta);
  if (wanted === undefined) return undefined;
  if (!mayUseRepository(principal, [wanted.url])) {
    const why = limitRefusal(principal, `the repository '${wanted.url}'`, `--repo ${wanted.url}`);
    throw new SessionError("permission-denied", why);
  }
  const plan = spares.reserve(wanted, principal.id);
  const cwd = runs.treeOf(plan);
  return { cwd, additionalDirectories: [], mcpServers: [], run: plan, meta: meta as never };
}

async function sandboxFor(
  folder: string,
  wanted: "on" | "unsafe-off",
): Promise<SandboxParts | undefined> {
  if (wanted === "unsafe-off") return undefined;
  const { parts, findings } = await probeSandbox(folder);
  if (parts !== undefined) return parts;
  const why = findings.find(({ isInForce }) => !isInForce)?.detail ?? "the reason is unknown";
  const next = "Run `trunkline doctor`. To run agents without a sandbox, use `--unsafe-no-sandbox`";
  throw new TrunklineError("unavailable", `Cannot run agents in a sandbox: ${why}. ${next}.`);
}

/** Overlay mounts, reflinks or copies: the first that works here. */
async function chooseDriver(folder: string): Promise<WorkspaceDriver> {
  if (canOverlay(folder)) return new OverlayDriver();
  return new CopyDriver((await canReflink(folder)) ? "reflink" : "copy");
}
