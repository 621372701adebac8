import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, it } from "node:test";

import { lend } from "../../../base/process/ffi.ts";
import { native } from "./native.ts";
import { bindSocket, connectSocket } from "./udp-socket.ts";

describe("bindSocket()", () => {
  it("picks a free port of the address, which nobody else gets", () => {
    const { bio, port } = bindSocket("127.0.0.1", 0);
    try {
      assert.ok(port > 0);
      assert.throws(() => bindSocket("127.0.0.1", port), {
        trouble: "unusable",
        message: /in use/,
      });
    } finally {
      native.BIO_free(bio);
    }
    native.BIO_free(bindSocket("127.0.0.1", port).bio);
  });

  it("reads every spelling of an IPv6 address", async (context) => {
    const probe = createSocket("udp6");
    probe.bind(0, "::1");
    const [isThere] = await Promise.race([
      once(probe, "listening").then(() => [true]),
      once(probe, "error").then(() => [false]),
    ]);
    await new Promise<void>((resolve) => probe.close(resolve));
    if (isThere !== true) return context.skip("this machine has no IPv6");
    for (const host of ["::1", "0:0:0:0:0:0:0:1", "0000::0001", "::0:1"]) {
      const { bio, port } = bindSocket(host, 0);
      native.BIO_free(bio);
      assert.ok(port > 0, host);
    }
  });
});

describe("connectSocket()", () => {
  it("connects to the given port", async () => {
    const server = createSocket("udp4");
    server.bind(0, "127.0.0.1");
    await once(server, "listening");
    const { fd, bio, port } = connectSocket("127.0.0.1", server.address().port);
    const message = Buffer.from(new ArrayBuffer(2));
    const received = once(server, "message");
    lend(message, (at) => native.send(fd, at, 2n, 0));
    const [, from] = (await received) as [Buffer, { port: number }];
    assert.equal(from.port, port);
    native.BIO_free(bio);
    await new Promise<void>((resolve) => server.close(resolve));
  });
});
