import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer as createListener, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { until } from "../../test/support/until.ts";
import { type EgressOptions, EgressProxy, joinSockets } from "./egress-proxy.ts";

/** A server outside of the sandbox, and the proxy that leads there. */
async function open(options: (port: number) => Partial<EgressOptions>) {
  const refused: string[] = [];
  const server = createServer(({ url, headers }, answer) => {
    answer.end(`${url} ${headers.authorization ?? "-"} ${String(headers["x-api-key"] ?? "-")}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: outside } = server.address() as AddressInfo;
  const listener = createListener();
  const proxy = new EgressProxy({
    allowHosts: [],
    setting: "`egress.allowHosts`",
    refused: (host) => void refused.push(host),
    resolve: async () => ["127.0.0.1"],
    ...options(outside),
  });
  proxy.serve(listener);
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const get = async (path: string, headers = {}) => {
    const asked = request({ host: "127.0.0.1", port, path, headers }).end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return { status: answer.statusCode, body: await text(answer) };
  };
  const tunnel = async (target: string) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    return { socket, head: chunk.toString() };
  };
  return {
    outside,
    port,
    refused,
    get,
    tunnel,
    [Symbol.dispose]: () => {
      proxy[Symbol.dispose]();
      server.close();
      server.closeAllConnections();
    },
  };
}

describe("EgressProxy", () => {
  it("reaches an allowed host", async () => {
    using rig = await open(() => ({ allowHosts: ["*.example.com"], allowPrivate: true }));
    const { status, body } = await rig.get(`http://api.example.com:${rig.outside}/a?b=c`);
    assert.deepEqual({ status, body }, { status: 200, body: "/a?b=c - -" });
  });

  it("refuses any other host, names the setting that would allow it, and notifies its owner", async () => {
    using rig = await open(() => ({ allowHosts: ["*.example.com"], allowPrivate: true }));
    for (const host of ["example.org", "example.com.evil.org", "notexample.com"]) {
      const { status, body } = await rig.get(`http://${host}:${rig.outside}/`);
      assert.equal(status, 403);
      assert.match(body, /egress\.allowHosts/);
    }
    assert.deepEqual(rig.refused, ["example.org", "example.com.evil.org", "notexample.com"]);
  });

  it("refuses a name that resolves to a private address", async () => {
    using rig = await open(() => ({ allowHosts: ["*"] }));
    const { status, body } = await rig.get(`http://rebound.example:${rig.outside}/`);
    assert.equal(status, 403);
    assert.match(body, /resolves to 127\.0\.0\.1/);
    assert.equal((await rig.get(`http://[::ffff:127.0.0.1]:${rig.outside}/`)).status, 403);
    const metadata = await rig.get("http://169.254.169.254/latest/meta-data");
    assert.match(metadata.body, /resolves to 169\.254\.169\.254/);
  });

  it("tunnels to an allowed host, and to no other", async () => {
    using rig = await open(() => ({ allowHosts: ["git.example"], allowPrivate: true }));
    const { socket, head } = await rig.tunnel(`git.example:${rig.outside}`);
    assert.match(head, /^HTTP\/1\.1 200/);
    socket.write("GET /tunnelled HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert.match(await text(socket), /\/tunnelled/);
    const { head: other } = await rig.tunnel(`evil.example:${rig.outside}`);
    assert.match(other, /^HTTP\/1\.1 403/);
  });

  it("adds the key of a service, and replaces whatever the program sent", async () => {
    using rig = await open((port) => ({
      services: {
        model: {
          origin: `http://127.0.0.1:${port}/v1/`,
          allows: ["GET /chat"],
          headers: async () => ({ authorization: "Bearer real" }),
        },
      },
    }));
    const sent = { authorization: "Bearer made-up", "x-api-key": "made-up" };
    const { body } = await rig.get("/service/model/chat?stream=1", sent);
    assert.equal(body, "/v1/chat?stream=1 Bearer real -");
    const own = `http://127.0.0.1:${rig.port}`;
    assert.equal((await rig.get(`${own}/service/model/chat`)).body, "/v1/chat Bearer real -");
    assert.equal((await rig.get("/service/model/v1/chat")).body, "/v1/chat Bearer real -");
  });

  it("asks for the pass of a service that has one, and takes a version that is given twice", async () => {
    using rig = await open((port) => ({
      services: {
        model: {
          origin: `http://127.0.0.1:${port}/v1beta`,
          allows: ["GET /models/*:generateContent"],
          pass: "of-this-run",
          headers: async () => ({ "x-api-key": "real" }),
        },
      },
    }));
    const path = "/service/model/v1beta/models/gemini:generateContent";
    for (const sent of [{}, { "x-api-key": "other" }, { "x-other": "of-this-run" }]) {
      const { status, body } = await rig.get(path, sent);
      assert.equal(status, 403);
      assert.doesNotMatch(body, /real|of-this-run/);
    }
    for (const sent of [
      { "x-goog-api-key": "of-this-run" },
      { authorization: "Bearer of-this-run" },
    ]) {
      const { body } = await rig.get(path, sent);
      assert.equal(body, "/v1beta/models/gemini:generateContent - real");
    }
  });

  it("refuses unknown services, and calls that a service does not allow", async () => {
    using rig = await open((port) => ({
      services: {
        model: {
          origin: `http://127.0.0.1:${port}/api/v1`,
          allows: ["POST /messages", "GET /models", "GET /models/*"],
          headers: async () => ({ authorization: "Bearer real" }),
        },
      },
    }));
    assert.equal((await rig.get("/service/other/x")).status, 403);
    assert.equal((await rig.get("/service/__proto__/x")).status, 403);
    const paths = [
      ...["", "/", "/files", "/messages", "/models/../files", "/../../other/files", "/models/.."],
      ...["/models/%2e%2e/files", "/models/%252e%252e/files", "/models%2f..%2ffiles", "//models"],
      ...[
        "/models/..%5cfiles",
        "/models\\..\\files",
        "/models/..;/files",
        "/models#",
        "//evil/models",
      ],
      ...["@evil.example/models", ":1/models", "/v1/v1/models", "/models//", "/v1/../models"],
    ];
    for (const path of paths) {
      const { status, body } = await rig.get(`/service/model${path}`);
      assert.deepEqual([status, body.includes("Bearer")], [403, false], path);
    }
    const { body } = await rig.get("/service/model/models/%67pt-4?a=/../b");
    assert.equal(body, "/api/v1/models/gpt-4?a=/../b Bearer real -");
  });

  it("judges a host in its normal form, and connects to that", async () => {
    using rig = await open(() => ({ allowHosts: ["git.example"], allowPrivate: true }));
    for (const host of ["GIT.example.", "Git.Example"]) {
      assert.equal((await rig.get(`http://${host}:${rig.outside}/`)).status, 200, host);
      const { socket, head } = await rig.tunnel(`${host}:${rig.outside}`);
      assert.match(head, /^HTTP\/1\.1 200/, host);
      socket.destroy();
    }
    for (const host of ["git.example@evil.example", "evil.example/git.example", "git.example%00"]) {
      const { socket, head } = await rig.tunnel(`${host}:${rig.outside}`);
      assert.match(head, /^HTTP\/1\.1 403/, host);
      socket.destroy();
    }
  });

  it("reports a host that does not answer", async () => {
    using rig = await open(() => ({ allowHosts: ["*"], allowPrivate: true }));
    const { status, body } = await rig.get("http://127.0.0.1:1/");
    assert.equal(status, 502);
    assert.match(body, /cannot make this connection/);
  });
});

describe("joinSockets", () => {
  it("passes on all that has come before one side closes, even if the other reads later", async () => {
    await using near = await connected();
    await using far = await connected();
    const [client, inside] = near.ends;
    const [outside, host] = far.ends;
    joinSockets(inside, outside);
    const piece = Buffer.alloc(16 * 1024);
    let sent = 0;
    // Until the system takes no more of what the client does not read.
    while (inside.writableLength === 0) {
      host.write(piece);
      sent += piece.length;
      await until(() => outside.bytesRead === sent);
    }
    const closed = once(outside, "close");
    host.end();
    await closed;
    let received = 0;
    for await (const chunk of client as AsyncIterable<Buffer>) received += chunk.length;
    assert.equal(received, sent);
  });

  it("closes one side when the other fails", async () => {
    await using near = await connected();
    await using far = await connected();
    const [client, inside] = near.ends;
    const [outside, host] = far.ends;
    joinSockets(inside, outside);
    const closed = once(client.resume(), "close");
    host.resetAndDestroy();
    await closed;
  });
});

/** Both ends of a connection. */
async function connected() {
  const listener = createListener();
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const one = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  const [other] = (await once(listener, "connection")) as [Socket];
  const ends: readonly [Socket, Socket] = [one, other];
  return {
    ends,
    [Symbol.asyncDispose]: async () => {
      for (const end of ends) end.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}
