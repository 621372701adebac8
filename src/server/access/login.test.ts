import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Devices } from "../../store/access/devices.ts";
import { LoginCodes } from "../../store/access/login-codes.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { browserLogins, type BrowserLogins } from "./browser-logins.ts";
import { loginPages } from "./login.ts";

/** A server with nothing but the login. */
class Rig implements AsyncDisposable {
  readonly codes: LoginCodes;
  readonly logins: BrowserLogins;
  readonly #folder: SampleFolder;
  readonly #server = createServer();

  private constructor(folder: SampleFolder) {
    this.#folder = folder;
    this.codes = new LoginCodes(folder.path);
    const owner = new OwnerToken(folder.path);
    const own = () => ({ scheme: "http", port: 4180 }) as const;
    this.logins = browserLogins({
      owner,
      devices: new Devices(folder.path),
      own,
      publicOrigin: undefined,
      proxied: new Set(),
    });
    const { codes, logins } = this;
    const login = loginPages({ codes, logins });
    this.#server.on("request", (request, response) => {
      login.handle(request.url ?? "", request, response);
    });
  }

  static async open(): Promise<Rig> {
    const rig = new Rig(await SampleFolder.create());
    rig.#server.listen(0, "127.0.0.1");
    await once(rig.#server, "listening");
    return rig;
  }

  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const { port } = this.#server.address() as AddressInfo;
    return await fetch(`http://127.0.0.1:${port}${path}`, init);
  }

  async send(body: string): Promise<{ status: number; says: string; cookie: string }> {
    const response = await this.ask("/login", { method: "POST", body });
    const cookie = response.headers.get("set-cookie") ?? "";
    return { status: response.status, says: await response.text(), cookie };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe("Login", { timeout: 600_000 }, () => {
  it("logs a browser in with a code, once", async () => {
    await using rig = await Rig.open();
    const code = await rig.codes.create();
    const first = await rig.send(JSON.stringify({ code }));
    assert.equal(first.status, 200);
    assert.match(first.cookie, /^trunkline_4180=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict/);
    const second = await rig.send(JSON.stringify({ code }));
    assert.equal(second.status, 401);
    assert.equal(second.cookie, "");
    assert.match(second.says, /has been used, or is too old/);
  });

  it("refuses invalid codes", async () => {
    await using rig = await Rig.open();
    const large = JSON.stringify({ code: "x".repeat(2000) });
    for (const body of ["", "{", "5", "null", "{}", `{"code":""}`, `{"code":5}`, large]) {
      const { status, cookie } = await rig.send(body);
      assert.deepEqual([status, cookie], [400, ""], body.slice(0, 40));
    }
    assert.equal((await rig.send(`{"code":"made up"}`)).status, 401);
  });

  it("reports an error if the codes cannot be read", async () => {
    await using rig = await Rig.open();
    rig.codes.take = () => Promise.reject(new Error("the disk is full"));
    const { status, says } = await rig.send(`{"code":"x"}`);
    assert.equal(status, 503);
    assert.doesNotMatch(says, /disk/);
  });

  it("shows a page that sends the code, and supports no other method", async () => {
    await using rig = await Rig.open();
    const page = await rig.ask("/login");
    assert.equal(page.status, 200);
    assert.match(page.headers.get("content-security-policy") ?? "", /script-src 'sha256-/);
    const wrong = await rig.ask("/login", { method: "PUT" });
    assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, POST"]);
    const leave = await rig.ask("/logout");
    assert.deepEqual([leave.status, leave.headers.get("allow")], [405, "POST"]);
  });

  it("logs a browser out", async () => {
    await using rig = await Rig.open();
    const { cookie } = await rig.send(JSON.stringify({ code: await rig.codes.create() }));
    const headers = { cookie: cookie.split(";")[0] ?? "" };
    const left = await rig.ask("/logout", { method: "POST", headers });
    assert.equal(left.status, 200);
    assert.match(left.headers.get("set-cookie") ?? "", /^trunkline_4180=; .*Max-Age=0/);
    const request = { headers: { ...headers, host: "127.0.0.1" }, method: "GET" };
    assert.equal(rig.logins.find(request as never), undefined);
  });
});
