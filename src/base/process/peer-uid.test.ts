import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtempDisposable } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { noOtherUser, runAsOtherUser } from "../../../test/support/other-user.ts";
import { peerUid } from "./peer-uid.ts";

async function listen(path: string): Promise<Server> {
  const server = createServer().listen(path);
  await once(server, "listening");
  return server;
}

async function close(server: Server, ...sockets: Socket[]): Promise<void> {
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, "close");
}

describe("peerUid()", { timeout: 60_000 }, () => {
  it("says who is at both ends of a Unix socket, until it is closed", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-peer-"));
    const path = join(folder.path, "s");
    const server = await listen(path);
    const own = connect(path);
    const [accepted] = (await once(server, "connection")) as [Socket];
    const me = process.getuid?.();
    assert.deepEqual([await peerUid(own), await peerUid(accepted)], [me, me]);
    await close(server, own, accepted);
    assert.equal(await peerUid(own), -1);
  });

  it("recognises another user", { skip: noOtherUser }, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-peer-"));
    const path = join(folder.path, "s");
    const server = await listen(path);
    await chmod(folder.path, 0o755);
    await chmod(path, 0o777);
    const ended = runAsOtherUser(`require("net").connect(${JSON.stringify(path)}).resume();`);
    const [stranger] = (await once(server, "connection")) as [Socket];
    assert.equal(await peerUid(stranger), 65_534);
    await close(server, stranger);
    await ended;
  });

  it("prints no warning", async () => {
    const module = JSON.stringify(join(import.meta.dirname, "peer-uid.ts"));
    const code = `const { peerUid } = await import(${module}); console.log(await peerUid({}));`;
    const args = ["--input-type=module", "--eval", code];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    assert.deepEqual([stdout, stderr], ["-1\n", ""]);
  });
});
