import { type Dirent, constants } from "node:fs";
import { lchown, mkdir, open, readdir, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TrunklineError } from "../../base/errors.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import type { Log } from "../../base/log.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { SHORTEST_SECRET, secretForms } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { ServerGit } from "../../git/server/server-git.ts";
import { type RevisionContent, type ContentRequest, objectFolders } from "../content/content.ts";
import { isOfFile } from "../content/flat-index.ts";
import type { CachedRepository } from "../repository-cache.ts";
import { giveTo } from "../workspace/copy.ts";
import type { WorkspaceDriver } from "../workspace/driver.ts";
import type { RunUsers } from "../workspace/run-users.ts";
import { type Workspaces, diskUse } from "../workspace/workspace.ts";
import {
  type SetupLayer,
  type LayerName,
  type Layers,
  type RevisionFiles,
  type SetupFailure,
  foldersAbove,
  filesOf,
  layerKey,
  idOf,
} from "./layers.ts";
import {
  type Recipe,
  type RecipeSource,
  type SetupSettings,
  entryFor,
  recipeFor,
  secretsFor,
  variablesOf,
  workspaceFolder,
} from "./recipe.ts";
import { type SetupPlaceOpener, openOutput, runSteps } from "./run-steps.ts";

/** Milliseconds until a failed set-up is retried; doubled after each further failure. */
const FIRST_WAIT = 30_000;
const LONGEST_WAIT = 60 * 60_000;

/** Whether set-up may be tried again. A failure during the request's own wait counts for the request, too. */
function mayTry({ at, count }: SetupFailure, begun: number, retry: boolean): boolean {
  return at < begun && (retry || Date.now() >= at + waitAfter(count));
}

function waitAfter(count: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (count - 1));
}

function wordsOnFailure({ title }: Recipe, why: string): string {
  return `The environment could not be set up (${title}): ${why}`;
}

function wordsOnNext({ at, count }: SetupFailure, id: string): string {
  const seconds = Math.max(0, Math.ceil((at + waitAfter(count) - Date.now()) / 1_000));
  const when = seconds > 120 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`;
  return `This session continues without it. New sessions retry after ${when}; \`trunkline run --retry-setup\` retries at once. \`trunkline run log\` shows the whole log (set-up ${id}).`;
}

function wordsOnEarlier(failure: SetupFailure, recipe: Recipe, id: string): string {
  const ago = Math.round((Date.now() - failure.at) / 1_000);
  return `${wordsOnFailure(recipe, failure.why)} (${ago} s ago). ${wordsOnNext(failure, id)}`;
}

interface EnvironmentsOptions extends LayerBuilderOptions {
  readonly settings: SetupSettings;
  /** Finds the value of a secret. */
  readonly findSecret: (name: string) => Promise<string | undefined>;
  /** Parses JSON with comments. Throws if it is invalid. */
  readonly parse: (path: string, text: string) => unknown;
  /** Identifies the system that results are built for. */
  readonly machine: string;
  readonly log: Log;
}

/** The configuration of set-up, and what the gateway provides for it. */
export interface RunSetup extends Pick<
  EnvironmentsOptions,
  "settings" | "openPlace" | "findSecret" | "parse" | "machine" | "maxLayer"
> {
  /** How many layers are kept for each repository. */
  readonly mostLayers: number;
}

/** A run's request for its environment. */
export interface EnvironmentRequest extends Omit<ContentRequest, "within"> {
  /** The name of its workspace. */
  readonly workspace: string;
  readonly content?: RevisionContent;
  /** Whether to try even if set-up has failed recently. */
  readonly retry: boolean;
  /** Called before set-up begins, which takes long. Throws if the run will fail anyway. */
  readonly check: () => Promise<void>;
}

/** A request with what was found out about it. */
interface WantedLayer extends EnvironmentRequest {
  readonly recipe: Recipe;
  readonly name: LayerName;
  readonly files: RevisionFiles;
  /** When it was asked for, in milliseconds since 1970. */
  readonly begun: number;
}

const LOOK_EVERY = 100;
const LARGEST_FILE = 1024 * 1024;
/** How many set-ups run at once; each may use as many resources as an agent. */
const AT_ONCE = 4;

/** Sets repositories up, once for all runs that can use the result. */
export function openEnvironments(options: EnvironmentsOptions) {
  const { driver, findSecret, layers, log, machine, parse, settings, workspaces } = options;
  const slots = new Semaphore({ running: AT_ONCE });

  /**
   * The layer that a workspace begins with, or began with. Undefined if there is nothing to set up, or if
   * set-up failed: the session has been told, and continues without it.
   */
  async function prepare(request: EnvironmentRequest): Promise<SetupLayer | undefined> {
    let refusal: unknown;
    const check = (): Promise<void> =>
      request.check().catch((error: unknown) => {
        refusal = error;
        throw error;
      });
    try {
      return await layerFor({ ...request, check });
    } catch (error) {
      request.signal.throwIfAborted();
      if (error === refusal) throw error;
      log.warn("run.setup-unknown", { url: request.repository.url, error });
      request.tell(`This session continues without its environment: ${messageOf(error)}`);
      return undefined;
    }
  }

  async function layerFor(request: EnvironmentRequest): Promise<SetupLayer | undefined> {
    const begun = await workspaces.layerOf(request.workspace);
    if (begun === undefined) return await need(request);
    if (begun === null) return undefined;
    const layer = await layers.exactly(request.repository, begun);
    // A workspace that is a copy already contains the layer's files.
    return layer ?? (driver.name === "overlay" ? await need(request) : undefined);
  }

  /** Finds a layer, waits for one that is being made, or makes it. */
  async function need(request: EnvironmentRequest): Promise<SetupLayer | undefined> {
    const wanted = await want(request);
    if (wanted === undefined) return undefined;
    const { repository, name, recipe, tell, signal } = wanted;
    for (let looks = 0; ; looks++) {
      const known = await knownFor(wanted);
      if (known !== undefined) return known.layer;
      if (await layers.isBeingMade(repository, name)) {
        if (looks === 1)
          tell(`Waiting for another session that sets up the environment (${recipe.title}) …`);
        await delay(LOOK_EVERY, undefined, { signal }).catch(() => signal.throwIfAborted());
        continue;
      }
      using right = await layers.begin(repository, name);
      if (right === undefined) continue;
      // The previous holder of the lock may have finished in between.
      const since = await knownFor(wanted);
      if (since !== undefined) return since.layer;
      await request.check();
      return await makeInTurn(wanted);
    }
  }

  /** The known result of set-up: a layer, or a failure that must not be retried yet. */
  async function knownFor(
    wanted: WantedLayer,
  ): Promise<{ readonly layer: SetupLayer | undefined } | undefined> {
    const { repository, name, recipe, tell, begun, retry } = wanted;
    const layer = await findLayer(wanted);
    if (layer !== undefined) {
      log.info("run.setup-hit", { url: repository.url, layer: layer.id });
      return { layer };
    }
    const failure = await layers.failureOf(repository, name);
    if (failure === undefined || mayTry(failure, begun, retry)) return undefined;
    tell(wordsOnEarlier(failure, recipe, idOf(name)));
    return { layer };
  }

  async function want(request: EnvironmentRequest): Promise<WantedLayer | undefined> {
    const { repository, revision } = request;
    const begun = Date.now();
    // Most repositories have no set-up, so this is checked before anything is read.
    const { repositories, from } = settings;
    if (from.length === 0 && entryFor(repository.url, repositories) === undefined) return undefined;
    const files = await filesOf(repository, revision);
    const source = sourceOf(repository, revision, files);
    const recipe = await recipeFor(source, settings);
    if (recipe === undefined) return undefined;
    const name = { key: layerKey(recipe, files, machine), revision };
    return { ...request, recipe, name, files, begun };
  }

  /** The variables that agents get; none if they cannot be read, about which `prepare` tells the session. */
  async function variables(
    repository: CachedRepository,
    revision: string,
  ): Promise<Readonly<Record<string, string>>> {
    if (!settings.from.includes("devcontainer")) return {};
    const files = await filesOf(repository, revision);
    const source = sourceOf(repository, revision, files);
    return await variablesOf(source, settings).catch(() => ({}));
  }

  function sourceOf(
    repository: CachedRepository,
    revision: string,
    files: RevisionFiles,
  ): RecipeSource {
    const { git, url } = repository;
    return {
      url,
      folder: workspaceFolder(url),
      has: (path) => files.has(path),
      read: (path) =>
        git.text(["cat-file", "blob", `${revision}:${path}`], { maxOutput: LARGEST_FILE }),
      parse,
      variables: usualVariables(),
    };
  }

  async function findLayer({
    repository,
    name,
    files,
    credentials,
  }: WantedLayer): Promise<SetupLayer | undefined> {
    const found = await layers.find(repository, name, files);
    if (found !== undefined) return found;
    const isKnown =
      (await repository.shallow()) === "" || !(await layers.hasAlike(repository, name));
    if (isKnown) return undefined;
    // Without its history, the ancestors of the revision are unknown. Fetching it is cheaper than set-up.
    await repository.fill(credentials);
    return await layers.find(repository, name, files);
  }

  async function makeInTurn(wanted: WantedLayer): Promise<SetupLayer | undefined> {
    if (!slots.isFree()) {
      wanted.tell("Waiting for a free slot: other environments are being set up …");
    }
    return await slots.run(() => make(wanted), { signal: wanted.signal });
  }

  async function make(wanted: WantedLayer): Promise<SetupLayer | undefined> {
    const { repository, name, recipe, tell, signal } = wanted;
    const { url } = repository;
    tell(`Setting up the environment (${recipe.title}) …`);
    for (const note of recipe.notes) tell(note);
    const path = layers.logOf(repository, name);
    const begun = performance.now();
    const seconds = (): string => `${((performance.now() - begun) / 1_000).toFixed(1)} s`;
    try {
      const secrets = await secretsFor(recipe, findSecret);
      const layer = await buildLayer(options, { ...wanted, secrets });
      log.info("run.setup-miss", { url, layer: layer.id, seconds: seconds() });
      tell(`The environment is set up (${recipe.title}): ${seconds()}.`);
      return layer;
    } catch (error) {
      signal.throwIfAborted();
      const why = messageOf(error);
      const failure = await layers.failed(repository, name, why);
      log.warn("run.setup-failed", { url, why, log: path, count: failure.count });
      const lines = error instanceof SetupError ? error.lines : [];
      const end = lines.length === 0 ? "" : `Its last lines:\n${lines.join("\n")}\n`;
      const words = `${wordsOnFailure(recipe, why)} (${seconds()}).`;
      tell(`${words} ${end}${wordsOnNext(failure, idOf(name))}`);
      return undefined;
    }
  }

  return { prepare, variables };
}

export type Environments = ReturnType<typeof openEnvironments>;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface LayerBuilderOptions {
  readonly layers: Layers;
  readonly workspaces: Workspaces;
  readonly driver: WorkspaceDriver;
  readonly openPlace: SetupPlaceOpener;
  readonly users?: RunUsers | undefined;
  /** The most bytes that a layer may take. */
  readonly maxLayer: number;
}

interface LayerRequest extends WantedLayer {
  readonly secrets: Readonly<Record<string, string>>;
}

/** A set-up that failed, with the end of its output. */
class SetupError extends Error {
  override readonly name = "SetupError";
  readonly lines: readonly string[];

  constructor(cause: Error, lines: readonly string[]) {
    super(cause.message, { cause });
    this.lines = lines;
  }
}

/** The most files that a message names. */
const MOST_NAMED = 5;

/** Runs set-up in its own workspace, and makes a layer of the result. Throws SetupError. */
async function buildLayer(
  options: LayerBuilderOptions,
  request: LayerRequest,
): Promise<SetupLayer> {
  const { workspaces, layers, driver, users } = options;
  const { repository, content, name, recipe, secrets, tell } = request;
  const search = new SecretSearch(secrets);
  const session = workspaces.newSetupName();
  const user = users?.of(session);
  const opening = workspaces.open({
    session,
    repository,
    content,
    revision: name.revision,
    branch: "setup",
    owner: user,
    keep: recipe.keep,
  });
  const workspace = await opening.catch((error: unknown) => {
    users?.free(session);
    throw error;
  });
  const home = join(workspace.folder, "home");
  await using output = openOutput({ path: layers.logOf(repository, name), tell });
  try {
    await mkdir(home, { mode: 0o700 });
    if (user !== undefined) await lchown(home, user.uid, user.gid);
    {
      await using place = await options.openPlace({
        name: session,
        url: repository.url,
        workspace,
        folder: workspaceFolder(repository.url),
        owner: user,
        home,
        env: recipe.env,
        secrets,
        objects: objectFolders(repository, workspace.content),
        allowHosts: recipe.allowHosts,
        refused: (why) => output.line(`trunkline: ${why}`),
      });
      await runSteps(place, recipe, output, request.signal);
    }
    const others = await undoAllButIgnored(workspace.git);
    const roots = await ignoredIn(workspace.git);
    await workspace.close();
    const tree = await driver.changesOf(workspace.folder, user);
    const hasHome = (await readdir(home)).length > 0;
    if (user !== undefined && hasHome)
      await giveTo(home, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 });
    const from = { tree, ...(hasHome ? { home } : {}) };
    await checkSize([...roots.map((root) => join(tree, root)), home], options.maxLayer);
    const facts = { roots, keep: recipe.keep };
    const layer = await layers.add(repository, name, from, facts, async (folder) => {
      const removed = await removeSecrets(folder, search);
      if (removed.length > 0)
        tell(`Files with secrets were removed from the result of set-up: ${named(removed)}.`);
    });
    if (others.length > 0) {
      const which = named(others.map((other) => `'${visibleLine(other)}'`));
      tell(`Set-up changed files that git does not ignore. These changes were undone: ${which}.`);
    }
    return layer;
  } catch (error) {
    throw new SetupError(error as Error, output.tail);
  } finally {
    await workspace.close();
    await workspaces.remove(session, repository);
    users?.free(session);
  }
}

async function checkSize(paths: readonly string[], most: number): Promise<void> {
  let bytes = 0;
  for (const path of paths) bytes += await diskUse(path);
  if (bytes <= most) return;
  const what = `its result takes ${megabytes(bytes)}, and ${megabytes(most)} are allowed`;
  throw new TrunklineError("limit", `${what}. Install less, or raise \`remote.setup.maxLayer\``);
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576).toLocaleString("en")} MiB`;
}

/** How often changes are undone: undoing one may bring up others. */
const MOST_ROUNDS = 5;

/**
 * Restores tracked files, and removes files that are neither tracked nor ignored. Returns their paths.
 * Restoring a `.gitignore` may make more files count as not ignored, hence the rounds.
 */
async function undoAllButIgnored(git: ServerGit): Promise<string[]> {
  const undone: string[] = [];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const status = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames"];
    const entries = (await git.list(status)).filter(isOfFile).map((entry) => entry.slice(3));
    if (entries.length === 0) return undone;
    for (const entry of entries) undone.push(entry);
    await git.run(["checkout-index", "--force", "--all", "--index"]);
    await git.run(["clean", "-ffdq"]);
  }
  const what = "each time changes are undone, git stops ignoring other files";
  const says = `cannot tell its result from changes of tracked files: ${what}`;
  throw new TrunklineError("unavailable", says);
}

/** The paths that git ignores. A folder stands for everything in it. */
async function ignoredIn(git: ServerGit): Promise<string[]> {
  const list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  // Names that are not UTF-8 are skipped: the string could not be turned back into the name.
  const names = (await git.list(list)).filter((name) => !name.includes("\ufffd"));
  const paths = new Set(names.map((name) => name.replace(/\/$/, "")));
  // Git may list both a folder and files in it.
  return [...paths].filter((path) => !foldersAbove(path).some((folder) => paths.has(folder)));
}

/** Removes files that contain a secret. Returns a description of each, for people. */
async function removeSecrets(folder: string, search: SecretSearch): Promise<string[]> {
  const findings = await search.findIn(folder);
  for (const { file } of findings) await rm(file, { recursive: true, force: true });
  return findings.map(({ path, secret }) => {
    const shown = path.replace(/^home\//, "~/").replace(/^tree\//, "");
    return `'${visibleLine(shown)}' contains the secret ${secret}`;
  });
}

function named(texts: readonly string[]): string {
  const more = texts.length - MOST_NAMED;
  return [...texts.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

const CHUNK = 1024 * 1024;

interface Form {
  readonly secret: string;
  readonly bytes: Buffer;
}

/** A file that holds a secret. */
interface SecretFinding {
  /** Relative to the folder that was searched. */
  readonly path: string;
  /** The whole path as bytes. */
  readonly file: Buffer;
  /** The name of the secret. */
  readonly secret: string;
}

/**
 * Finds the values of secrets in files: as they are, and in the encodings that configuration files and
 * addresses use. Compressed or encrypted values are not found.
 */
export class SecretSearch {
  readonly #forms: readonly Form[];
  readonly #longest: number;

  /** Throws "usage" for a value that is too short to be found reliably. */
  constructor(secrets: Readonly<Record<string, string>>) {
    this.#forms = Object.entries(secrets).flatMap(([secret, value]) => {
      if (value.length < SHORTEST_SECRET) {
        const why = `it has fewer than ${SHORTEST_SECRET} characters, too few to be found reliably in files`;
        throw new TrunklineError("usage", `Cannot use the secret '${secret}': ${why}.`);
      }
      return secretForms(value).map((form) => ({ secret, bytes: Buffer.from(form) }));
    });
    this.#longest = Math.max(0, ...this.#forms.map(({ bytes }) => bytes.length));
  }

  /** Searches all files below a folder, their names, and the targets of links. */
  async findIn(folder: string): Promise<SecretFinding[]> {
    if (this.#forms.length === 0) return [];
    const findings: SecretFinding[] = [];
    const waiting = [""];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const inside = bytesOf(folder, path);
      for (const entry of await readdir(inside, { withFileTypes: true, encoding: "latin1" })) {
        const at = join(path, entry.name);
        const file = bytesOf(folder, at);
        const secret = await this.#findInEntry(entry, file);
        if (secret !== undefined)
          findings.push({ path: Buffer.from(at, "latin1").toString("utf8"), file, secret });
        else if (entry.isDirectory()) waiting.push(at);
      }
    }
    return findings;
  }

  async #findInEntry(entry: Dirent, path: Buffer): Promise<string | undefined> {
    const inName = this.#findIn(Buffer.from(entry.name, "latin1"));
    if (inName !== undefined) return inName;
    if (entry.isFile()) return await this.#findInFile(path);
    return entry.isSymbolicLink() ? this.#findIn(await readlink(path, "buffer")) : undefined;
  }

  #findIn(bytes: Buffer): string | undefined {
    return this.#forms.find((form) => bytes.includes(form.bytes))?.secret;
  }

  async #findInFile(path: Buffer): Promise<string | undefined> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    let kept = Buffer.alloc(0);
    const stream = file.createReadStream({ highWaterMark: CHUNK, autoClose: false });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      // The end of a chunk is searched again with the next: a secret may span both.
      const bytes = Buffer.concat([kept, chunk]);
      const secret = this.#findIn(bytes);
      if (secret !== undefined) return secret;
      kept = Buffer.from(bytes.subarray(-this.#longest));
    }
    return undefined;
  }
}

/** Names on disk are bytes that need not be UTF-8; latin1 preserves them. */
function bytesOf(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}
