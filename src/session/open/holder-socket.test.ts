import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtempDisposable, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { noOtherUser, runAsOtherUser } from "../../../test/support/other-user.ts";
import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { until } from "../../../test/support/until.ts";
import { Log } from "../../base/log.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { HOLDERS, socketIn } from "../../store/holder.ts";
import { OwnProcess } from "./process-socket.ts";
import { openHolderSocket, reachHolder } from "./holder-socket.ts";

const HOLDER = "1-00000000-0000-4000-8000-000000000000";

/** The socket of a data folder, which echoes messages. */
async function open(data: string, seen: Principal[] = []): Promise<AsyncDisposable> {
  await mkdir(join(data, HOLDERS), { recursive: true });
  return await openHolderSocket({
    data,
    holder: HOLDER,
    limits: {},
    log: new Log("error", () => {}),
    serve: async (channel, principal) => {
      seen.push(principal);
      const { promise, resolve } = Promise.withResolvers<void>();
      channel.receive({
        message: (text) => channel.send(`heard ${text}`),
        fault: () => {},
        end: () => resolve(),
      });
      await promise;
    },
  });
}

describe("openHolderSocket()", { timeout: 600_000 }, () => {
  it("lets another process connect for a principal, with a path of any length", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-holder-"));
    for (const data of [folder.path, join(folder.path, "long".repeat(30))]) {
      const seen: Principal[] = [];
      await using _socket = await open(data, seen);
      const ann: Principal = { id: "ann", scopes: ["sessions"], limits: { agents: ["goose"] } };
      await using channel = await reachHolder(data, HOLDER, ann);
      const sink = new RecordingSink();
      channel.receive(sink);
      await channel.send("one");
      await channel.send("two");
      await sink.until(({ messages }) => messages.length === 2);
      assert.deepEqual(sink.messages, ["heard one", "heard two"]);
      assert.deepEqual(seen, [ann]);
      const { mode } = await stat(socketIn(join(data, HOLDERS), HOLDER));
      assert.equal(mode & 0o777, 0o600);
    }
  });

  it("is reached by a process that had no time itself", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-holder-"));
    await using _socket = await open(folder.path);
    const reached = reachHolder(folder.path, HOLDER, OWNER);
    // Longer than a holder has to accept it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    await using channel = await reached;
    const sink = new RecordingSink();
    channel.receive(sink);
    await channel.send("one");
    await sink.until(({ messages }) => messages.length === 1);
  });

  it("ends the conversations and removes the socket when it closes", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-holder-"));
    const server = await open(folder.path);
    const sink = new RecordingSink();
    await using channel = await reachHolder(folder.path, HOLDER, OWNER);
    channel.receive(sink);
    await server[Symbol.asyncDispose]();
    await sink.until(({ ends }) => ends.length > 0);
    assert.equal(existsSync(socketIn(join(folder.path, HOLDERS), HOLDER)), false);
    await assert.rejects(reachHolder(folder.path, HOLDER, OWNER), {
      code: "unavailable",
      message: /^Cannot reach process 1: /,
    });
  });

  it("closes a connection with an invalid greeting, and serves the next", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-holder-"));
    const seen: Principal[] = [];
    await using _socket = await open(folder.path, seen);
    const socket = connect(socketIn(join(folder.path, HOLDERS), HOLDER));
    socket.write("nonsense\n");
    socket.resume();
    await new Promise((resolve) => socket.on("close", resolve));
    assert.deepEqual(seen, []);
    await using channel = await reachHolder(folder.path, HOLDER, OWNER);
    const sink = new RecordingSink();
    channel.receive(sink);
    await channel.send("x");
    await sink.until(({ messages }) => messages.length === 1);
  });

  it("serves nobody who does not know the secret, and tells an older process to restart", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-holder-"));
    const seen: Principal[] = [];
    await using _socket = await open(folder.path, seen);
    const token = new OwnerToken(folder.path).read();
    const proofs = [undefined, "", "undefined", null, 0, true, {}, token, "0".repeat(64)];
    for (const proof of proofs) {
      const socket = connect(socketIn(join(folder.path, HOLDERS), HOLDER));
      const asked = { jsonrpc: "2.0", id: "x", method: "initialize", params: {} };
      const greeting = { principal: OWNER, proof };
      socket.write(`${JSON.stringify(greeting)}\n${JSON.stringify(asked)}\n`);
      const { method, params } = JSON.parse(await text(socket)) as {
        method: string;
        params: { refused: string };
      };
      assert.equal(method, "trunkline/welcome");
      assert.match(params.refused, proof === undefined ? /older .* Restart it/ : /Restart it/);
      socket.destroy();
    }
    assert.deepEqual(seen, []);
    await new OwnerToken(folder.path).rotate();
    await using channel = await reachHolder(folder.path, HOLDER, OWNER);
    const sink = new RecordingSink();
    channel.receive(sink);
    await channel.send("x");
    await sink.until(({ messages }) => messages.length === 1);
  });

  it(
    "serves no other user, and is not believed if another user listens, whatever the folder allows",
    { skip: noOtherUser },
    async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-holder-"));
      const seen: Principal[] = [];
      await using _socket = await open(folder.path, seen);
      const { proof } = new OwnProcess(folder.path);
      const path = socketIn(join(folder.path, HOLDERS), HOLDER);
      for (const each of [folder.path, join(folder.path, HOLDERS), path]) await chmod(each, 0o777);
      const greeting = JSON.stringify({ principal: OWNER, proof });
      const answer = await runAsOtherUser(`
        const socket = require("net").connect(${JSON.stringify(path)});
        socket.write(${JSON.stringify(`${greeting}\n{"jsonrpc":"2.0","id":1,"method":"initialize"}\n`)});
        socket.on("data", (it) => process.stdout.write(it)).on("error", () => {});`);
      assert.deepEqual([answer, seen], ["", []]);
      const other = "2-00000000-0000-4000-8000-000000000000";
      const theirs = socketIn(join(folder.path, HOLDERS), other);
      const heard = runAsOtherUser(`
        const server = require("net").createServer((socket) => {
          socket.on("data", (it) => process.stdout.write(it));
          socket.on("error", () => {}).on("close", () => server.close());
        }).listen(${JSON.stringify(theirs)}, () => require("fs").writeFileSync(${JSON.stringify(`${theirs}.up`)}, ""));`);
      await until(() => existsSync(`${theirs}.up`));
      await assert.rejects(reachHolder(folder.path, other, OWNER), /belongs to user 65534/);
      assert.equal(await heard, "");
    },
  );
});
