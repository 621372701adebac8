// Long: it kills two programs that move a session, again and again.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, connect, type Socket } from "node:net";
import { describe, it } from "node:test";

import { SessionLog } from "../../src/store/session/session-log.ts";
import { freePort } from "../support/free-port.ts";
import { rounds } from "../support/full-run.ts";
import { MovingRig, prompts, say, SESSION, snapshot } from "../support/moving-rig.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { SeededRandom } from "../support/seeded-random.ts";

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

describe("a session that is moved back and forth", () => {
  const count = rounds({ few: 4, all: 50 });

  it(`is whole on exactly one side after ${count} kills and cuts at any point`, async (t) => {
    const seed = Number(process.env["TRUNKLINE_MOVE_SEED"] ?? Date.now() % 1_000_000);
    t.diagnostic(`TRUNKLINE_MOVE_SEED=${seed}`);
    const random = new SeededRandom(seed);
    const [port, real] = [await freePort(), await freePort()];
    await using rig = await MovingRig.create(port);
    await using wire = await Wire.open(port, real);
    const { laptop, server } = rig;
    const envOf = ({ env }: typeof laptop) => env as Record<string, string>;
    const serve = async (): Promise<Program> => {
      const args = ["serve", "--port", String(real), "--json"];
      const program = new Program(args, { env: envOf(server), cwd: server.home.path });
      await program.until(({ lines }) => lines.length > 0);
      const { tokenFile } = readyOf(JSON.parse(program.lines[0] ?? "{}"));
      laptop.env.TRUNKLINE_TOKEN = readFileSync(tokenFile, "utf8").trim();
      return program;
    };
    const move = (isThere: boolean): Program => {
      const to = isThere ? ["--here"] : ["--to", rig.url];
      const args = ["session", "move", SESSION, ...to];
      return new Program(args, { env: envOf(laptop), cwd: rig.top });
    };
    const datas = [laptop.home.data, server.home.data];
    const writers = async () => await Promise.all(datas.map((data) => mayWrite(data)));
    let gateway = await serve();
    const said = await prompts(laptop.home.data);
    const before = snapshot(rig.top) as { files: Record<string, string> };
    const { ".env": _, "node_modules/x/index.js": __, ...files } = before.files;
    let isThere = false;
    // What one whole move takes, of bytes and of time.
    const began = Date.now();
    wire.after(Infinity, () => {});
    {
      await using whole = move(isThere);
      assert.equal(await whole.exit, 0, whole.stderr);
      isThere = true;
    }
    const [bytes, time] = [wire.passed, Date.now() - began];
    for (let round = 1; round <= count; round++) {
      const what = `round ${round}, seed ${seed}`;
      await say(datas[isThere ? 1 : 0] ?? "", `Round ${round}`);
      said.push(`Round ${round}`);
      await using mover = move(isThere);
      const who = random.pick(["cut", "mover", "gateway"] as const);
      const strike = (): void => {
        if (who === "cut") wire.cut();
        else (who === "mover" ? mover : gateway).child.kill("SIGKILL");
      };
      let timer: NodeJS.Timeout | undefined;
      if (random.once(2)) wire.after(random.below(bytes), strike);
      else timer = setTimeout(strike, random.below(time));
      await mover.exit;
      clearTimeout(timer);
      wire.after(Infinity, () => {});
      if (who === "gateway") {
        gateway.child.kill("SIGKILL");
        await gateway.exit;
        await gateway[Symbol.asyncDispose]();
        gateway = await serve();
      }
      const now = await writers();
      assert.ok(now.filter(Boolean).length <= 1, `${what}: two writers`);
      // Repeated until it is where it was to go, where it goes on.
      if (now[isThere ? 0 : 1] !== true) {
        await using again = move(isThere);
        assert.equal(await again.exit, 0, `${what}: ${again.stderr}`);
      }
      isThere = !isThere;
      assert.deepEqual(await writers(), isThere ? [false, true] : [true, false], what);
      assert.deepEqual(await prompts(datas[isThere ? 1 : 0] ?? ""), said, what);
      const wanted: object = isThere ? { ...before, files } : before;
      assert.deepEqual(snapshot(isThere ? rig.there : rig.top), wanted, what);
    }
    gateway.child.kill("SIGKILL");
    await gateway.exit;
    await gateway[Symbol.asyncDispose]();
  });
});
