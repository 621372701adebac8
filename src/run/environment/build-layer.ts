import { lchown, mkdir, readdir, rm, type FileHandle, open, readlink } from "node:fs/promises";
import { join } from "node:path";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { ServerGit } from "../../git/server/server-git.ts";
import type { CachedRepository } from "../repository-cache.ts";
import { giveTo } from "../workspace/copy.ts";
import { diskUse, type Workspaces } from "../workspace/workspace.ts";
import type { FileOwner, WorkspaceDriver } from "../workspace/driver.ts";
import type { RunUsers } from "../workspace/run-users.ts";
import { above, type Layer, type LayerName, type Layers } from "./layers.ts";
import { type Recipe, workspaceFolder } from "./recipe.ts";
import { type OpenSetupPlace, runSteps, SetupOutput } from "./run-steps.ts";
import { constants, type Dirent } from "node:fs";
import { secretForms, SHORTEST_SECRET } from "../../base/text/mask.ts";

export interface LayerBuilderOptions {
  readonly layers: Layers;
  readonly workspaces: Workspaces;
  readonly driver: WorkspaceDriver;
  readonly openPlace: OpenSetupPlace;
  readonly users?: RunUsers | undefined;
  /** The most bytes that a layer may take. */
  readonly maxLayer: number;
}

export interface LayerRequest {
  readonly repository: CachedRepository;
  readonly name: LayerName;
  readonly recipe: Recipe;
  readonly secrets: Readonly<Record<string, string>>;
  readonly tell: (message: string) => void;
  readonly signal: AbortSignal;
}

/** A set-up that failed, with the end of its output. */
export class SetupError extends Error {
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
export async function buildLayer(
  options: LayerBuilderOptions,
  request: LayerRequest,
): Promise<Layer> {
  const { workspaces, layers, driver, users } = options;
  const { repository, name, recipe, secrets, tell } = request;
  const search = new SecretSearch(secrets);
  const session = workspaces.newSetupName();
  const user = users?.of(session);
  const opening = workspaces.open({
    session,
    repository,
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
  await using output = new SetupOutput({ path: layers.logOf(repository, name), tell });
  try {
    await mkdir(home, { mode: 0o700 });
    if (user !== undefined) await lchown(home, user.uid, user.gid);
    {
      await using place = await options.openPlace({
        name: session,
        workspace,
        folder: workspaceFolder(repository.url),
        owner: user,
        home,
        env: recipe.env,
        secrets,
        objects: repository.objects,
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
    if (user !== undefined && hasHome) await giveTo(home, ourselves());
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
export async function undoAllButIgnored(git: ServerGit): Promise<string[]> {
  const undone: string[] = [];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const status = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames"];
    const entries = (await git.list(status)).map((entry) => entry.slice(3));
    if (entries.length === 0) return undone;
    for (const entry of entries) undone.push(entry);
    await git.run(["read-tree", "--reset", "-u", "HEAD"]);
    await git.run(["clean", "-ffdq"]);
  }
  const what = "each time changes are undone, git stops ignoring other files";
  throw new TrunklineError(
    "unavailable",
    `cannot tell its result from changes of tracked files: ${what}`,
  );
}

/** The paths that git ignores. A folder stands for everything in it. */
async function ignoredIn(git: ServerGit): Promise<string[]> {
  const list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  // Names that are not UTF-8 are skipped: the string could not be turned back into the name.
  const names = (await git.list(list)).filter((name) => !name.includes("\ufffd"));
  const paths = new Set(names.map((name) => name.replace(/\/$/, "")));
  // Git may list both a folder and files in it.
  return [...paths].filter((path) => !above(path).some((folder) => paths.has(folder)));
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

function ourselves(): FileOwner {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

const CHUNK = 1024 * 1024;

interface Form {
  readonly secret: string;
  readonly bytes: Buffer;
}

/** A file that holds a secret. */
export interface SecretFinding {
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
        if (secret !== undefined) findings.push({ path: readable(at), file, secret });
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
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const buffer = Buffer.alloc(CHUNK + this.#longest);
    // The end of a chunk is searched again with the next: a secret may span both.
    for (let kept = 0; ;) {
      const read = await fill(file, buffer, kept);
      const secret = this.#findIn(buffer.subarray(0, kept + read));
      if (secret !== undefined) return secret;
      if (kept + read < buffer.length) return undefined;
      buffer.copyWithin(0, buffer.length - this.#longest);
      kept = this.#longest;
    }
  }
}

/** Names on disk are bytes that need not be UTF-8; latin1 preserves them. */
function bytesOf(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

function readable(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** Reads until the buffer is full or the file ends. */
async function fill(file: FileHandle, buffer: Buffer, from: number): Promise<number> {
  let at = from;
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return at - from;
}
