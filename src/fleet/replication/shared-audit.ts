import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { objectIn } from "../../base/check.ts";
import { addToCopy } from "../../store/audit/whole-audit.ts";
import { auditFiles } from "../../store/audit/audit-reader.ts";
import { SharedBase } from "./shared-base.ts";
import { type PublishedMessage, SharedStore, type SharedStoreOptions } from "./shared-store.ts";

const NEWLINE = 0x0a;

/** Lines of one file of the audit. */
interface AuditLines {
  /** The file, by its first line: its name and its inode may change. */
  readonly file: string;
  /** The place of the first line in it. */
  readonly from: number;
  readonly lines: Buffer;
}

/**
 * Reads what was added to the audit of this node, by any process. `most` bytes are read at a time; the
 * longest line has less.
 */
function filesOf(data: string, most: number) {
  /** Files that were set aside and read to their end, by name. */
  const done = new Set<string>();
  /** The files by their inodes. */
  const ids = new Map<number, string>();

  const linesAt = async (file: FileHandle, place: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(most), 0, most, place);
    const lines = buffer.subarray(0, bytesRead);
    return lines.subarray(0, lines.lastIndexOf(NEWLINE) + 1);
  };

  const readFile = async (
    name: string,
    read: ReadonlyMap<string, number>,
  ): Promise<AuditLines | undefined> => {
    await using file = await open(join(data, name)).catch(() => undefined);
    if (file === undefined) return undefined;
    const { ino, size } = await file.stat();
    const known = ids.get(ino) ?? "";
    const end = read.get(known) ?? 0;
    if (end === size) return undefined;
    if (end > 0 && end < size) {
      const lines = await linesAt(file, end);
      return lines.length === 0 ? undefined : { file: known, from: end, lines };
    }
    const first = await linesAt(file, 0);
    if (first.length === 0) return undefined;
    const id = idOf(first.subarray(0, first.indexOf(NEWLINE)));
    ids.set(ino, id);
    if (read.has(id)) return await readFile(name, read);
    return { file: id, from: 0, lines: first };
  };

  return {
    /** Reads all files again. */
    rewind: () => done.clear(),
    /** The next whole lines after what was read of each file; undefined where there are none. */
    next: async (read: ReadonlyMap<string, number>): Promise<AuditLines | undefined> => {
      const [current, ...older] = await auditFiles(data);
      for (const name of older.toReversed()) {
        if (done.has(name)) continue;
        const found = await readFile(name, read);
        if (found !== undefined) return found;
        done.add(name);
      }
      return current === undefined ? undefined : readFile(current, read);
    },
  };
}

/** Files are in the order of time. */
function idOf(line: Buffer): string {
  const [, time = "1970-01-01T00:00:00.000Z"] =
    /"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"/.exec(line.toString()) ?? [];
  return `${time.replaceAll(/[-:.]/g, "")}-${hash("sha256", line).slice(0, 8)}`;
}

const KIND = "audit";
/** Bytes of the audit in one message. */
const CHUNK = 512 * 1024;
/** Bytes of a message beside them. */
const HEADERS = 1024;
/** Bytes of the audits that NATS keeps for nodes that are away or join later. */
const MAX_BYTES = 1024 * 1024 * 1024;

interface SharedAuditOptions extends SharedStoreOptions {
  /** The stable name of this node. */
  readonly name: string;
}

/**
 * Gives every node a copy of the audits of all others, byte by byte, so that their seals can be checked
 * there. The files of the audit are the queue: what is not sent yet is in them.
 */
export class SharedAudit extends SharedStore {
  readonly #options: SharedAuditOptions;
  readonly #files: ReturnType<typeof filesOf>;
  /** Bytes of each file that were sent. */
  #sent = new Map<string, number>();

  private constructor(options: SharedAuditOptions, base: SharedBase) {
    const { connection, data } = options;
    const { subjects } = connection;
    super(options, base, {
      name: subjects.audits,
      subjects: [subjects.audit("*")],
      maxBytes: MAX_BYTES,
    });
    this.#options = options;
    this.#files = filesOf(data, Math.min(CHUNK, connection.maxPayload - HEADERS));
  }

  static async open(options: SharedAuditOptions): Promise<SharedAudit> {
    return new SharedAudit(options, await SharedBase.open(options.data, "audit")).start();
  }

  protected override async begin(created: string): Promise<number> {
    if ((await this.base.begin(this.stream.name, created)) === "joins") this.#files.rewind();
    const entries = await this.base.entries(KIND);
    this.#sent = new Map([...entries].map(([file, { seq }]) => [file, seq]));
    return (await this.base.read([KIND])).get(KIND) ?? 0;
  }

  protected override async apply(messages: readonly PublishedMessage[]): Promise<void> {
    const { connection, data, name } = this.#options;
    for (const message of messages) {
      const node = message.subject.slice(connection.subjects.audit("").length);
      const lines = decode(message.data);
      if (node !== name && lines !== undefined) addToCopy(data, node, lines);
    }
    // A copy knows what it has, so lines that come again after a crash change nothing.
    await this.base.note(new Map(), new Map([[KIND, messages.at(-1)?.seq ?? 0]]));
  }

  protected override async send(): Promise<void> {
    const { connection, name } = this.#options;
    for (;;) {
      const next = await this.#files.next(this.#sent);
      if (next === undefined) return;
      const { file, from, lines } = next;
      // Where the lines belong is the first line of a message.
      const message = Buffer.concat([Buffer.from(`${JSON.stringify({ file, from })}\n`), lines]);
      await this.stream.publish(connection.subjects.audit(name), message);
      const seq = from + lines.length;
      this.#sent.set(file, seq);
      await this.base.note(new Map([[KIND, new Map([[file, { seq, local: "" }]])]]));
    }
  }
}

function decode(data: Uint8Array): AuditLines | undefined {
  const bytes = Buffer.from(data);
  const end = bytes.indexOf(NEWLINE);
  const { file, from } = objectIn(bytes.toString("utf8", 0, end)) ?? {};
  if (typeof file !== "string" || !Number.isSafeInteger(from)) return undefined;
  return { file, from: Number(from), lines: bytes.subarray(end + 1) };
}
