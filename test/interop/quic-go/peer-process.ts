import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";

import { quicPeer } from "./peer.ts";

/** One line that the peer has printed. README.md says what is in it. */
export type PeerLine = Readonly<Record<string, unknown>>;

export interface PeerResult {
  readonly code: number | NodeJS.Signals;
  readonly lines: readonly PeerLine[];
  readonly stderr: string;
}

/**
 * The quic-go peer, running. What serves stops when its stdin ends, so nothing outlives the test:
 * disposing ends it, and fails if it does not stop.
 */
export class PeerProcess implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly lines: PeerLine[] = [];
  stderr = "";
  /** Resolves to the exit code, or to the signal that ended it. */
  readonly exit: Promise<number | NodeJS.Signals>;
  readonly #changed = new EventEmitter();
  #isRunning = true;

  private constructor(program: string, args: readonly string[]) {
    this.child = spawn(program, args);
    let rest = "";
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      this.lines.push(...lines.map((line) => JSON.parse(line) as PeerLine));
      this.#changed.emit("change");
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#changed.emit("change");
    });
    this.child.stdin.on("error", () => {});
    this.exit = once(this.child, "close").then(([code, signal]) => {
      this.#isRunning = false;
      this.#changed.emit("change");
      return (code ?? signal) as number | NodeJS.Signals;
    });
  }

  /** Starts a command. What serves needs `--until-stdin-ends`: see `serve`. */
  static async start(...args: string[]): Promise<PeerProcess> {
    return new PeerProcess(await quicPeer(), args);
  }

  /** Starts a server (`echo-server`, `bad-server`, `orchestrator`) and waits until it is ready. */
  static async serve(command: string, ...args: string[]): Promise<PeerProcess> {
    const server = await PeerProcess.start(command, "--until-stdin-ends", ...args);
    await server.line("ready");
    return server;
  }

  /** Runs a command to its end, with `input` as its stdin. */
  static async run(args: readonly string[], input = ""): Promise<PeerResult> {
    const peer = await PeerProcess.start(...args);
    peer.child.stdin.end(input);
    const code = await peer.exit;
    return { code, lines: peer.lines, stderr: peer.stderr };
  }

  /** Where a server listens. */
  get addr(): string {
    const ready = this.lines.find(({ event }) => event === "ready");
    if (typeof ready?.addr !== "string") throw new Error("The peer is not ready: no address yet");
    return ready.addr;
  }

  /** Waits for the first line of an event. */
  async line(event: string): Promise<PeerLine> {
    for (;;) {
      const found = this.lines.find((line) => line.event === event);
      if (found !== undefined) return found;
      if (!this.#isRunning) {
        throw new Error(`The peer ended before '${event}'. stderr: ${this.stderr}`);
      }
      await once(this.#changed, "change");
    }
  }

  /** Ends a server and gives its last line: how many connections and streams it had. */
  async stop(): Promise<PeerLine> {
    this.child.stdin.end();
    const code = await this.exit;
    if (code !== 0) throw new Error(`The peer ended with ${code}. stderr: ${this.stderr}`);
    return this.line("end");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isRunning) return;
    this.child.stdin.end();
    const stopped = await Promise.race([this.exit, waitFor(10_000)]);
    if (stopped !== undefined) return;
    this.child.kill("SIGKILL");
    await this.exit;
    throw new Error(`The peer did not stop. stderr: ${this.stderr}`);
  }
}

async function waitFor(ms: number): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  setTimeout(resolve, ms, undefined).unref();
  return promise;
}
