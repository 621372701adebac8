import { join } from "node:path";
import { background } from "../../base/background.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { HEADER, readFrames, type TakeFrame, writeHeader } from "./control-frame.ts";

/** Put in by the bundler: the engine's code. */
declare const __TRUNKLINE_QUIC_ENGINE__: string | undefined;

/**
 * Runs the code that comes first on standard input, after its length. The built program has it in
 * memory: a file of its package may have been removed or replaced when an engine is started. It is a
 * script, since Node's loader of modules would take as long to start as the engine itself.
 */
const BOOT = `const { readSync } = require("node:fs");
const take = (length) => {
  const bytes = Buffer.alloc(length);
  for (let at = 0, read = 1; at < length; at += read) {
    read = readSync(0, bytes, at, length - at);
    if (read === 0) process.exit(0);
  }
  return bytes;
};
const code = take(take(4).readUInt32LE());
new Function("require", code.toString())(require);`;

const SLAB = 64 * 1024;
const MOST_COMPLAINTS = 20;
/** Larger payloads are passed on as they are, smaller ones gathered into one write. */
const LARGE = 16 * 1024;

/**
 * The process that runs the native code, so that a crash there does not end the program. Everything
 * sent in one turn of the event loop goes out in one write.
 */
export class EngineProcess {
  readonly #child: OwnedChild;
  readonly #complaints: readonly string[];
  #slab = Buffer.allocUnsafeSlow(SLAB);
  #from = 0;
  #to = 0;
  #parts: Uint8Array[] = [];
  #isScheduled = false;
  #rest: Buffer | undefined;

  private constructor(child: OwnedChild, complaints: readonly string[]) {
    this.#child = child;
    this.#complaints = complaints;
  }

  static async start(): Promise<EngineProcess> {
    const complaints: string[] = [];
    const code =
      typeof __TRUNKLINE_QUIC_ENGINE__ === "string" ? __TRUNKLINE_QUIC_ENGINE__ : undefined;
    const program =
      code === undefined
        ? [join(import.meta.dirname, "engine-main.ts")]
        : ["--input-type=commonjs", "--eval", BOOT];
    const child = await OwnedChild.start({
      command: process.execPath,
      args: ["--experimental-ffi", "--no-warnings", ...program],
      env: {},
      stderr: (line) => {
        if (complaints.length < MOST_COMPLAINTS) complaints.push(line);
      },
    });
    if (code !== undefined) {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(code));
      child.stdin.write(length);
      child.stdin.write(code);
    }
    return new EngineProcess(child, complaints);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Delivers what the engine tells; then, once, how it ended. */
  receive(take: TakeFrame, gone: (how: string) => void): void {
    this.#child.stdout.on("data", (chunk: Buffer) => {
      const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
      const done = readFrames(bytes, take);
      this.#rest = done < bytes.length ? bytes.subarray(done) : undefined;
    });
    this.#child.stdout.on("error", () => {});
    background(
      this.#child.exit.then((exit) => {
        const how = typeof exit === "number" ? `exit code ${exit}` : exit;
        const why = this.#complaints.find((line) => line.includes("Error")) ?? this.#complaints[0];
        gone(why === undefined ? how : `${how}: ${why}`);
      }),
      "Noting the end of the QUIC engine",
    );
  }

  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void {
    const ahead = HEADER + (lead === undefined ? 0 : 4);
    const length = payload?.length ?? 0;
    const isLarge = length >= LARGE;
    this.#makeRoom(ahead + (isLarge ? 0 : length));
    writeHeader(this.#slab, this.#to, kind, flags, id, ahead - HEADER + length);
    if (lead !== undefined) this.#slab.writeUInt32LE(lead, this.#to + HEADER);
    this.#to += ahead;
    if (payload !== undefined && isLarge) {
      this.#closePart();
      this.#parts.push(payload);
    } else if (payload !== undefined) {
      this.#slab.set(payload, this.#to);
      this.#to += length;
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  /** Lets the engine close its connections and end. */
  end(): Promise<void> {
    this.#flush();
    return this.#child.end();
  }

  #makeRoom(size: number): void {
    if (this.#slab.length - this.#to >= size) return;
    this.#closePart();
    this.#slab = Buffer.allocUnsafeSlow(SLAB);
    this.#from = this.#to = 0;
  }

  #closePart(): void {
    if (this.#to > this.#from) this.#parts.push(this.#slab.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    this.#closePart();
    const parts = this.#parts;
    this.#parts = [];
    const { stdin } = this.#child;
    if (parts.length > 1) stdin.cork();
    for (const part of parts) stdin.write(part);
    if (parts.length > 1) stdin.uncork();
  };
}
