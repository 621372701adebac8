import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";

import type { FrameFault } from "../channel.ts";
import { readHttpBody } from "./http-body.ts";

/** What a server reads of a body that is sent in these pieces. */
async function read(pieces: (string | Buffer)[], size?: number): Promise<string | FrameFault> {
  const found = Promise.withResolvers<string | FrameFault>();
  const server = createServer((request, response) => {
    found.resolve(readHttpBody(request, 10).then((body) => body ?? assert.fail("It was cut off")));
    void found.promise.finally(() => response.end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const headers = size === undefined ? {} : { "content-length": size };
  const { port } = server.address() as AddressInfo;
  const call = httpRequest({ port, host: "127.0.0.1", method: "POST", headers });
  call.on("error", () => {});
  call.flushHeaders();
  for (const piece of pieces) call.write(piece);
  if (size === undefined) call.end();
  const body = await found.promise;
  server.closeAllConnections();
  server.close();
  return body;
}

it("readHttpBody() reads one text, in any number of chunks", async () => {
  assert.equal(await read(["né", "e"]), "née");
  assert.equal(await read([]), "");
});

it("readHttpBody() reports a body that it cannot read", async () => {
  const fault = async (...args: Parameters<typeof read>) => (await read(...args)) as FrameFault;
  assert.equal((await fault([Buffer.from([0xff])])).kind, "encoding");
  const { kind, size } = await fault(["12345", "67890", "1"]);
  assert.deepEqual([kind, size], ["oversize", 11]);
  // It says so itself, and is not waited for.
  assert.equal((await fault([], 11)).kind, "oversize");
});
