import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";

import { SessionLog } from "../../src/store/session/session-log.ts";
import { freePort } from "./free-port.ts";
import { type MovingOptions, MovingRig, prompts, say, SESSION, snapshot } from "./moving-rig.ts";
import { readyOf } from "./owner-access.ts";
import { Program } from "./program.ts";
import { SeededRandom } from "./seeded-random.ts";

/** A connection between two machines, which breaks or tells when so many bytes have passed. */
class Wire implements AsyncDisposable {
  readonly #server = createServer((socket) => this.#pass(socket));
  readonly #sockets = new Set<Socket>();
  #to: number;
  #left = Infinity;
  passed = 0;
  reached: () => void = () => {};

  constructor(to: number) {
    this.#to = to;
  }

  static async open(at: number, to: number): Promise<Wire> {
    const wire = new Wire(to);
    await once(wire.#server.listen(at, "127.0.0.1"), "listening");
    return wire;
  }

  after(bytes: number, then: () => void): void {
    this.#left = bytes;
    this.passed = 0;
    this.reached = then;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(socket: Socket): void {
    const other = connect(this.#to, "127.0.0.1");
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => two.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        two.destroy();
      });
      one.on("data", (bytes: Buffer) => {
        this.passed += bytes.length;
        if (this.passed >= this.#left) {
          this.#left = Infinity;
          this.reached();
        }
        two.write(bytes);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Whether a session can be opened for writing with a data folder. */
async function mayWrite(data: string): Promise<boolean> {
  await using log = await SessionLog.open(data);
  try {
    const { key } = await log.hold(SESSION);
    await log.release(key);
    return true;
  } catch {
    return false;
  }
}

/**
 * A session that is moved between two machines, while connections break and programs are killed at any
 * point: after each round it is whole on exactly one side.
 */
export class StruckMoves implements AsyncDisposable {
  readonly rig: MovingRig;
  readonly #wire: Wire;
  readonly #real: number;
  readonly #random: SeededRandom;
  readonly #what: string;
  #gateway: Program;
  readonly said: string[] = [];
  #before: { files: Record<string, string> } = { files: {} };
  isThere = false;
  /** What a whole move takes. */
  #bytes = 0;
  #time = 0;

  private constructor(
    rig: MovingRig,
    { wire, real, seed, gateway }: { wire: Wire; real: number; seed: number; gateway: Program },
  ) {
    this.rig = rig;
    this.#wire = wire;
    this.#real = real;
    this.#random = new SeededRandom(seed);
    this.#what = `seed ${seed}`;
    this.#gateway = gateway;
  }

  static async begin(seed: number, options?: MovingOptions): Promise<StruckMoves> {
    const [port, real] = [await freePort(), await freePort()];
    await using opening = new AsyncDisposableStack();
    const rig = opening.use(await MovingRig.create(port, options));
    const wire = opening.use(await Wire.open(port, real));
    const gateway = await serve(rig, real);
    opening.move();
    return new StruckMoves(rig, { wire, real, seed, gateway });
  }

  get data(): string {
    const { server, laptop } = this.rig;
    return (this.isThere ? server : laptop).home.data;
  }

  /** Notes what has to arrive from now on. */
  async note(): Promise<void> {
    this.said.splice(0, Infinity, ...(await prompts(this.data)));
    // What stays at the laptop is only there.
    if (!this.isThere) this.#before = snapshot(this.rig.top) as never;
  }

  async #writers(): Promise<boolean[]> {
    const { laptop, server } = this.rig;
    return await Promise.all([laptop, server].map(({ home }) => mayWrite(home.data)));
  }

  #move(): Program {
    const { laptop, top, url } = this.rig;
    const to = this.isThere ? ["--here"] : ["--to", url];
    const args = ["session", "move", SESSION, ...to];
    return new Program(args, { env: laptop.env as never, cwd: top });
  }

  /** One whole move. */
  async move(): Promise<void> {
    const began = Date.now();
    this.#wire.after(Infinity, () => {});
    await using whole = this.#move();
    assert.equal(await whole.exit, 0, whole.stderr);
    this.isThere = !this.isThere;
    [this.#bytes, this.#time] = [this.#wire.passed, Date.now() - began];
    await this.check("a whole move");
  }

  /** A move during which something breaks, and what brings it to its end. */
  async struck(round: number): Promise<void> {
    const what = `round ${round}, ${this.#what}`;
    await say(this.data, `Round ${round}`);
    this.said.push(`Round ${round}`);
    await using mover = this.#move();
    const who = this.#random.pick(["cut", "mover", "gateway"] as const);
    const strike = (): void => {
      if (who === "cut") this.#wire.cut();
      else (who === "mover" ? mover : this.#gateway).child.kill("SIGKILL");
    };
    let timer: NodeJS.Timeout | undefined;
    if (this.#random.once(2)) this.#wire.after(this.#random.below(this.#bytes), strike);
    else timer = setTimeout(strike, this.#random.below(this.#time));
    await mover.exit;
    clearTimeout(timer);
    this.#wire.after(Infinity, () => {});
    if (who === "gateway") {
      await this.#end();
      this.#gateway = await serve(this.rig, this.#real);
    }
    const now = await this.#writers();
    assert.ok(now.filter(Boolean).length <= 1, `${what}: two writers`);
    // Repeated until it is where it was to go, where it goes on.
    if (now[this.isThere ? 0 : 1] !== true) {
      await using again = this.#move();
      assert.equal(await again.exit, 0, `${what}: ${again.stderr}`);
    }
    this.isThere = !this.isThere;
    await this.check(what);
  }

  async check(what: string): Promise<void> {
    const { isThere, rig } = this;
    assert.deepEqual(await this.#writers(), isThere ? [false, true] : [true, false], what);
    assert.deepEqual(await prompts(this.data), this.said, what);
    const { ".env": _, "node_modules/x/index.js": __, ...files } = this.#before.files;
    const wanted: object = isThere ? { ...this.#before, files } : this.#before;
    assert.deepEqual(snapshot(isThere ? rig.there : rig.top), wanted, what);
  }

  async #end(): Promise<void> {
    this.#gateway.child.kill("SIGKILL");
    await this.#gateway.exit;
    await this.#gateway[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await this.#wire[Symbol.asyncDispose]();
    await this.rig[Symbol.asyncDispose]();
  }
}

async function serve({ server, laptop }: MovingRig, port: number): Promise<Program> {
  const args = ["serve", "--port", String(port), "--json"];
  const program = new Program(args, { env: server.env as never, cwd: server.home.path });
  await program.until(({ lines }) => lines.length > 0);
  const { tokenFile } = readyOf(JSON.parse(program.lines[0] ?? "{}"));
  laptop.env.TRUNKLINE_TOKEN = readFileSync(tokenFile, "utf8").trim();
  return program;
}
