import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { browserLogins, type BrowserLogins } from "./browser-logins.ts";

const HOST = "localhost:4180";
const HOUR = 60 * 60_000;

function requestOf(
  headers: IncomingHttpHeaders,
  method = "GET",
  socket: Partial<Socket> = {},
): IncomingMessage {
  return { headers: { host: HOST, ...headers }, method, socket } as IncomingMessage;
}

class Rig implements AsyncDisposable {
  now = 0;
  readonly owner: OwnerToken;
  readonly devices: Devices;
  readonly logins: BrowserLogins;
  readonly #folder: SampleFolder;

  private constructor(folder: SampleFolder, publicOrigin: string | undefined) {
    this.#folder = folder;
    this.owner = new OwnerToken(folder.path);
    const own = () => ({ scheme: "http", port: 4180 }) as const;
    this.devices = new Devices(folder.path, { now: () => this.now });
    const { owner, devices } = this;
    const proxied = new Set(["tools.example.com"]);
    this.logins = browserLogins({ owner, devices, own, publicOrigin, proxied });
  }

  get folder(): string {
    return this.#folder.path;
  }

  static async open(publicOrigin?: string): Promise<Rig> {
    const rig = new Rig(await SampleFolder.create(), publicOrigin);
    await rig.owner.ensure();
    return rig;
  }

  /** The cookie of a browser that was let in. */
  async begin(headers: IncomingHttpHeaders = {}, isPaired = false): Promise<string> {
    return (await this.logins.begin(requestOf(headers), isPaired)).split(";")[0] ?? "";
  }

  isIn(cookie: string, headers: IncomingHttpHeaders = {}, method?: string): boolean {
    return this.logins.find(requestOf({ cookie, ...headers }, method)) !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.devices[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe("browserLogins()", () => {
  it("recognises a browser by its cookie among others, until it expires", async () => {
    await using rig = await Rig.open();
    const cookie = await rig.begin();
    assert.ok(rig.isIn(`a=b; ${cookie}; c=d`));
    assert.ok(!rig.isIn(`x${cookie}`));
    assert.ok(!rig.isIn("trunkline_4180=made-up"));
    rig.now = 12 * HOUR - 1;
    assert.ok(rig.isIn(cookie));
    rig.now = 12 * HOUR;
    assert.ok(!rig.isIn(cookie));
  });

  it("keeps a paired device for thirty days after its last use, and any device over a restart", async () => {
    await using rig = await Rig.open();
    const [browser, phone] = [await rig.begin(), await rig.begin({}, true)];
    rig.now = 29 * 24 * HOUR;
    assert.ok(!rig.isIn(browser));
    assert.ok(rig.isIn(phone));
    rig.now = 58 * 24 * HOUR;
    assert.ok(rig.isIn(phone));
    await rig.devices[Symbol.asyncDispose]();
    assert.deepEqual(
      rig.devices.list().map(({ lastSeen }) => Date.parse(lastSeen)),
      [rig.now],
    );
    rig.now = 88 * 24 * HOUR;
    assert.ok(!rig.isIn(phone));
  });

  it("lets a revoked device in no more, by whatever process", async () => {
    await using rig = await Rig.open();
    const agent = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0" };
    const [cookie, other] = [await rig.begin(agent), await rig.begin()];
    const [first] = rig.devices.list();
    assert.equal(first?.name, "Firefox on Linux");
    const elsewhere = new Devices(rig.folder, { now: () => rig.now });
    await assert.rejects(elsewhere.remove("phone"), /Devices: .*Firefox on Linux/);
    await elsewhere.remove(first.id);
    assert.ok(!rig.logins.isLive(first.id));
    assert.ok(!rig.isIn(cookie));
    assert.ok(rig.isIn(other));
    assert.match((await rig.logins.pair(requestOf({ cookie: other }))) ?? "", /Max-Age=2592000/);
    assert.equal(await rig.logins.pair(requestOf({ cookie })), undefined);
  });

  it("logs all browsers out when the owner's token is rotated", async () => {
    await using rig = await Rig.open();
    const cookie = await rig.begin();
    await rig.owner.rotate();
    assert.ok(!rig.isIn(cookie));
  });

  it("trusts its own pages, and allows only reading if a browser does not name the origin", async () => {
    await using rig = await Rig.open();
    const cookie = await rig.begin();
    assert.ok(rig.isIn(cookie, {}, "HEAD"));
    assert.ok(!rig.isIn(cookie, {}, "POST"));
    assert.ok(!rig.isIn(cookie, { upgrade: "websocket" }));
    assert.ok(rig.isIn(cookie, { "sec-fetch-site": "same-origin" }, "POST"));
    assert.ok(rig.isIn(cookie, { origin: `http://${HOST}` }, "POST"));
    assert.ok(!rig.isIn(cookie, { origin: "http://localhost:9999" }, "POST"));
    assert.ok(!rig.isIn(cookie, { origin: "https://evil.example" }));
  });

  it("accepts a login under a local name only there, and one under another name only there", async () => {
    await using rig = await Rig.open("https://tools.example.com");
    const local = await rig.begin();
    const host = "tools.example.com";
    assert.ok(!rig.isIn(local, { host }));
    const named = await rig.begin({ host });
    assert.ok(rig.isIn(named, { host, origin: "https://tools.example.com" }, "POST"));
    assert.ok(!rig.isIn(named));
  });

  it(
    "does not believe another machine the cookie of a browser on this one",
    { skip: process.platform === "linux" ? false : "only Linux tells whose a connection is" },
    async () => {
      await using rig = await Rig.open();
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
      const [own] = (await once(server, "connection")) as [Socket];
      const far: Partial<Socket> = { remoteAddress: "192.0.2.1", localAddress: "192.0.2.2" };
      const cookieFrom = async (socket: Partial<Socket>): Promise<string> =>
        (await rig.logins.begin(requestOf({}, "GET", socket))).split(";")[0] ?? "";
      const isIn = (cookie: string, socket: Partial<Socket>): boolean =>
        rig.logins.find(requestOf({ cookie }, "GET", socket)) !== undefined;
      const cookie = await cookieFrom(own);
      assert.deepEqual([isIn(cookie, own), isIn(cookie, far)], [true, false]);
      // A container has published its port: each request comes from elsewhere, and the login did, too.
      assert.equal(isIn(await cookieFrom(far), far), true);
      client.destroy();
      own.destroy();
      server.close();
      await once(server, "close");
    },
  );

  it("marks the cookie as secure over TLS", async () => {
    await using rig = await Rig.open();
    assert.doesNotMatch(await rig.logins.begin(requestOf({})), /Secure/);
    const origin = "https://tools.example.com";
    assert.match(await rig.logins.begin(requestOf({ origin })), /; Secure$/);
  });

  it("has a name over TLS that no other host can set, and knows cookies of before", async () => {
    await using rig = await Rig.open("https://tools.example.com");
    const origin = "https://tools.example.com";
    const [old, secure] = [await rig.begin(), await rig.begin({ origin })];
    assert.match(old, /^trunkline_4180=/);
    assert.match(secure, /^__Host-trunkline_4180=/);
    assert.ok(rig.isIn(secure) && rig.isIn(old, { origin }, "POST"));
    const paired = (await rig.logins.pair(requestOf({ origin, cookie: old }, "POST"))) ?? "";
    assert.match(paired, /^__Host-trunkline_4180=.*; Path=\/;.*; Secure$/);
    // What another host has set hides nothing.
    const tossed = `trunkline_4180=tossed; ${secure}`;
    assert.ok(rig.isIn(tossed));
    const request = requestOf({ origin, cookie: `${old}; ${secure}` }, "POST");
    assert.match(
      await rig.logins.end(request),
      /^__Host-trunkline_4180=; Path=\/;.*Max-Age=0; Secure$/,
    );
    assert.ok(!rig.isIn(secure) && !rig.isIn(old));
  });

  it("keeps a hundred browsers, and forgets the oldest for a new one", async () => {
    await using rig = await Rig.open();
    const cookies: string[] = [];
    for (let count = 0; count < 101; count++) cookies.push(await rig.begin());
    assert.ok(!rig.isIn(cookies[0] ?? ""));
    assert.ok(rig.isIn(cookies[1] ?? ""));
    assert.ok(rig.isIn(cookies[100] ?? ""));
  });
});
