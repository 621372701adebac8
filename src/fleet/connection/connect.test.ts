import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, nkeys } from "@nats-io/transport-node";
import { freePort } from "../../../test/support/free-port.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { TestCa } from "../../../test/support/quic-certificates.ts";
import { until } from "../../../test/support/until.ts";
import { subjectsOf } from "../subjects.ts";
import { FleetConnection, type FleetConnectionOptions, readServerUrls } from "./connect.ts";

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

const open = (
  options: Partial<FleetConnectionOptions> & { url: string },
): Promise<FleetConnection> =>
  FleetConnection.open({ subjects: subjectsOf("p"), name: "n", ...options });

describe("FleetConnection", { skip: noNats, timeout: 300_000 }, () => {
  let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
  const file = async (name: string, content = ""): Promise<string> => {
    const path = join(folder.path, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };

  before(async () => {
    folder = await mkdtempDisposable(join(tmpdir(), "trunkline-connect-"));
  });
  after(() => folder.remove());

  it("reconnects when the server is back, and tells whether it is connected", async () => {
    await using server = await NatsServer.start();
    await using connection = await open({ url: server.url });
    let changes = 0;
    const stop = connection.onChange(() => changes++);
    await server.kill();
    await until(() => !connection.isConnected);
    await server.restart();
    await until(() => connection.isConnected);
    assert.equal(changes, 2);
    stop();
    assert.equal(connection.maxPayload, 1024 * 1024);
  });

  it("stays connected where the reading of a message fails", async () => {
    await using server = await NatsServer.start();
    await using connection = await open({ url: server.url });
    const failures: unknown[] = [];
    const others = process.rawListeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", (error) => failures.push(error));
    const heard: string[] = [];
    connection.listen("s", (message) => {
      const text = message.string();
      if (text === "bad") throw new TypeError("it is bad");
      heard.push(text);
    });
    for (const text of ["one", "bad", "two"]) connection.nats.publish("s", text);
    await until(() => heard.length === 2 && failures.length === 1);
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other as () => void);
    assert.ok(connection.isConnected);
    assert.match(String(failures), /Reading a message of s failed: it is bad/);
  });

  it("is closed in a bounded time while the server is away", async () => {
    await using server = await NatsServer.start();
    const connection = await open({ url: server.url });
    await server.kill();
    await until(() => !connection.isConnected);
    await connection[Symbol.asyncDispose]();
    assert.ok(connection.nats.isClosed());
  });

  it("says what is wrong if nothing listens, or what listens is not NATS", async () => {
    const port = await freePort();
    await assert.rejects(open({ url: `nats://127.0.0.1:${port}` }), {
      code: "unavailable",
      message:
        `Cannot connect to NATS at 127.0.0.1:${port}: connection refused. ` +
        "Check the address, and whether nats-server runs there.",
    });
    const other = createServer((socket) => socket.end("SSH-2.0-OpenSSH\r\n")).listen(0);
    await once(other, "listening");
    const { port: taken } = other.address() as { port: number };
    await assert.rejects(open({ url: `127.0.0.1:${taken}` }), {
      message: /^Cannot connect to NATS at .*: unexpected response from server. Check the address/,
    });
    other.close();
    const closing = createServer((socket) => socket.destroy()).listen(0);
    await once(closing, "listening");
    const { port: closed } = closing.address() as { port: number };
    await assert.rejects(open({ url: `127.0.0.1:${closed}` }), {
      message:
        /^Cannot connect to NATS at .*: the connection was closed before NATS said anything\./,
    });
    closing.close();
  });

  it("says that there is no JetStream", async () => {
    await using server = await NatsServer.start(
      "accounts { A { users [{ user: a, password: b }] } }",
    );
    const credentials = await file("password", "a:b\n");
    await assert.rejects(open({ url: server.url, credentials }), {
      code: "unavailable",
      message: /^NATS at 127.0.0.1:\d+ has no JetStream. Start it with `nats-server -js`/,
    });
  });

  it("waits for a majority of the servers, and says if there is none", async () => {
    await using server = await NatsServer.start("jetstream: disabled");
    const other = await connect({ servers: server.url });
    let left = 3;
    // A server without JetStream: this answers as one whose cluster has lost its leader, and elects one.
    other.subscribe("$JS.API.INFO", {
      callback: (_error, message) => {
        if (left === 3) return void (left -= 1);
        const description = "JetStream system temporarily unavailable";
        const error = { code: 503, err_code: 10_008, description };
        left -= 1;
        message.respond(JSON.stringify(left < 0 ? {} : { error }));
      },
    });
    await other.flush();
    await using _connection = await open({ url: server.url });
    left = Infinity;
    await assert.rejects(open({ url: server.url }), {
      code: "unavailable",
      message: /have no majority: JetStream system temporarily unavailable\. Start those that/,
    });
    await other.close();
  });

  it("waits for a JetStream that is still beginning", async () => {
    const users = "users [{ user: a, password: b }]";
    await using server = await NatsServer.start(`accounts { A { ${users} } }`);
    const credentials = await file("beginning", "a:b\n");
    const other = await connect({ servers: server.url, user: "a", pass: "b" });
    const asked = Promise.withResolvers<void>();
    const error = { code: 503, err_code: 10_039, description: "JetStream not enabled for account" };
    other.subscribe("$JS.API.INFO", {
      max: 1,
      callback: (_error, message) => asked.resolve(void message.respond(JSON.stringify({ error }))),
    });
    await other.flush();
    const opening = open({ url: server.url, credentials });
    await asked.promise;
    await other.close();
    await server.reload(`accounts { A { jetstream: enabled, ${users} } }`);
    await using connection = await opening;
    assert.equal(await connection.problem(), undefined);
  });

  it("sends a password or the signature of an nkey from a file, read anew for each connection", async () => {
    const user = nkeys.createUser();
    const seed = Buffer.from(user.getSeed()).toString();
    await using server = await NatsServer.start(
      `authorization { users [{ nkey: ${user.getPublicKey()} }, { user: ann, password: "p:w" }] }`,
    );
    await using _nkey = await open({ url: server.url, credentials: await file("seed", seed) });
    const path = await file("ann", "# for the fleet\nann:p:w\n");
    await using ann = await open({ url: server.url, credentials: path });
    await writeFile(path, seed);
    await server.kill();
    await until(() => !ann.isConnected);
    await server.restart();
    await until(() => ann.isConnected);
    await using _url = await open({ url: server.url.replace("//", "//ann:p%3Aw@") });
  });

  it("sends the credentials of a file of nsc", async () => {
    const { settings, credentials } = operatorMode();
    await using server = await NatsServer.start(settings);
    const path = await file("user.creds", credentials);
    await using connection = await open({ url: server.url, credentials: path });
    assert.ok(connection.isConnected);
    await assert.rejects(open({ url: server.url }), /it refused the credentials/);
  });

  it("says that credentials are refused, unreadable or of no known kind", async () => {
    await using server = await NatsServer.start("authorization { user: a, password: b }");
    const { url } = server;
    const refused = {
      code: "unavailable",
      message: /it refused the credentials. Name a file with valid ones in `fleet.credentials`/,
    };
    await assert.rejects(open({ url }), refused);
    await assert.rejects(open({ url, credentials: await file("wrong", "a:c") }), refused);
    await assert.rejects(open({ url, credentials: join(folder.path, "none") }), {
      code: "config",
      message: /^Cannot read the credentials for NATS: ENOENT/,
    });
    const bare = await file("bare", "a:b");
    await chmod(bare, 0o644);
    await assert.rejects(open({ url, credentials: bare }), {
      code: "config",
      message: /bare: every user of this machine can read them\. Run `chmod o= /,
    });
    await assert.rejects(open({ url, credentials: await file("odd", "hello") }), {
      code: "config",
      message: /odd: expected a file of nsc \(.creds\), the seed of an nkey \(SU…\), or one line/,
    });
  });

  it("uses TLS with a certificate of its own, and checks the server's", async () => {
    const ca = await TestCa.make("P-256");
    const [named, own] = [await ca.issue("nats"), await ca.issue("node")];
    const other = await ca.issue("other", { names: ["other.example"] });
    const caFile = await file("ca.pem", ca.pem);
    const strange = await file("strange.pem", (await TestCa.make("P-256", "Stranger")).pem);
    const [certFile, keyFile] = [await file("c.pem", own.cert), await file("k.pem", own.key)];
    const settings = async (name: string, { cert, key }: typeof own): Promise<string> =>
      `tls { cert_file: "${await file(`${name}.pem`, cert)}", ` +
      `key_file: "${await file(`${name}.key`, key)}", ca_file: "${caFile}", verify: true }`;

    await using server = await NatsServer.start(await settings("server", named));
    for (const host of ["127.0.0.1", "localhost"]) {
      const url = `tls://${host}:${server.port}`;
      await using _connection = await open({ url, tls: { caFile, certFile, keyFile } });
    }
    // The first server of the list is down: the certificate is that of the second.
    const several = `tls://127.0.0.9:1,tls://127.0.0.1:${server.port}`;
    await using _second = await open({ url: several, tls: { caFile, certFile, keyFile } });
    const { url } = server;
    const advice = / Name the authority of its certificate in `fleet.tls.caFile`/;
    await assert.rejects(open({ url, tls: { caFile: strange, certFile, keyFile } }), advice);
    await assert.rejects(open({ url }), advice);
    const uncertified = assert.rejects(open({ url, tls: { caFile } }), {
      message: /no answer in 5 seconds. .* if it asks for a certificate .*, `fleet.tls.certFile`/,
    });

    await using wrong = await NatsServer.start(await settings("other", other));
    await assert.rejects(open({ url: wrong.url, tls: { caFile, certFile, keyFile } }), {
      message: /does not match certificate's altnames.*IP: 127.0.0.1.* Name the authority/s,
    });
    await using plain = await NatsServer.start();
    await assert.rejects(open({ url: plain.url, tls: { caFile } }), /does not support 'tls'/);
    await uncertified;
  });
});

/** A server whose accounts are signed by an operator, and a user of one of them. */
function operatorMode(): { settings: string; credentials: string } {
  const operator = nkeys.createOperator();
  const [system, account] = [nkeys.createAccount(), nkeys.createAccount()];
  const user = nkeys.createUser();
  const unlimited = { subs: -1, data: -1, payload: -1 };
  const limits = { ...unlimited, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accounts = [
    [system.getPublicKey(), signed(operator, system, { type: "account", limits })],
    [
      account.getPublicKey(),
      signed(operator, account, { type: "account", limits: { ...limits, ...storage } }),
    ],
  ].map(([key, token]) => `${key}: ${token}`);
  return {
    settings:
      `operator: ${signed(operator, operator, { type: "operator" })}\n` +
      `system_account: ${system.getPublicKey()}\nresolver: MEMORY\n` +
      `resolver_preload: {\n${accounts.join("\n")}\n}\n`,
    credentials:
      "-----BEGIN NATS USER JWT-----\n" +
      `${signed(account, user, { type: "user", ...unlimited })}\n` +
      "------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" +
      `${Buffer.from(user.getSeed()).toString()}\n------END USER NKEY SEED------\n`,
  };
}

/** A token of NATS: what an issuer says about a key. */
function signed(issuer: nkeys.KeyPair, about: nkeys.KeyPair, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const iat = Math.floor(Date.now() / 1000);
  const [iss, sub] = [issuer.getPublicKey(), about.getPublicKey()];
  const claims = { jti: "x", iat, iss, sub, name: "test", nats: { ...nats, version: 2 } };
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part(claims)}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString("base64url")}`;
}
