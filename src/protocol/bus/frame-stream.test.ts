import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TestPair } from "../../../test/support/quic-pair.ts";
import { bodyOf, decodeResponse } from "./codec.ts";
import { BusClient } from "./connect.ts";
import { serveExchange } from "./serve.ts";

/** Announces 4 GiB, of which nothing follows. */
const HEADER = Buffer.alloc(4, 0xff);
const STREAM_START = { case: "streamStart", value: { streamId: "s", toolName: "t" } } as const;

for (const scheme of ["quic", "tls"] as const) {
  describe(`a frame of 4 GiB over ${scheme}`, { timeout: 30_000 }, () => {
    it("is refused with its header, as a request", async () => {
      const service = { handlers: {}, report: () => {} };
      await using pair = await TestPair.open({
        scheme,
        handle: (stream, connection) => serveExchange(stream, connection, service),
      });
      const connection = await pair.connect();
      const stream = connection.openStream();
      void stream.write(HEADER);
      const answer = stream.readAll(1_000);
      // Over TLS, who breaks the framing loses the connection, which carried this exchange alone.
      if (scheme === "tls") {
        await assert.rejects(answer, { name: "TrunklineError" });
        return;
      }
      const { response } = decodeResponse(bodyOf(await answer));
      assert.equal(response.case, "toolCall");
      assert.match(response.value.errorMessage, /over 16777216 bytes, namely 4294967295/);
    });

    it("is refused with its header, as an answer", async () => {
      await using pair = await TestPair.open({ scheme, handle: (stream) => stream.write(HEADER) });
      await using client = new BusClient({ name: "It", dial: () => pair.connect() });
      await assert.rejects(client.ask({ case: "health", value: {} }), /4294967295 bytes/);
    });

    it("is refused with its header, as one of several answers", async () => {
      await using pair = await TestPair.open({ scheme, handle: (stream) => stream.write(HEADER) });
      await using client = new BusClient({ name: "It", dial: () => pair.connect() });
      await assert.rejects(client.askForMany(STREAM_START).next(), /4294967295/);
    });
  });
}
