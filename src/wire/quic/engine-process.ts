import { join } from "node:path";
import { background } from "../../base/background.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { readFrames, type TakeFrame } from "./control-frame.ts";
import { FrameWriter } from "./frame-writer.ts";

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

const MOST_COMPLAINTS = 20;

/** The process that runs the native code, so that a crash there does not end the program. */
export class EngineProcess {
  readonly #child: OwnedChild;
  readonly #complaints: readonly string[];
  readonly #writer: FrameWriter;
  #rest: Buffer | undefined;

  private constructor(child: OwnedChild, complaints: readonly string[]) {
    this.#child = child;
    this.#complaints = complaints;
    this.#writer = new FrameWriter(child.stdin);
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
      args: ["--experimental-ffi", "--expose-gc", "--no-warnings", ...program],
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
    this.#writer.send(kind, flags, id, payload, lead);
  }

  /** Lets the engine close its connections and end. */
  end(): Promise<void> {
    this.#writer.flush();
    return this.#child.end();
  }
}
