// Long: gateways and their agents.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";

import { AcpSocket } from "../support/acp-socket.ts";
import {
  bearer,
  type GuardedGateway,
  GuardedHome,
  INITIALIZE,
} from "../support/guarded-gateway.ts";
import { until } from "../support/until.ts";

const MB = 1_000_000;
const MANY = 60;
const LARGE = 8.9 * MB;
const BODY = Buffer.alloc(LARGE, 0x20);
/** What the program takes when it starts is not what is tested. */
const MOST_GROWTH = 320 * MB;

const skip = process.platform !== "linux" && "needs /proc to see how much memory is taken";

function memoryOf(pid: number): number {
  const [, kilobytes = "0"] =
    /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** A body that never ends: all but its last bytes are sent. */
class UnfinishedBody implements Disposable {
  readonly socket: Socket;
  answer = "";

  constructor(gateway: GuardedGateway, path: string, size: number) {
    this.socket = connect(Number(gateway.port), "127.0.0.1");
    this.socket.on("error", () => {});
    this.socket.setEncoding("latin1").on("data", (text: string) => (this.answer += text));
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${gateway.authority}`,
      `Authorization: ${gateway.owner.authorization}`,
      "Content-Type: application/json",
      "Accept: application/json, text/event-stream",
      `Content-Length: ${size + 10}`,
    ];
    this.socket.write(`${head.join("\r\n")}\r\n\r\n`);
    this.socket.write(BODY.subarray(0, size));
  }

  /** All was taken, or it was answered. */
  get isSettled(): boolean {
    return this.answer !== "" || this.socket.destroyed || this.socket.writableLength === 0;
  }

  get status(): number {
    return Number(this.answer.split(" ")[1] ?? 0);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** The gateway still does its work. */
async function works(gateway: GuardedGateway): Promise<void> {
  assert.equal((await gateway.post(INITIALIZE, gateway.owner)).status, 200);
  using client = await AcpSocket.connect(gateway.acp, gateway.owner);
  await client.ask("session/list", {});
}

describe("many clients that send at once and never end", { timeout: 600_000, skip }, () => {
  for (const path of ["/mcp", "/acp"]) {
    it(`use bounded memory with bodies to ${path}, and lock nobody out`, async () => {
      using home = new GuardedHome();
      await using gateway = await home.serve();
      const { pid } = gateway.ready;
      await works(gateway);
      const before = memoryOf(pid);
      const bodies = Array.from({ length: MANY }, () => new UnfinishedBody(gateway, path, LARGE));
      let most = 0;
      await until(() => {
        most = Math.max(most, memoryOf(pid));
        return bodies.every(({ isSettled }) => isSettled);
      });
      const refused = bodies.filter(({ status }) => status === 503);
      assert.ok(refused.length >= MANY / 2, `${refused.length} were refused`);
      assert.match(refused[0]?.answer ?? "", /retry-after: 1/i);
      assert.ok(most - before < MOST_GROWTH, `${Math.round((most - before) / MB)} MB more`);
      await works(gateway);
      for (const body of bodies) body[Symbol.dispose]();
      // When they are gone, there is room again for what is large.
      const params = { name: "x".repeat(5 * MB), arguments: {} };
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      for (let times = 0; ; times++) {
        const { status } = await gateway.post(call, gateway.owner);
        if (status !== 503) break;
        assert.ok(times < 100, "there is no room again");
        await sleep(50);
      }
    });
  }

  it("use bounded memory with fragments on WebSockets, and are told to retry", async () => {
    using home = new GuardedHome();
    await using gateway = await home.serve();
    const { pid } = gateway.ready;
    await works(gateway);
    const before = memoryOf(pid);
    const sockets: WebSocket[] = [];
    const closed: number[] = [];
    for (let count = 0; count < MANY; count++) {
      // A mask of zeros: 500 MB need not be masked for what this test shows.
      const options = { headers: gateway.owner, generateMask: (mask: Buffer) => void mask.fill(0) };
      const socket = new WebSocket(gateway.acp, options);
      socket.on("error", () => {});
      socket.on("close", (code) => closed.push(code));
      await once(socket, "open");
      sockets.push(socket);
    }
    // In fragments, with control frames between them: none of it is a message.
    const fragment = Buffer.alloc(LARGE / 10, 0x20);
    let sent = 0;
    for (const socket of sockets) {
      for (let part = 0; part < 10; part++) {
        socket.send(fragment, { fin: false, binary: false }, () => sent++);
        socket.ping();
      }
    }
    let most = 0;
    await until(() => {
      most = Math.max(most, memoryOf(pid));
      const open = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN);
      const areTaken = open.every(({ bufferedAmount }) => bufferedAmount === 0);
      return areTaken && closed.length === MANY - open.length;
    });
    assert.ok(sent > 0);
    assert.ok(closed.includes(1013), closed.join());
    assert.ok(closed.length >= MANY / 2, `${closed.length} were closed`);
    assert.ok(
      closed.every((code) => code === 1013 || code === 1006),
      closed.join(),
    );
    assert.ok(most - before < MOST_GROWTH, `${Math.round((most - before) / MB)} MB more`);
    await works(gateway);
    for (const socket of sockets) socket.terminate();
  });

  it("do not delay small messages, whoever else sends large ones", async () => {
    using home = new GuardedHome({
      limits: { maxMessage: 1024 * 1024, maxBuffered: 2 * 1024 * 1024 },
    });
    const token = bearer(await home.createToken("other", "--scope", "tools"));
    await using gateway = await home.serve();
    const bodies = Array.from({ length: 8 }, () => new UnfinishedBody(gateway, "/mcp", 900_000));
    await until(() => bodies.some(({ status }) => status === 503));
    for (let times = 0; times < 20; times++) {
      assert.equal((await gateway.post(INITIALIZE, token)).status, 200);
    }
    for (const body of bodies) body[Symbol.dispose]();
  });
});
