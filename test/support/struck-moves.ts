import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

import { SessionLog } from "../../src/store/session/session-log.ts";
import { freePort } from "./free-port.ts";
import { type MovingOptions, MovingRig, prompts, say, SESSION, snapshot } from "./moving-rig.ts";
import { readyOf } from "./owner-access.ts";
import { Program } from "./program.ts";
import { SeededRandom } from "./seeded-random.ts";

/** The steps of a move: `server/http/move-routes.ts`. */
const REQUEST = /^(?:GET|POST|PUT) \S*\/moves\/[^/ ]+\/(\w+)/;

/** A connection between two machines, which breaks or tells when so many bytes have passed. */
class Wire implements AsyncDisposable {
  readonly #server = createServer((socket) => this.#pass(socket));
  readonly #sockets = new Set<Socket>();
  #to: number;
  #left = Infinity;
  passed = 0;
  reached: () => void = () => {};
  /** Hears of each message of a move before it is passed on: its step, and how much of it is new. */
  heard: (step: string, what: "asked" | "answered" | "more", bytes: number) => void = () => {};

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
    let [step, isAsked] = ["", false];
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
        const [, name] =
          one === socket ? (REQUEST.exec(bytes.toString("latin1", 0, 200)) ?? []) : [];
        const isAnswer = one === other && isAsked;
        if (name !== undefined) step = name;
        if (name !== undefined || isAnswer) isAsked = name !== undefined;
        const what = name === undefined ? (isAnswer ? "answered" : "more") : "asked";
        if (step !== "") this.heard(step, what, bytes.length);
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

/** What breaks: the connection, the command that moves the session, or the gateway. */
const STRUCK = ["cut", "mover", "gateway"] as const;
type Struck = (typeof STRUCK)[number];

/** A moment of a move, and what breaks then. */
export interface StrikePoint {
  readonly step: string;
  /**
   * When the request or the answer is under way, when half of the bundle is, or half of the time after one
   * of them in which a side packs or unpacks.
   */
  readonly at: "asked" | "answered" | "half" | "after asked" | "after answered";
  readonly who: Struck;
}

function pointsOf(steps: readonly string[], working: readonly StrikePoint[]): StrikePoint[] {
  const under = steps.flatMap((step) =>
    (["asked", "answered"] as const).map((at) => ({ step, at })),
  );
  const messages = [...under, { step: "bundle", at: "half" } as const];
  return [...messages.flatMap((each) => STRUCK.map((who) => ({ ...each, who }))), ...working];
}

const packing = STRUCK.map((who) => ({ step: "leave", at: "after asked", who }) as const);
const unpacking = STRUCK.map((who) => ({ step: "grant", at: "after asked", who }) as const);

/** Twenty-five points of a move to the gateway. */
export const POINTS_THERE: readonly StrikePoint[] = pointsOf(
  ["offer", "bundle", "grant"],
  [{ step: "offer", at: "after answered", who: "mover" }, ...unpacking],
);
/** Twenty-five points of a move back. */
export const POINTS_BACK: readonly StrikePoint[] = pointsOf(
  ["leave", "bundle", "commit"],
  [...packing, { step: "commit", at: "after answered", who: "mover" }],
);

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
  /** When each message of a whole move passed, and when it was over, in milliseconds since it began. */
  readonly #times = { there: new Map<string, number>(), back: new Map<string, number>() };

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
    const times = this.#times[this.isThere ? "back" : "there"];
    const note = (name: string): unknown => times.set(name, Date.now() - began);
    times.clear();
    this.#wire.heard = (step, what) => what !== "more" && note(`${step} ${what}`);
    await using whole = this.#move();
    assert.equal(await whole.exit, 0, whole.stderr);
    note("over");
    this.isThere = !this.isThere;
    [this.#bytes, this.#time] = [this.#wire.passed, Date.now() - began];
    await this.check("a whole move");
  }

  /** A move during which something breaks, and what brings it to its end. */
  async struck(round: number): Promise<void> {
    const who = this.#random.pick(STRUCK);
    let timer: NodeJS.Timeout | undefined;
    await this.#broken(`round ${round}, ${this.#what}`, who, (strike) => {
      if (this.#random.once(2)) this.#wire.after(this.#random.below(this.#bytes), strike);
      else timer = setTimeout(strike, this.#random.below(this.#time));
      return () => clearTimeout(timer);
    });
  }

  /** The same at a point. False if the move was over before: the next try breaks it sooner. */
  async struckAt({ step, at, who }: StrikePoint, tries = 1): Promise<boolean> {
    let isStruck = false;
    let timer: NodeJS.Timeout | undefined;
    const source = join(this.data, "moves", `${SESSION}.out.bundle`);
    const times = [...this.#times[this.isThere ? "back" : "there"]];
    const [, after] = at.split(" ");
    const place = times.findIndex(([name]) => name === `${step} ${after}`);
    const pause = (times[place + 1]?.[1] ?? 0) - (times[place]?.[1] ?? 0);
    await this.#broken(`${step} ${at}, ${who}`, who, (hit) => {
      const strike = (): void => {
        isStruck = true;
        this.#wire.heard = () => {};
        hit();
      };
      let left = Infinity;
      this.#wire.heard = (heard, what, bytes) => {
        if (heard !== step) return;
        if (what === at) return strike();
        if (what === after) {
          this.#wire.heard = () => {};
          timer = setTimeout(strike, pause / 2 ** tries);
        }
        if (at !== "half") return;
        if (what === "asked") left = statSync(source).size / 2;
        left -= bytes;
        if (left < 0) strike();
      };
      return () => clearTimeout(timer);
    });
    return isStruck;
  }

  async #broken(what: string, who: Struck, arm: (strike: () => void) => () => void): Promise<void> {
    await say(this.data, what);
    this.said.push(what);
    await using mover = this.#move();
    const disarm = arm(() => {
      if (who === "cut") this.#wire.cut();
      else (who === "mover" ? mover : this.#gateway).child.kill("SIGKILL");
    });
    await mover.exit;
    disarm();
    this.#wire.after(Infinity, () => {});
    this.#wire.heard = () => {};
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
