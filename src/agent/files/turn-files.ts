import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, readFile, rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { TurnClient } from "../../session/agent.ts";
import { SessionError } from "../../session/session-error.ts";
import { type Change, digestOf, type TurnJournal } from "./journal.ts";
import type { WorkspacePath, Workspace } from "./workspace.ts";

/** ACP message specification, "Message Size Limits": `fs/*`. */
export const LARGEST_FILE = 10 * 1024 * 1024;

export interface TurnFilesOptions {
  readonly workspace: Workspace;
  /** Editors come and go while a turn runs. */
  readonly client: () => TurnClient;
  readonly journal: TurnJournal;
}

/**
 * The files of the workspace as one turn sees them: through the editor where it offers that, since
 * what is in its buffers counts, else on disk.
 */
export class TurnFiles {
  readonly workspace: Workspace;
  readonly journal: TurnJournal;
  readonly #client: () => TurnClient;

  constructor(options: TurnFilesOptions) {
    this.workspace = options.workspace;
    this.journal = options.journal;
    this.#client = options.client;
  }

  /** The text of a file. Throws "File not found" and the like with the document's codes. */
  async read(target: WorkspacePath): Promise<string> {
    const text = await this.readIfThere(target);
    if (text !== undefined) return text;
    throw RpcError.of(ACP.fileNotFound, `there is no file '${target.name}'`, { path: target.path });
  }

  async readIfThere(target: WorkspacePath): Promise<string | undefined> {
    return (await this.#fromEditor(target)) ?? (await this.readFromDisk(target));
  }

  /** For what need not be of this moment, and is not worth an editor's time. */
  async readFromDisk(target: WorkspacePath): Promise<string | undefined> {
    const bytes = await bytesOf(target);
    return bytes === undefined ? undefined : textOf(bytes, target);
  }

  /** Writes a text, after what was there has been recorded. */
  async write(target: WorkspacePath, text: string, old: string | undefined): Promise<void> {
    const content = Buffer.from(text);
    if (content.length > LARGEST_FILE) throw tooLarge(target, content.length);
    const now = await this.readIfThere(target);
    if (now !== old) {
      const says = `'${target.name}' has changed since it was read. Read it again, then change it`;
      throw new TrunklineError("conflict", says);
    }
    const status = await lstat(target.real).catch(() => undefined);
    // The editor's text where there is one: undoing must not lose what was never saved.
    const before = old === undefined ? undefined : Buffer.from(old);
    await this.journal.before(target.path, before, status?.mode);
    const made = await this.#put(target, content, text);
    // An editor may format what it saves.
    await this.journal.after(target.path, [content, await bytesOf(target)], made);
  }

  /** Whether a file is what a turn left: in the editor, and on disk. */
  async isAsLeft({ path, after = [] }: Change): Promise<boolean> {
    const target = await this.workspace.findToWrite(path);
    const buffered = await this.#fromEditor(target);
    const forms = [
      await bytesOf(target),
      ...(buffered === undefined ? [] : [Buffer.from(buffered)]),
    ];
    return forms.every((form) => after.includes(digestOf(form)));
  }

  /** Makes a file what it was before a turn, whatever it is now. */
  async restore({ path, before, mode, made }: Change): Promise<void> {
    const target = await this.workspace.findToWrite(path);
    if (before === undefined) await this.#remove(target, made);
    else await this.#giveBack(target, before, mode);
  }

  async #fromEditor(target: WorkspacePath): Promise<string | undefined> {
    const { fs } = this.#client();
    if (fs?.readTextFile === undefined) return undefined;
    try {
      return await fs.readTextFile(target.path);
    } catch (error) {
      // Nothing unsaved can be missed where the editor has no such file, or where there is none.
      if (hasNoFile(error) || (await isMissing(target))) return undefined;
      const { message } = error as Error;
      const why = `the editor did not say what it holds (${message}), and it may not be saved`;
      const says = `Cannot read '${target.name}': ${why}. Try again, or ask the person.`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }

  async #giveBack(target: WorkspacePath, content: Buffer, mode: number | undefined): Promise<void> {
    const { fs } = this.#client();
    const text = asText(content);
    const isThere = (await lstat(target.real).catch(() => undefined)) !== undefined;
    const write = text === undefined ? undefined : fs?.writeTextFile;
    // Only we know how a file was that is gone: an editor would make one that cannot be run.
    if (!isThere || write === undefined) {
      await mkdir(dirname(target.real), { recursive: true });
      await putOnDisk(target, content);
    }
    if (mode !== undefined) await chmod(target.real, mode & 0o777);
    if (text !== undefined) await write?.(target.path, text);
  }

  /** Returns the highest folder that had to be made. */
  async #put(target: WorkspacePath, content: Buffer, text: string): Promise<string | undefined> {
    const made = await mkdir(dirname(target.real), { recursive: true });
    const { fs } = this.#client();
    if (fs?.writeTextFile === undefined) await putOnDisk(target, content);
    else await fs.writeTextFile(target.path, text);
    return made;
  }

  async #remove(target: WorkspacePath, made: string | undefined): Promise<void> {
    await rm(target.real, { force: true });
    if (made === undefined) return;
    for (let folder = dirname(target.real); folder.startsWith(made); folder = dirname(folder)) {
      try {
        await rmdir(folder);
      } catch {
        return;
      }
    }
  }
}

function hasNoFile(error: unknown): boolean {
  if (error instanceof SessionError) return error.problem === "file-not-found";
  return error instanceof RpcError && error.code === ACP.resourceNotFound.code;
}

async function isMissing({ real }: WorkspacePath): Promise<boolean> {
  try {
    await lstat(real);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

async function putOnDisk(target: WorkspacePath, content: Buffer): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  // A link that was put there after the path was looked at is not followed.
  await using file = await open(target.real, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o666);
  await file.writeFile(content);
}

async function bytesOf(target: WorkspacePath): Promise<Buffer | undefined> {
  let status;
  try {
    status = await stat(target.real);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unreadable(target, error);
  }
  if (status.isDirectory()) {
    const says = `'${target.name}' is a folder; list_files shows what is in it`;
    throw RpcError.of(ACP.fileNotFound, says, { path: target.path });
  }
  // Reading a pipe or a device may never end.
  if (!status.isFile()) throw unreadable(target, new Error("it is not a regular file"));
  if (status.size > LARGEST_FILE) throw tooLarge(target, status.size);
  try {
    return await readFile(target.real);
  } catch (error) {
    throw unreadable(target, error);
  }
}

/** Text that would come back otherwise than it was is not text. */
function textOf(bytes: Buffer, target: WorkspacePath): string {
  const text = asText(bytes);
  if (text !== undefined && !text.includes("\0")) return text;
  throw new TrunklineError("usage", `'${target.name}' is not a text in UTF-8; leave it as it is`);
}

function asText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function tooLarge(target: WorkspacePath, size: number): RpcError {
  const says = `'${target.name}' has ${size} bytes; at most ${LARGEST_FILE} are handled`;
  return RpcError.of(ACP.fileTooLarge, says, { path: target.path, size, limit: LARGEST_FILE });
}

function unreadable(target: WorkspacePath, error: unknown): RpcError {
  const says = `'${target.name}' cannot be read: ${(error as Error).message}`;
  return RpcError.of(ACP.permissionDenied, says, { path: target.path });
}
