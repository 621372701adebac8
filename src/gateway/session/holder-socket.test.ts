import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { Log } from "../../base/log.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { HOLDERS, socketIn } from "../../store/holder.ts";
import { HolderSocket, reachHolder } from "./holder-socket.ts";

const HOLDER = "1-00000000-0000-4000-8000-000000000000";

/** The socket of a data folder, which echoes messages. */
async function open(data: string, seen: Principal[] = []): Promise<HolderSocket> {
  await mkdir(join(data, HOLDERS), { recursive: true });
  return await HolderSocket.open({
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

describe("HolderSocket", { timeout: 600_000 }, () => {
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
});
