import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { SampleAllowance } from "../../../test/samples/sample-allowance.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { defaultConfig } from "../../config/config.ts";
import { checkPort } from "./machine-checks.ts";

const { serve, data } = defaultConfig("/data");

/** What is found of the port of a server that answers so. */
async function found(listener: RequestListener, patience?: number) {
  await using allowance = new SampleAllowance(patience);
  const server = createServer(listener);
  await using _closed = { [Symbol.asyncDispose]: () => closed(server) };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const config = { data, serve: { ...serve, host: "127.0.0.1", port } };
  return { ...(await checkPort(config, allowance)), port };
}

async function closed(server: ReturnType<typeof createServer>): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}

describe("checkPort()", () => {
  it("checks nothing if a free port is to be picked", async () => {
    await using allowance = new SampleAllowance();
    const config = { data, serve: { ...serve, host: "127.0.0.1", port: 0 } };
    const { state } = await checkPort(config, allowance);
    assert.equal(state, "ok");
  });

  it("recognises a running gateway, also one that hides its version", async () => {
    const named = await found((_, response) =>
      response.end(JSON.stringify({ status: "ok", version: "1.2.3" })),
    );
    const where = `127.0.0.1:${named.port}`;
    assert.equal(named.state, "warn");
    assert.equal(
      named.says,
      `Trunkline 1.2.3 is running on ${where}, of another data folder or user`,
    );
    const unnamed = await found((_, response) => response.end('{"status":"ok"}'));
    assert.match(unnamed.says, /^a gateway is running/);
  });

  it("knows the gateway of the data folder", async () => {
    await using home = await SampleHome.create();
    await using allowance = new SampleAllowance();
    const server = createServer((_, response) => response.end('{"status":"ok"}'));
    await using _closed = { [Symbol.asyncDispose]: () => closed(server) };
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    using _announced = await announceGateway(home.data, { url, browser: url });
    const own = { ...serve, host: "127.0.0.1", port };
    const finding = await checkPort({ data: home.data, serve: own }, allowance);
    assert.equal(finding.state, "ok");
    assert.match(finding.says, /^a gateway is running on .*, of this data folder$/);
  });

  for (const [what, body] of [
    ["other JSON", '{"status":"down"}'],
    ["a page", "<html>"],
  ] as const) {
    it(`fails if another program listens there and answers with ${what}`, async () => {
      const { state, says, next } = await found((_, response) => response.end(body));
      assert.equal(state, "fail");
      assert.match(says, /^another program listens on 127\.0\.0\.1:/);
      assert.match(next ?? "", /serve\.port/);
    });
  }

  it("says of a program that does not answer that it does not, before the check is given up", async () => {
    // What is left for a check may be any number of milliseconds.
    const { state, says } = await found(() => {}, 201);
    assert.equal(state, "fail");
    assert.match(says, /^a program that does not answer listens on 127\.0\.0\.1:/);
  });

  it("fails for an address that this machine does not have", async () => {
    // RFC 5737: 192.0.2.0/24 is for documentation.
    await using allowance = new SampleAllowance();
    const config = { data, serve: { ...serve, host: "192.0.2.1", port: 4180 } };
    const finding = await checkPort(config, allowance);
    assert.equal(finding.state, "fail");
    assert.match(finding.says, /cannot listen on 192\.0\.2\.1:4180: EADDRNOTAVAIL/);
  });
});
