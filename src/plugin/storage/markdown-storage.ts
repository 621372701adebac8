import { type Stats, constants } from "node:fs";
import * as fs from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { TrunklineError, fileWords } from "../../base/errors.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { FileLock } from "../../store/file-lock.ts";
import { MAX_FRONTMATTER, formatMarkdown, parseMarkdown } from "./markdown-file.ts";
import * as storage from "./storage.ts";

/** Error codes, of the system and of SQLite, for a folder that may be read but not written. */
const NOT_WRITABLE: readonly unknown[] = ["EACCES", "EPERM", "EROFS", 3, 8, 14];

/**
 * Documents as files of a workspace, under `.projects/`, as Orchestra has them: metadata as YAML at
 * the head, the version in a file beside it. People edit them, too: a file without a version has
 * version 0, and one whose metadata cannot be read is not written over. Without a pattern, `list`
 * tells of `*.md`.
 */
export function markdownStorage(workspace: string): storage.Storage {
  const files = markdownFolder(workspace);
  const queue = new TaskQueue();
  /**
   * Runs work under the lock of the folder. Readers take it too: between a new version and its document
   * they would take the old document for that version. A reader that may not write there, and so cannot
   * lock, reads without the lock.
   */
  const alone = async <T>(purpose: "read" | "write", work: () => Promise<T>): Promise<T> => {
    return queue.run(async () => {
      using _ = await take(purpose);
      return await work();
    });
  };
  const take = async (purpose: "read" | "write"): Promise<FileLock | undefined> => {
    try {
      return await FileLock.take(join(await files.own(), "lock"));
    } catch (error) {
      const { code, cause } = error as NodeJS.ErrnoException;
      const { errcode } = (cause ?? {}) as { errcode?: unknown };
      if (purpose === "read" && NOT_WRITABLE.includes(errcode ?? code)) return undefined;
      throw error;
    }
  };
  const attemptTo = async <T>(verb: string, path: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      // Only the system's failures have a code.
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined || error instanceof TrunklineError) throw error;
      const says = `Cannot ${verb} '${path}': ${fileWords(error)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  };
  return {
    async read(path) {
      const name = nameOf(path);
      return attemptTo("read", path, async () => {
        if (!(await files.exists())) return undefined;
        const location = await files.locate(name);
        const [file, version = 0] = await alone("read", () =>
          Promise.all([files.read(location), files.version(location)]),
        );
        if (file === undefined) return undefined;
        return { ...(await parseMarkdown(path, file.bytes)), version };
      });
    },
    async write(path, document, expected) {
      const name = nameOf(path);
      storage.checkSize(path, "write", document.content.length);
      const bytes = await formatMarkdown(path, document);
      return attemptTo("write", path, () =>
        alone("write", async () => {
          const location = await files.locate(name);
          const file = await files.read(location);
          const last = (await files.version(location)) ?? 0;
          storage.checkExpected(path, expected, file === undefined ? undefined : last);
          // A person may be editing a file that cannot be parsed, and would lose the changes.
          if (file !== undefined) await parseMarkdown(path, file.bytes);
          const version = last + 1;
          await files.replace(location, { ...file, bytes }, version);
          return version;
        }),
      );
    },
    async delete(path) {
      const name = nameOf(path);
      return attemptTo("delete", path, async () => {
        if (!(await files.exists())) return false;
        return alone("write", async () => {
          const location = await files.locate(name);
          if ((await files.read(location)) === undefined) return false;
          await files.remove(location);
          return true;
        });
      });
    },
    async list(folder, pattern = "*.md") {
      const name = storage.storageFolder(folder);
      const isWanted = storage.storagePattern(pattern);
      return attemptTo("list", folder, async () => {
        const entries: storage.StorageEntry[] = [];
        for await (const { path, location, stats } of files.files(name)) {
          const last = path.slice(path.lastIndexOf("/") + 1);
          if (last.endsWith(SIDECAR) || !isWanted(last)) continue;
          if (entries.length === storage.MAX_ENTRIES) throw storage.tooMany(folder);
          // Nobody has read what is only listed, so it matters little if it changes meanwhile.
          const version = (await files.version(location)) ?? 0;
          entries.push({ path, size: stats.size, version, modifiedAt: stats.mtime });
        }
        return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
      });
    },
  };
}

function nameOf(path: string): string {
  const name = storage.storagePath(path);
  const isOwn = name.toLowerCase().split("/", 1)[0] === OWN;
  if (!isOwn && !name.endsWith(SIDECAR)) return name;
  const what = isOwn ? `'${OWN}' is the storage's own` : `'*${SIDECAR}' are the versions of others`;
  throw new TrunklineError("usage", `Cannot use the path '${path}': ${what}`);
}

/** Where Orchestra keeps documents in a workspace, and what it adds to the name of a version's file. */
const PROJECTS = ".projects";
const SIDECAR = ".version";
/** A folder of our own among the documents, for the lock and for files that are being written. */
const OWN = ".trunkline";
const TEMPORARY = ".tmp";

const MAX_FILE = storage.MAX_CONTENT + MAX_FRONTMATTER + 16;
const MAX_SIDECAR = 64;
const NEW_FILE = 0o644;
/** A named pipe would be waited for, a link followed. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

interface MarkdownFile {
  readonly bytes: Buffer;
  /** That of a file that is there already. */
  readonly mode?: number;
}

/** The files of a workspace's documents. Paths have been checked; a location is where one leads. */
function markdownFolder(workspace: string) {
  const place = workspace;
  const root = join(workspace, PROJECTS);
  /**
   * Where a path leads, folders that are links included: not out of the workspace. The last part is
   * taken as it is.
   */
  const locate = async (path: string): Promise<string> => {
    const workspace = await fs.realpath(place);
    const full = join(root, path);
    const missing: string[] = [];
    for (let folder = dirname(full); ; folder = dirname(folder)) {
      const real = await fs.realpath(folder).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
        return undefined;
      });
      if (real !== undefined) {
        const way = relative(workspace, real);
        if (way === ".." || way.startsWith(`..${sep}`)) throw escaping(folder);
        return join(real, ...missing.toReversed(), basename(full));
      }
      // A link to nothing is missing for one who follows it, but would be followed by one who writes.
      if ((await look(folder))?.isSymbolicLink() === true) throw escaping(folder);
      missing.push(basename(folder));
    }
  };
  /** The folder of our own, made if need be. */
  const own = async (): Promise<string> => {
    const path = await locate(OWN);
    if ((await fs.mkdir(path, { recursive: true })) !== undefined) {
      // Its files do not belong into a repository.
      await fs.writeFile(join(path, ".gitignore"), "*\n");
    }
    if ((await look(path))?.isDirectory() !== true) throw escaping(path);
    return path;
  };
  return {
    exists: async (): Promise<boolean> => (await look(await locate("."))) !== undefined,
    locate,
    own,
    read: (location: string): Promise<MarkdownFile | undefined> => readBounded(location, MAX_FILE),
    /** The number in the sidecar of a document; undefined where there is none. */
    async version(location: string): Promise<number | undefined> {
      const file = await readBounded(location + SIDECAR, MAX_SIDECAR);
      if (file === undefined) return undefined;
      const text = file.bytes.toString().trim();
      if (/^\d{1,15}$/.test(text)) return Number(text);
      const next = "Write the version there, or delete the file to start again";
      const message = `Cannot read the version in '${location}${SIDECAR}': it is not a number. ${next}`;
      throw new TrunklineError("config", message);
    },
    /**
     * Puts a document and its version where they belong. Each is replaced whole, and on disk before the next
     * step. The version is first: should we end between the two, the old document has a new version.
     * Whoever had read it must read it again, and finds the same; one number is never used. The other
     * way round, the new document would have the old version, and be overwritten by somebody who has
     * only seen the old document.
     */
    async replace(location: string, file: MarkdownFile, version: number): Promise<void> {
      const ownFolder = await own();
      await sweep(ownFolder);
      const folder = dirname(location);
      await makeFolder(folder);
      const [sidecar, document] = [temporary(ownFolder), temporary(ownFolder)];
      try {
        await Promise.all([
          write(sidecar, { bytes: Buffer.from(String(version)) }),
          write(document, file),
        ]);
        await fs.rename(sidecar, location + SIDECAR);
        await syncFolder(folder);
        await fs.rename(document, location);
        await syncFolder(folder);
      } catch (error) {
        await Promise.all([sidecar, document].map((path) => fs.rm(path, { force: true })));
        throw error;
      }
    },
    /**
     * Removes a document, then its version. Should we end between the two, the next document of that
     * name goes on counting where this one ended, and nobody takes it for the old one.
     */
    async remove(location: string): Promise<void> {
      await fs.unlink(location);
      await syncFolder(dirname(location));
      await fs.rm(location + SIDECAR, { force: true });
      await syncFolder(dirname(location));
    },
    /** All files of a folder, at any depth, or the one at that path. Links are not followed. */
    async *files(path: string): AsyncIterable<{ path: string; location: string; stats: Stats }> {
      const waiting = [{ path, location: dirname(await locate(`${path}/any`)) }];
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { path, location } = next;
        const stats = await look(location);
        if (stats?.isFile() === true) yield { path, location, stats };
        if (stats?.isDirectory() !== true || path === OWN) continue;
        for (const name of await namesIn(location)) {
          waiting.push({
            path: path === "" ? name : `${path}/${name}`,
            location: join(location, name),
          });
        }
      }
    },
  };
}

async function readBounded(location: string, limit: number): Promise<MarkdownFile | undefined> {
  try {
    await using file = await fs.open(location, READ);
    const stats = await file.stat();
    if (!stats.isFile()) throw notAFile(location, stats.isDirectory() ? "a folder" : "no file");
    if (stats.size > limit) {
      const why = `it has ${stats.size} bytes, the limit is ${limit}`;
      throw new TrunklineError("limit", `Cannot read '${location}': ${why}`);
    }
    return { bytes: await file.readFile(), mode: stats.mode & 0o777 };
  } catch (error) {
    if (isMissing(error)) return undefined;
    if ((error as NodeJS.ErrnoException).code === "ELOOP") throw notAFile(location, "a link");
    throw error;
  }
}

async function look(location: string): Promise<Stats | undefined> {
  return fs.lstat(location).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return undefined;
  });
}

/** A folder that may not be read counts as empty. */
async function namesIn(location: string): Promise<string[]> {
  return fs.readdir(location).catch((error: unknown) => {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!isMissing(error) && code !== "EACCES" && code !== "EPERM") throw error;
    return [];
  });
}

/** Removes temporary files of processes that were killed. Nobody writes while we have the lock. */
async function sweep(own: string): Promise<void> {
  const left = (await fs.readdir(own)).filter((name) => name.endsWith(TEMPORARY));
  await Promise.all(left.map((name) => fs.rm(join(own, name), { force: true })));
}

function temporary(own: string): string {
  return join(own, `${crypto.randomUUID()}${TEMPORARY}`);
}

async function write(path: string, { bytes, mode }: MarkdownFile): Promise<void> {
  await using file = await fs.open(path, "wx", NEW_FILE);
  if (mode !== undefined) await file.chmod(mode);
  await file.writeFile(bytes);
  await file.sync();
}

async function makeFolder(folder: string): Promise<void> {
  const first = await fs.mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

/** Puts on disk which files are in a folder, and under which names. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await fs.open(folder, "r");
  await handle.sync();
}

function isMissing(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

function escaping(location: string): TrunklineError {
  const message = `Cannot use '${location}': it is a link that leads out of the workspace`;
  return new TrunklineError("untrusted", message);
}

function notAFile(location: string, what: string): TrunklineError {
  return new TrunklineError("usage", `Cannot use '${location}' as a document: it is ${what}`);
}
