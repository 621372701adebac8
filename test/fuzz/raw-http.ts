import { connect, type Socket } from "node:net";

/** What came back for one request. */
export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

interface Pending {
  /** A response to HEAD says how long its body would be, and has none. */
  readonly isHead: boolean;
  readonly resolve: (response: RawResponse | "lost") => void;
}

const HEAD_END = Buffer.from("\r\n\r\n");
const CRLF = Buffer.from("\r\n");

/**
 * A connection that sends bytes as they are, and finds the responses in what comes back. Nothing is
 * put right on the way, unlike with Node's own client.
 */
export class RawHttp implements Disposable {
  readonly #socket: Socket;
  readonly #pending: Pending[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  /** The other side has said that it will close. */
  isClosing = false;
  isClosed = false;
  /** When something was last sent or received. */
  #used = performance.now();
  /** What is wrong with what came back. */
  problem: string | undefined;

  constructor(port: number, host = "127.0.0.1") {
    this.#socket = connect({ port, host, noDelay: true });
    this.#socket.on("data", (chunk: Buffer) => {
      this.#used = performance.now();
      this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
      this.#read();
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.isClosed = true;
      for (const { resolve } of this.#pending.splice(0)) resolve("lost");
    });
  }

  /** Milliseconds since something was sent or received. Servers close connections that are idle. */
  get idle(): number {
    return performance.now() - this.#used;
  }

  /** Sends one request, behind those that have no response yet. */
  ask(bytes: Buffer, isHead = false): Promise<RawResponse | "lost"> {
    if (this.isClosed) return Promise.resolve("lost");
    const { promise, resolve } = Promise.withResolvers<RawResponse | "lost">();
    this.#pending.push({ isHead, resolve });
    this.#used = performance.now();
    this.#socket.write(bytes);
    return promise;
  }

  /** Sends what is no request, or only a part of one. */
  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Ends what is sent, and reads on. */
  end(): void {
    this.#socket.end();
  }

  /** Hangs up. */
  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #read(): void {
    for (;;) {
      const head = this.#bytes.indexOf(HEAD_END);
      if (head < 0) return;
      const [first = "", ...lines] = this.#bytes.toString("latin1", 0, head).split("\r\n");
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
      const headers = new Map(
        lines.map((line) => {
          const colon = line.indexOf(":");
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
        }),
      );
      const from = head + HEAD_END.length;
      const found = hasNoBody(status, this.#pending[0])
        ? { body: "", end: from }
        : readBody(this.#bytes, from, headers);
      if (found === undefined) return;
      this.#bytes = this.#bytes.subarray(found.end);
      if (status === 100) continue;
      if (headers.get("connection") === "close") this.isClosing = true;
      const pending = this.#pending.shift();
      if (pending === undefined) this.problem ??= `a response that nobody asked for: ${first}`;
      pending?.resolve({ status, headers, body: found.body });
    }
  }
}

function hasNoBody(status: number, pending: Pending | undefined): boolean {
  return status === 100 || status === 204 || status === 304 || pending?.isHead === true;
}

/** The body from a place on, and where it ends; nothing where it has not all come. */
function readBody(
  bytes: Buffer,
  from: number,
  headers: ReadonlyMap<string, string>,
): { body: string; end: number } | undefined {
  if (headers.get("transfer-encoding") === "chunked") return readChunks(bytes, from);
  const end = from + Number(headers.get("content-length") ?? 0);
  return bytes.length < end ? undefined : { body: bytes.toString("utf8", from, end), end };
}

function readChunks(bytes: Buffer, from: number): { body: string; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = from; ;) {
    const line = bytes.indexOf(CRLF, at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    const start = line + CRLF.length;
    const end = start + size + CRLF.length;
    if (bytes.length < end) return undefined;
    if (size === 0) return { body: Buffer.concat(parts).toString(), end };
    parts.push(bytes.subarray(start, end - CRLF.length));
    at = end;
  }
}
