import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { OwnedChild } from "../base/process/child-process.ts";
import { EgressProxy } from "./egress-proxy.ts";
import { openNetwork } from "./own-network.ts";
import { systemProgram } from "./remedy.ts";

const programs = { bwrap: systemProgram("bwrap") ?? "", nsenter: systemProgram("nsenter") ?? "" };

async function open(ports: readonly number[] = [], nsenter = programs.nsenter) {
  const egress = new EgressProxy({ allowHosts: [], setting: "`x`" });
  try {
    return await openNetwork({ ...programs, nsenter, egress, ports });
  } finally {
    // Nobody uses it here.
    egress[Symbol.dispose]();
  }
}

const first = await open().catch((error: Error) => error.message);
const skip = typeof first === "string" ? `No sandbox can be had here: ${first}` : false;
if (typeof first !== "string") await first[Symbol.asyncDispose]();

/** A program in the network that greets whoever connects, and tells its port. */
const GREETS = `
const server = require("node:net").createServer((socket) => socket.end("welcome"));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit());
`;

describe("OwnNetwork", { skip, timeout: 600_000 }, () => {
  it("connects to programs in it, also when the process that made it has ended", async () => {
    await using network = await open();
    const [command, ...args] = [...network.enter, "--", process.execPath, "--eval", GREETS];
    await using child = await OwnedChild.start({ command, args, env: {} });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const port = Number(line.toString());
    // What the other side says at once is not lost on the way.
    const both = await Promise.all([network.connect(port), network.connect(port)]);
    assert.deepEqual(await Promise.all(both.map((socket) => text(socket))), ["welcome", "welcome"]);
    await network.rest();
    assert.equal(await text(await network.connect(port)), "welcome");
    await assert.rejects(network.connect(1), {
      code: "unavailable",
      message: /^Cannot connect to port 1 in another network: connect ECONNREFUSED/,
    });
    assert.equal(await text(await network.connect(port)), "welcome");
  });

  it("makes no connection once it is closed", async () => {
    const network = await open();
    await network.rest();
    const early = assert.rejects(network.connect(1), { code: "closed" });
    await network[Symbol.asyncDispose]();
    await early;
    await assert.rejects(network.connect(1), { code: "closed", message: /it is closed/ });
  });

  it("waits for a connection no longer than its caller does", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-network-"));
    const silent = join(folder.path, "nsenter");
    await writeFile(silent, "#!/bin/sh\nexec cat >/dev/null\n", { mode: 0o700 });
    await using network = await open([], silent);
    await network.rest();
    const stop = new AbortController();
    const connecting = network.connect(1, stop.signal);
    stop.abort(new Error("enough"));
    await assert.rejects(connecting, /enough/);
  });

  it("listens at the ports that are named, and says why it cannot", async () => {
    await using network = await open([0, 50_000]);
    const ports = network.listeners.map(
      (listener) => (listener.address() as { port: number }).port,
    );
    assert.equal(ports.length, 2);
    assert.equal(ports[1], 50_000);
    const [named] = network.listeners.slice(1);
    named?.on("connection", (socket) => socket.end("named"));
    assert.equal(await text(await network.connect(50_000)), "named");
    await assert.rejects(open([80]), { code: "unavailable", message: /listen EACCES.*80/ });
  });
});
