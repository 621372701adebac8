import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { AddressResolver } from "../../base/public-lookup.ts";
import { HttpServer } from "../../../test/upstream/http-server.ts";
import { OAuthHttp } from "./oauth-http.ts";

const PUBLIC = new URL("https://mcp.example.com/mcp");

/** A name server under the control of whoever runs the MCP server. */
const toLoopback: AddressResolver = (_, found) =>
  found(null, [{ address: "127.0.0.1", family: 4 }]);

describe("OAuthHttp", () => {
  it("reaches no private address that a public server leads to", async () => {
    await using inside = await HttpServer.open(({ response }) => response.end("{}"));
    const { port } = inside.url;
    const http = new OAuthHttp({ server: PUBLIC, trustsIssuer: false, resolve: toLoopback });
    for (const address of [
      `http://127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}/`,
      `https://2130706433:${port}/`,
      `https://[::ffff:127.0.0.1]:${port}/`,
      `https://issuer.example.com:${port}/`,
      `http://localhost:${port}/`,
      "https://169.254.169.254/latest/meta-data",
    ]) {
      await assert.rejects(
        http.json(new URL(address)),
        /a private address.*oauth\.issuer/,
        address,
      );
    }
    assert.equal(inside.exchanges.length, 0);
  });

  it("reaches one if the person has configured a server or an issuer there", async () => {
    await using inside = await HttpServer.open(({ response }) => response.end('{"a":1}'));
    const server = new URL("http://localhost:1/mcp");
    assert.deepEqual(await new OAuthHttp({ server, trustsIssuer: false }).json(inside.url), {
      a: 1,
    });
    const trusting = new OAuthHttp({ server: PUBLIC, trustsIssuer: true });
    assert.deepEqual(await trusting.json(inside.url), { a: 1 });
  });

  it("sends nothing unencrypted to another machine, and opens no files", async () => {
    const server = new URL("http://127.0.0.1/mcp");
    const http = new OAuthHttp({ server, trustsIssuer: true });
    await assert.rejects(http.json(new URL("http://10.0.0.1/")), /it is not encrypted/);
    await assert.rejects(
      http.json(new URL("file:///etc/passwd")),
      /not the address of a web server/,
    );
  });

  it("follows no redirection, and reads no endless answer", async () => {
    await using server = await HttpServer.open(({ response, path }) => {
      if (path === "/to") response.writeHead(302, { location: "/mcp" }).end();
      else response.write(Buffer.alloc(1_100_000, "a"));
    });
    const http = new OAuthHttp({ server: server.url, trustsIssuer: false, timeout: 10_000 });
    assert.equal(await http.json(new URL("/to", server.url)), undefined);
    assert.equal(server.exchanges.length, 1);
    await assert.rejects(
      http.json(server.url),
      /^TrunklineError: Cannot use the answer of .*more than 1000000 bytes/,
    );
  });

  it("gives up a server that does not answer", async () => {
    await using server = await HttpServer.open(() => {});
    const http = new OAuthHttp({ server: server.url, trustsIssuer: false, timeout: 50 });
    await assert.rejects(http.json(server.url), /Cannot reach http:.*: no answer within 0\.05 s/);
  });
});
