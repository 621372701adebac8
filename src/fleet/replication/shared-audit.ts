import { addToCopy } from "../../store/audit/audit-copies.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { AuditFiles, type AuditLines } from "./audit-files.ts";
import { ChangeStream, type Published } from "./change-stream.ts";
import { ShareLoop, type SharingStatus } from "./share-loop.ts";
import { SharedBase } from "./shared-base.ts";

const KIND = "audit";
const NEWLINE = 0x0a;
/** Bytes of the audit in one message. */
const CHUNK = 512 * 1024;
/** Bytes of a message beside them. */
const HEADERS = 1024;
/** Bytes of the audits that NATS keeps for nodes that are away or join later. */
const MAX_BYTES = 1024 * 1024 * 1024;

export interface SharedAuditOptions {
  readonly connection: FleetConnection;
  /** The stable name of this node. */
  readonly name: string;
  readonly data: string;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/**
 * Gives every node a copy of the audits of all others, byte by byte, so that their seals can be checked
 * there. The files of the audit are the queue: what is not sent yet is in them.
 */
export class SharedAudit implements AsyncDisposable {
  readonly #options: SharedAuditOptions;
  readonly #base: SharedBase;
  readonly #stream: ChangeStream;
  readonly #files: AuditFiles;
  readonly #loop: ShareLoop;
  /** Bytes of each file that were sent. */
  #sent = new Map<string, number>();

  private constructor(options: SharedAuditOptions, base: SharedBase) {
    const { connection, data, report } = options;
    const { subjects } = connection;
    this.#options = options;
    this.#base = base;
    this.#files = new AuditFiles(data, Math.min(CHUNK, connection.maxPayload - HEADERS));
    this.#stream = new ChangeStream(connection.nats, {
      name: subjects.audits,
      subjects: [subjects.audit("*")],
      maxBytes: MAX_BYTES,
      replicas: connection.replicas,
    });
    this.#loop = new ShareLoop({
      stream: this.#stream,
      begin: (created) => this.#begin(created),
      apply: (messages) => this.#apply(messages),
      send: () => this.#send(),
      report,
    });
  }

  static async open(options: SharedAuditOptions): Promise<SharedAudit> {
    return new SharedAudit(options, await SharedBase.open(options.data, "audit"));
  }

  get status(): SharingStatus {
    return this.#loop.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    this.#base[Symbol.dispose]();
  }

  async #begin(created: string): Promise<number> {
    if ((await this.#base.begin(this.#stream.name, created)) === "joins") this.#files.rewind();
    const entries = await this.#base.entries(KIND);
    this.#sent = new Map([...entries].map(([file, { seq }]) => [file, seq]));
    return (await this.#base.read([KIND])).get(KIND) ?? 0;
  }

  async #apply(messages: readonly Published[]): Promise<void> {
    const { connection, data, name } = this.#options;
    for (const message of messages) {
      const node = message.subject.slice(connection.subjects.audit("").length);
      const lines = decode(message.data);
      if (node !== name && lines !== undefined) addToCopy(data, node, lines);
    }
    // A copy knows what it has, so lines that come again after a crash change nothing.
    await this.#base.note(new Map(), new Map([[KIND, messages.at(-1)?.seq ?? 0]]));
  }

  async #send(): Promise<void> {
    const { connection, name } = this.#options;
    for (;;) {
      const next = await this.#files.next(this.#sent);
      if (next === undefined) return;
      await this.#stream.publish(connection.subjects.audit(name), encode(next));
      const { file, from, lines } = next;
      const seq = from + lines.length;
      this.#sent.set(file, seq);
      await this.#base.note(new Map([[KIND, new Map([[file, { seq, local: "" }]])]]));
    }
  }
}

/** Where the lines belong is the first line of a message. */
function encode({ file, from, lines }: AuditLines): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ file, from })}\n`), lines]);
}

function decode(data: Uint8Array): AuditLines | undefined {
  const bytes = Buffer.from(data);
  const end = bytes.indexOf(NEWLINE);
  try {
    const { file, from } = JSON.parse(bytes.toString("utf8", 0, end)) as Partial<AuditLines>;
    if (typeof file !== "string" || !Number.isSafeInteger(from)) return undefined;
    return { file, from: Number(from), lines: bytes.subarray(end + 1) };
  } catch {
    return undefined;
  }
}
