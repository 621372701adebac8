import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, it } from "node:test";

import { FileWatch } from "./engine.ts";
import { native } from "./native.ts";
import { bindSocket } from "./udp-socket.ts";

async function send(port: number): Promise<void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.send("x", port, "127.0.0.1", () => resolve()));
  socket.close();
  await once(socket, "close");
}

describe("FileWatch", () => {
  it("returns the files that can be read, until they are forgotten", async () => {
    const [first, second] = [bindSocket("127.0.0.1", 0), bindSocket("127.0.0.1", 0)];
    const files = new FileWatch();
    try {
      files.awaitInput(first.fd);
      files.awaitInput(second.fd);
      assert.deepEqual(files.wait(0), []);
      await send(second.port);
      assert.deepEqual(files.wait(5_000), [second.fd]);
      await send(first.port);
      files.forget(second.fd);
      assert.deepEqual(files.wait(5_000), [first.fd]);
    } finally {
      for (const { bio } of [first, second]) native.BIO_free(bio);
    }
  });

  it("returns at once a file that can be written", () => {
    const { fd, bio } = bindSocket("127.0.0.1", 0);
    const files = new FileWatch();
    files.awaitRoom(fd);
    assert.deepEqual(files.wait(5_000), [fd]);
    native.BIO_free(bio);
    // Also of one that was closed.
    files.forget(fd);
    assert.deepEqual(files.wait(0), []);
  });
});
