import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readServerUrls } from "./server-urls.ts";

describe("readServerUrls", () => {
  it("reads one or several servers", () => {
    assert.deepEqual(readServerUrls("nats://a.example"), {
      servers: ["a.example:4222"],
      isTls: false,
    });
    assert.deepEqual(readServerUrls("tls://a:1, tls://[::1]:2,b:3", true), {
      servers: ["a:1", "[::1]:2", "b:3"],
      isTls: true,
    });
  });

  it("takes a user and a password from a configuration, never from the command line", () => {
    assert.deepEqual(readServerUrls("nats://ann:p%40w@a"), {
      servers: ["a:4222"],
      isTls: false,
      user: "ann",
      password: "p@w",
    });
    for (const url of ["nats://ann:secret@a", "nats://secret@a", "nats://a,nats://b:secret@c"]) {
      assert.throws(
        () => readServerUrls(url, true),
        (error: Error) => {
          assert.match(error.message, /Put them into a file, and name it in `fleet.credentials`/);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
    }
  });

  it("refuses other addresses, and does not repeat their passwords", () => {
    for (const url of ["", "http://a", "nats://", "ws://ann:secret@a"]) {
      assert.throws(
        () => readServerUrls(url),
        (error: Error) => {
          assert.match(error.message, /expected nats:\/\/HOST:PORT or tls:\/\/HOST:PORT/);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
    }
  });
});
