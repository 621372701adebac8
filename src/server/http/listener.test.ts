import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { sampleServing } from "../../../test/samples/sample-serving.ts";
import { Log } from "../../base/log.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { arrivalLimit } from "../../wire/channel/http-body.ts";
import { createListener, listen } from "./listener.ts";

const log = new Log("error", () => {});

describe("a request that arrives slowly", () => {
  function ends(t: TestContext, url: string, grows: boolean): boolean {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let ended = 0;
    const socket = { bytesRead: 0, destroy: () => ended++ };
    const request = Object.assign(new EventEmitter(), { method: "PUT", url, socket });
    arrivalLimit((path) => path.startsWith("/moves/"))(request as never);
    for (let minute = 0; minute < 60; minute++) {
      if (grows) socket.bytesRead += 1024 * 1024;
      t.mock.timers.tick(60_000);
    }
    request.emit("end");
    const before = ended;
    t.mock.timers.tick(3_600_000);
    assert.equal(ended, before, "nothing waits for it any more");
    return ended > 0;
  }

  it("is ended after five minutes, also while more of it comes", (t) => {
    assert.ok(ends(t, "/mcp", true));
  });

  it("goes on with the work of a session while more of it comes, and no longer", (t) => {
    assert.ok(!ends(t, "/moves/1/bundle", true));
    t.mock.timers.reset();
    assert.ok(ends(t, "/moves/1/bundle", false));
  });
});

describe("listen()", () => {
  it("reports that another program listens there, and what to do", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const serving = { ...sampleServing("127.0.0.1"), port };
    const { server } = createListener(serving, log, () => {});
    const message = new RegExp(
      `^Cannot listen on 127.0.0.1:${port}: another program listens there`,
    );
    await using home = await SampleHome.create();
    const again = () => listen(server, serving, home.path);
    await assert.rejects(again(), { code: "unavailable", message });
    const other = `http://127.0.0.2:${port}`;
    using _other = await announceGateway(home.path, {
      ...{ url: other, browser: other, listens: other },
    });
    await assert.rejects(again(), { code: "unavailable", message });
    const url = `http://127.0.0.1:${port}`;
    using _gateway = await announceGateway(home.path, { url, browser: url, listens: url });
    await assert.rejects(again(), /: a gateway of this data folder does already, .* --port/);
    const named = () => listen(server, { ...serving, host: "127.1" }, home.path);
    await assert.rejects(named(), /: a gateway of this data folder does already, .* --port/);
    taken.close();
  });

  it("reports that the machine has no such address", async () => {
    const serving = { ...sampleServing("192.0.2.1"), port: 0 };
    const { server } = createListener(serving, log, () => {});
    await assert.rejects(listen(server, serving, "/nowhere"), /this machine has no such address/);
  });
});

describe("createListener()", () => {
  it("names the setting of a TLS file that cannot be read, or is invalid", async () => {
    await using home = await SampleHome.create();
    const tls = { certFile: join(home.path, "cert.pem"), keyFile: join(home.path, "key.pem") };
    const open = () => createListener({ ...sampleServing("127.0.0.1"), tls }, log, () => {});
    assert.throws(open, {
      code: "config",
      message: /named by `serve\.tls\.certFile`: no such file/,
    });
    await writeFile(tls.certFile, "not a certificate");
    assert.throws(open, { code: "config", message: /named by `serve\.tls\.keyFile`/ });
    await writeFile(tls.keyFile, "not a key");
    assert.throws(open, { code: "config", message: /^Cannot use '.*cert\.pem' with '.*key\.pem'/ });
  });

  it("keeps 'Expect: 100-continue' out of the answers on a connection with several requests", async () => {
    const { server } = createListener(sampleServing("127.0.0.1"), log, (request, response) => {
      const answer = () => response.end(Buffer.from(`answer to ${request.url}`));
      // The first answer waits until the second request has arrived.
      if (request.url === "/first") server.once("checkContinue", answer);
      else answer();
    });
    await using _server = server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await using socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
    socket.end(
      "POST /second HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    );
    const [, first, interim, second, ...more] = (await text(socket)).split("HTTP/1.1 ");
    assert.equal(interim, "100 Continue\r\n\r\n");
    assert.match(first ?? "", /^200 OK\r\n[^]*\r\n\r\nanswer to \/first$/);
    assert.match(second ?? "", /^200 OK\r\n[^]*\r\n\r\nanswer to \/second$/);
    assert.deepEqual(more, []);
  });

  it("lets a client that waits for it send its body", async () => {
    const { server } = createListener(
      sampleServing("127.0.0.1"),
      log,
      (request, response) => void request.pipe(response),
    );
    await using _server = server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await using socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n",
    );
    const [heard] = (await once(socket, "data")) as [Buffer];
    assert.equal(heard.toString(), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("body");
    assert.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n4\r\nbody\r\n0\r\n\r\n$/);
  });
});
