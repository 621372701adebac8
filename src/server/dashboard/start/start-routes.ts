import { existsSync, statSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { KnownAgents } from "../../../agent/known-agents.ts";
import { requireModel } from "../../../agent/open/offered-agents.ts";
import { FileNames } from "../../../agent/prompt/file-names.ts";
import {
  type ApiCall,
  type ApiHandler,
  type ApiRoute,
  bodyAs,
  route,
} from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { isFolder, isInside, realPath } from "../../../base/file/path.ts";
import { leadsInside } from "../../../base/file/read-regular-file.ts";
import { type Principal, mayControl, mayUseAgent } from "../../../base/principal.ts";
import { parseRemoteUrl } from "../../../base/remote-url.ts";
import type { AppContext } from "../../../config/app-context.ts";
import { BUILT_IN } from "../../../config/config.ts";
import type { SessionTarget } from "../../../protocol/acp/attach.ts";
import type { AcpDoor } from "../../../protocol/acp/door.ts";
import { objectOf } from "../../../protocol/acp/methods.ts";
import { refuseFolders } from "../../../protocol/acp/serve-sessions.ts";
import { findRevision } from "../../../run/open/find-revision.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import type { AgentChoice, IdAnswer, FolderPage } from "../session-api.ts";
import { checkNewRun, checkNewSession, type PromptBody, type SettingBody } from "../schema.gen.ts";
import { LOOK_AGAIN, PATIENCE } from "../session/session-actions.ts";
import type { SessionClients } from "../session/session-clients.ts";
import { LARGEST_PROMPT, type sessionRoutes } from "../session/session-routes.ts";
import type { SessionRows } from "../session/session-rows.ts";

export interface StartRoutesOptions {
  readonly app: AppContext;
  readonly door: AcpDoor;
  readonly sessions: Pick<ReturnType<typeof sessionRoutes>, "actions">;
  readonly clients: SessionClients;
  readonly rows: SessionRows;
  /** Sessions are opened by workers, which have folders of their own. */
  readonly hasWorkers: boolean;
}

/** The endpoints that begin sessions and remote runs, and those that help to choose what to begin. */
export function startRoutes(options: StartRoutesOptions): readonly ApiRoute[] {
  const { app, door, sessions, clients, rows, hasWorkers } = options;
  const files = new FileNames();
  const get = (name: string, handle: ApiHandler): ApiRoute =>
    route(`GET /api/start/${name}`, "sessions", async (call) => {
      refuseWatcher(call.principal);
      return handle(call);
    });
  const beginAt = (name: string, handle: (call: ApiCall) => Promise<IdAnswer>): ApiRoute => ({
    ...route(`POST /api/${name}`, "sessions", handle),
    largest: LARGEST_PROMPT,
  });

  function agents(principal: Principal): AgentChoice[] {
    const { data, agent, agents } = app.config;
    const known = new KnownAgents(data);
    return [...new Set([agent.name, BUILT_IN, ...Object.keys(agents)])]
      .filter((name) => mayUseAgent(principal, name))
      .map((name) => {
        const program = agents[name];
        const settings = known.findSettings(name, program) ?? {};
        const hello = program && known.find(name, program);
        const { image } = objectOf(objectOf(hello?.agentCapabilities)["promptCapabilities"]);
        return {
          name,
          settings: settings as unknown as AgentChoice["settings"],
          takesImages: hello === undefined || image === true,
        };
      });
  }

  async function folders({ principal, query }: ApiCall): Promise<FolderPage> {
    const { folders: allowed, repositories } = principal.limits ?? {};
    // It is unknown where the repositories are to which a token is limited.
    const starts = allowed ?? (repositories === undefined ? [homedir()] : []);
    const [only] = starts;
    const given = query.get("path") || (starts.length === 1 ? only : undefined);
    if (given === undefined) {
      const listed = starts.map((path) => ({ name: basename(path), path, isRepository: false }));
      return { path: "", folders: listed, isCut: false };
    }
    const found = await listFolder(await folder(principal, given), allowed);
    const above = dirname(found.path);
    const isSeen =
      allowed?.some((each) => isInside(above, realPath(each))) ?? repositories === undefined;
    return isSeen && above !== found.path ? { ...found, parent: above } : found;
  }

  async function beginSession({ principal, body }: ApiCall): Promise<IdAnswer> {
    const wanted = bodyAs(body, checkNewSession);
    const cwd = await folder(principal, wanted.folder);
    if (!hasWorkers && !isFolder(cwd)) {
      throw new TrunklineError("not-found", `There is no folder '${cwd.slice(0, 200)}'.`);
    }
    const { agent, branch, settings, prompt } = wanted;
    const worktree = wanted.worktree === true ? (branch ? { branch } : true) : undefined;
    return begin(principal, { cwd, agent: agent || undefined, worktree }, prompt, settings);
  }

  async function beginRun({ principal, body }: ApiCall): Promise<IdAnswer> {
    const { repository: given, revision, agent, pullRequest, prompt } = bodyAs(body, checkNewRun);
    const address = await repositoryAt(principal, given.trim());
    const wanted = revision || undefined;
    const remote = await findRevision(app, address, wanted, "/", { principal });
    return begin(principal, { remote, agent: agent || undefined, pullRequest }, prompt);
  }

  /** Begins a session. Where its settings or its prompt are refused, it is deleted again. */
  async function begin(
    principal: Principal,
    wanted: Exclude<SessionTarget, { sessionId: string }>,
    prompt: PromptBody | undefined,
    settings: readonly SettingBody[] = [],
  ): Promise<IdAnswer> {
    // Before anything is made; workers have keys of their own.
    if (prompt?.text.startsWith("/") === false && !hasWorkers) {
      await requireModel(app, process.env, wanted.agent);
    }
    const client = await clients.begin(principal, wanted);
    const { sessionId: id } = client;
    try {
      for (const setting of settings) await client.choose(setting);
      const session = await made(principal, id);
      if (prompt !== undefined) {
        await sessions.actions.prompt(principal, session, prompt).catch(unlessLate);
      }
    } catch (error) {
      await client.discard().catch((why: unknown) => {
        app.log.warn("dashboard.session-not-deleted", { session: id, error: why });
      });
      throw error;
    }
    return { id };
  }

  /** A new session as it is read; in a fleet, that may take a moment. */
  async function made(principal: Principal, id: string): Promise<ReadSession> {
    const end = performance.now() + PATIENCE;
    while ((await rows.reader.find(id)) === undefined && performance.now() < end) {
      await delay(LOOK_AGAIN);
    }
    return rows.need(principal, id);
  }

  /** A folder that the principal may use, by the rule for sessions. */
  async function folder(principal: Principal, given: string): Promise<string> {
    const path = given.trim().replace(/^~(?=\/|$)/, () => homedir());
    if (!isAbsolute(path) || path.includes("\0")) {
      const says = `'${given.slice(0, 200)}' is not the absolute path of a folder.`;
      throw new TrunklineError("usage", says);
    }
    const setup = { cwd: resolve(path), additionalDirectories: [], mcpServers: [] };
    await refuseFolders(door, setup, principal);
    return setup.cwd;
  }

  /** An address, or a folder that the principal may use. */
  async function repositoryAt(principal: Principal, given: string): Promise<string> {
    if (/^[~/]/.test(given)) return await folder(principal, given);
    if (given.startsWith("file:") || parseRemoteUrl(given).transport !== "file") return given;
    const says = `'${given.slice(0, 200)}' is neither an address, such as https://example.com/team/app.git, nor the absolute path of a folder.`;
    throw new TrunklineError("usage", says);
  }

  return [
    get("agents", async ({ principal }) => ({ agents: agents(principal) })),
    get("folders", folders),
    get("files", async ({ principal, query }) => {
      const inside = await folder(principal, query.get("folder") ?? "");
      return { files: await files.inside(inside, query.get("q") ?? "") };
    }),
    beginAt("sessions", beginSession),
    beginAt("runs", beginRun),
  ];
}

/** A slow session has the prompt, and may still take it. */
function unlessLate(error: unknown): void {
  if (!(error instanceof TrunklineError) || error.code !== "timeout") throw error;
}

function refuseWatcher(principal: Principal): void {
  if (mayControl(principal)) return;
  const says = "This token only observes, and begins nothing.";
  throw new TrunklineError("untrusted", `${says} Use one that was created without --observe.`);
}

/** Entries of a folder that are looked at, and folders that are listed. */
const MOST_ENTRIES = 20_000;
const MOST_FOLDERS = 500;

/**
 * Lists the folders in a folder, without hidden ones and links: those could lead anywhere. Throws if the
 * folder is not in one of `inside`, where that is given.
 */
export async function listFolder(
  path: string,
  inside: readonly string[] | undefined,
): Promise<Pick<FolderPage, "path" | "folders" | "isCut">> {
  const real = realPath(path);
  const opened = statSync(real, { throwIfNoEntry: false });
  if (opened === undefined) throw unlisted(path, "there is no such folder");
  if (!opened.isDirectory()) throw unlisted(path, "it is not a folder");
  const names: string[] = [];
  let seen = 0;
  try {
    for await (const entry of await opendir(real)) {
      if (seen++ === MOST_ENTRIES) break;
      if (entry.isDirectory() && !entry.name.startsWith(".")) names.push(entry.name);
    }
  } catch (error) {
    const { code = "it cannot be read" } = error as NodeJS.ErrnoException;
    throw unlisted(path, code === "EACCES" ? "you may not read it" : code);
  }
  // Programs may replace a folder by a link at any moment, so it is compared after it was read.
  if (inside !== undefined && !leadsInside(real, opened, inside)) {
    throw unlisted(path, "it is not in a folder that this token may use");
  }
  const folders = names
    .toSorted()
    .slice(0, MOST_FOLDERS)
    // Only the listed ones are sorted: collating 20,000 names would delay other requests.
    .toSorted((a, b) => a.localeCompare(b))
    .map((name) => ({ name, path: join(real, name), isRepository: isRepository(real, name) }));
  return { path: real, folders, isCut: seen > MOST_ENTRIES || names.length > folders.length };
}

function isRepository(folder: string, name: string): boolean {
  return existsSync(join(folder, name, ".git"));
}

function unlisted(path: string, why: string): TrunklineError {
  return new TrunklineError("not-found", `Cannot list '${path.slice(0, 200)}': ${why}.`);
}
