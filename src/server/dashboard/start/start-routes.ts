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
import { LARGEST_PROMPT, type SessionRoutes } from "../session/session-routes.ts";
import type { SessionRows } from "../session/session-rows.ts";

export interface StartRoutesOptions {
  readonly app: AppContext;
  readonly door: AcpDoor;
  readonly sessions: Pick<SessionRoutes, "actions">;
  readonly clients: SessionClients;
  readonly rows: SessionRows;
  /** Sessions are opened by workers, which have folders of their own. */
  readonly hasWorkers: boolean;
}

/** The endpoints that begin sessions and remote runs, and those that help to choose what to begin. */
export class StartRoutes {
  readonly #options: StartRoutesOptions;
  readonly #files = new FileNames();

  constructor(options: StartRoutesOptions) {
    this.#options = options;
  }

  get routes(): readonly ApiRoute[] {
    const get = (name: string, handle: ApiHandler): ApiRoute =>
      route(`GET /api/start/${name}`, "sessions", async (call) => {
        refuseWatcher(call.principal);
        return handle(call);
      });
    const begin = (name: string, handle: (call: ApiCall) => Promise<IdAnswer>): ApiRoute => ({
      ...route(`POST /api/${name}`, "sessions", handle),
      largest: LARGEST_PROMPT,
    });
    return [
      get("agents", async ({ principal }) => ({ agents: this.#agents(principal) })),
      get("folders", (call) => this.#folders(call)),
      get("files", async ({ principal, query }) => {
        const folder = await this.#folder(principal, query.get("folder") ?? "");
        return { files: await this.#files.inside(folder, query.get("q") ?? "") };
      }),
      begin("sessions", (call) => this.#beginSession(call)),
      begin("runs", (call) => this.#beginRun(call)),
    ];
  }

  #agents(principal: Principal): AgentChoice[] {
    const { data, agent, agents } = this.#options.app.config;
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

  async #folders({ principal, query }: ApiCall): Promise<FolderPage> {
    const { folders, repositories } = principal.limits ?? {};
    // It is unknown where the repositories are to which a token is limited.
    const starts = folders ?? (repositories === undefined ? [homedir()] : []);
    const [only] = starts;
    const given = query.get("path") || (starts.length === 1 ? only : undefined);
    if (given === undefined) {
      const listed = starts.map((path) => ({ name: basename(path), path, isRepository: false }));
      return { path: "", folders: listed, isCut: false };
    }
    const found = await listFolder(await this.#folder(principal, given), folders);
    const above = dirname(found.path);
    const isSeen =
      folders?.some((folder) => isInside(above, realPath(folder))) ?? repositories === undefined;
    return isSeen && above !== found.path ? { ...found, parent: above } : found;
  }

  async #beginSession({ principal, body }: ApiCall): Promise<IdAnswer> {
    const wanted = bodyAs(body, checkNewSession);
    const cwd = await this.#folder(principal, wanted.folder);
    if (!this.#options.hasWorkers && !isFolder(cwd)) {
      throw new TrunklineError("not-found", `There is no folder '${cwd.slice(0, 200)}'.`);
    }
    const { agent, branch, settings, prompt } = wanted;
    const worktree = wanted.worktree === true ? (branch ? { branch } : true) : undefined;
    return this.#begin(principal, { cwd, agent: agent || undefined, worktree }, prompt, settings);
  }

  async #beginRun({ principal, body }: ApiCall): Promise<IdAnswer> {
    const { repository: given, revision, agent, pullRequest, prompt } = bodyAs(body, checkNewRun);
    const repository = await this.#repository(principal, given.trim());
    const wanted = revision || undefined;
    const remote = await findRevision(this.#options.app, repository, wanted, "/", { principal });
    return this.#begin(principal, { remote, agent: agent || undefined, pullRequest }, prompt);
  }

  /** Begins a session. Where its settings or its prompt are refused, it is deleted again. */
  async #begin(
    principal: Principal,
    wanted: Exclude<SessionTarget, { sessionId: string }>,
    prompt: PromptBody | undefined,
    settings: readonly SettingBody[] = [],
  ): Promise<IdAnswer> {
    const { clients, sessions, app, hasWorkers } = this.#options;
    // Before anything is made; workers have keys of their own.
    if (prompt?.text.startsWith("/") === false && !hasWorkers) {
      await requireModel(app, process.env, wanted.agent);
    }
    const client = await clients.begin(principal, wanted);
    const { sessionId: id } = client;
    try {
      for (const setting of settings) await client.choose(setting);
      const session = await this.#made(principal, id);
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
  async #made(principal: Principal, id: string): Promise<ReadSession> {
    const { rows } = this.#options;
    const end = performance.now() + PATIENCE;
    while ((await rows.reader.find(id)) === undefined && performance.now() < end) {
      await delay(LOOK_AGAIN);
    }
    return rows.need(principal, id);
  }

  /** A folder that the principal may use, by the rule for sessions. */
  async #folder(principal: Principal, given: string): Promise<string> {
    const path = given.trim().replace(/^~(?=\/|$)/, () => homedir());
    if (!isAbsolute(path) || path.includes("\0")) {
      const says = `'${given.slice(0, 200)}' is not the absolute path of a folder.`;
      throw new TrunklineError("usage", says);
    }
    const setup = { cwd: resolve(path), additionalDirectories: [], mcpServers: [] };
    await refuseFolders(this.#options.door, setup, principal);
    return setup.cwd;
  }

  /** An address, or a folder that the principal may use. */
  async #repository(principal: Principal, given: string): Promise<string> {
    if (/^[~/]/.test(given)) return await this.#folder(principal, given);
    if (given.startsWith("file:") || parseRemoteUrl(given).transport !== "file") return given;
    const says = `'${given.slice(0, 200)}' is neither an address, such as https://example.com/team/app.git, nor the absolute path of a folder.`;
    throw new TrunklineError("usage", says);
  }
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
