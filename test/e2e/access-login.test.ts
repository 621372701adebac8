// Long: gateways and browsers.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { WebSocket } from "ws";

import {
  type Answered,
  type GuardedGateway,
  GuardedHome,
  INITIALIZE,
} from "../support/guarded-gateway.ts";
import { bearer } from "../support/owner-access.ts";

const JSON_TYPE = { "content-type": "application/json" };
const OWN_PAGE = { "sec-fetch-site": "same-origin" };

/** What the page behind a link does with it. */
function exchange(gateway: GuardedGateway, link: string): Promise<Answered> {
  const origin = gateway.ready.url;
  const headers = { ...JSON_TYPE, ...OWN_PAGE, host: gateway.authority, origin };
  return gateway.send("POST", "/login", headers, { code: link.split("#")[1] });
}

function cookieOf({ headers }: Answered): string {
  return String(headers["set-cookie"]).split(";")[0] ?? "";
}

describe("the owner's token", { timeout: 600_000 }, () => {
  it("is alone in a file that only the owner can read, and the same after a restart", async () => {
    using home = new GuardedHome();
    let first = "";
    {
      await using gateway = await home.serve();
      const { tokenFile } = gateway.ready;
      first = readFileSync(tokenFile, "utf8");
      assert.match(first, /^tlk_[\w-]{43}$/);
      assert.equal(statSync(tokenFile).mode & 0o777, 0o600);
      assert.equal((await gateway.get("/metrics", bearer(first))).status, 200);
    }
    {
      await using gateway = await home.serve();
      assert.equal(readFileSync(gateway.ready.tokenFile, "utf8"), first);
    }
    // One that others could have read is a secret no more.
    chmodSync(join(home.data, "owner-token"), 0o644);
    await using gateway = await home.serve();
    assert.notEqual(readFileSync(gateway.ready.tokenFile, "utf8"), first);
    await gateway.program.says(/access\.owner-token.*could be read by others/);
    assert.equal((await gateway.get("/metrics", bearer(first))).status, 401);
  });

  it("can be rotated while a gateway runs, which ends what the old one opened", async () => {
    using home = new GuardedHome();
    await using gateway = await home.serve();
    const socket = new WebSocket(gateway.acp, { headers: gateway.owner });
    await once(socket, "open");
    const browser = { ...OWN_PAGE, cookie: cookieOf(await exchange(gateway, gateway.ready.login)) };
    assert.equal((await gateway.get("/metrics", browser)).status, 200);
    const ended = once(socket, "close");
    const { code, out } = await home.runInProcess("token", "rotate");
    assert.equal(code, 0);
    assert.match(out, /Replaced the owner's token in .*owner-token'/);
    assert.equal((await gateway.get("/metrics", gateway.owner)).status, 401);
    assert.equal((await gateway.get("/metrics", browser)).status, 401);
    const renewed = bearer(readFileSync(gateway.ready.tokenFile, "utf8"));
    assert.equal((await gateway.get("/metrics", renewed)).status, 200);
    await ended;
  });
});

describe("a browser", { timeout: 600_000 }, () => {
  let home: GuardedHome;
  let gateway: GuardedGateway;
  before(async () => {
    home = new GuardedHome();
    gateway = await home.serve();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("is told how to log in, on a page that no foreign page can use", async () => {
    for (const [path, status, says] of [
      ["/", 401, /trunkline open/],
      ["/login", 200, /Letting this browser in/],
    ] as const) {
      const page = await gateway.get(path, { accept: "text/html", "sec-fetch-site": "none" });
      assert.equal(page.status, status);
      assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
      assert.match(page.body, says);
      const policy = String(page.headers["content-security-policy"]);
      assert.match(policy, /^default-src 'none'; style-src 'sha256-/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*/);
      assert.equal(page.headers["cache-control"], "no-store");
    }
  });

  it("logs in with a link that works once, and gets a cookie hidden from scripts and other sites", async () => {
    const { login, url } = gateway.ready;
    assert.match(login, new RegExp(`^${url}/login#[\\w-]{22}$`));
    const letIn = await exchange(gateway, login);
    assert.equal(letIn.status, 200, letIn.body);
    const set = String(letIn.headers["set-cookie"]);
    assert.match(set, /; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    const again = await exchange(gateway, login);
    assert.equal(again.status, 401);
    assert.match(again.body, /has been used.*trunkline open/);
    assert.equal(again.headers["set-cookie"], undefined);
    const cookie = cookieOf(letIn);
    const page = await gateway.get("/", { cookie, "sec-fetch-site": "none" });
    assert.equal(page.status, 200);
    assert.match(page.body, /src="\/assets\/main-/);
    const own = { ...OWN_PAGE, origin: url, host: gateway.authority, cookie };
    assert.equal((await gateway.post(INITIALIZE, own)).status, 200);
    // A browser that says nothing of where a request comes from may look, and change nothing.
    assert.equal((await gateway.get("/metrics", { cookie })).status, 200);
    assert.equal((await gateway.post(INITIALIZE, { cookie })).status, 401);
    const socket = new WebSocket(gateway.acp, { headers: { cookie }, origin: url });
    await once(socket, "open");
    const ended = once(socket, "close");
    const left = await gateway.send("POST", "/logout", own);
    assert.match(String(left.headers["set-cookie"]), /Max-Age=0/);
    assert.equal((await gateway.get("/metrics", { cookie })).status, 401);
    await ended;
  });

  it("is opened by trunkline open, while a gateway runs", async () => {
    using home = new GuardedHome();
    const none = await home.run("open", "--print");
    assert.equal(none.code, 1);
    assert.match(none.err, /Cannot find a gateway.*`trunkline serve`/);
    {
      await using gateway = await home.serve();
      const { code, out, err } = await home.run("open", "--json");
      assert.equal(code, 0, err);
      const { url } = JSON.parse(out) as { url: string };
      assert.ok(url.startsWith(`${gateway.ready.url}/login#`));
      assert.notEqual(url, gateway.ready.login);
      for (const link of [gateway.ready.login, url]) {
        assert.equal((await exchange(gateway, link)).status, 200);
      }
    }
    assert.equal((await home.runInProcess("open", "--print")).code, 1);
    // One that was killed cannot say that it is gone.
    await using killed = home.start("serve", "--port", "0", "--json");
    await killed.answers(1);
    killed.child.kill("SIGKILL");
    await killed.exit;
    assert.equal((await home.runInProcess("open", "--print")).code, 1);
  });

  it("sends the code with the script of the page", async () => {
    const { body: page } = await gateway.get("/login");
    const script = /<script>(.*)<\/script>/s.exec(page)?.[1] ?? "";
    const { out } = await home.runInProcess("open", "--json");
    // There is no browser here: the script runs with as much of one as it uses.
    const went = Promise.withResolvers<unknown>();
    const shown: unknown[] = [];
    const location = {
      hash: `#${JSON.parse(out).url.split("#")[1]}`,
      pathname: "/login",
      replace: went.resolve,
    };
    const says = {
      set textContent(text: unknown) {
        shown.push(text);
      },
    };
    const replaced: unknown[][] = [];
    const origin = gateway.ready.url;
    runInContext(
      script,
      createContext({
        location,
        document: { getElementById: () => says },
        history: { replaceState: (...args: unknown[]) => replaced.push(args) },
        fetch: (path: string, init: RequestInit) => fetch(`${origin}/${path}`, init),
      }),
    );
    assert.equal(await went.promise, "./");
    assert.deepEqual(shown, []);
    // The code does not stay in the address.
    assert.deepEqual(replaced, [[null, "", "/login"]]);
  });
});

describe("the start message of trunkline serve", { timeout: 600_000 }, () => {
  it("has a command that connects an assistant in one paste", async () => {
    using home = new GuardedHome();
    await using program = home.start("serve", "--port", "0");
    await program.until(({ lines }) => lines.some((line) => line.includes("Ctrl-C")));
    const start = program.lines.join("\n");
    const token = readFileSync(join(home.data, "owner-token"), "utf8");
    assert.ok(!start.includes(token), "the token is on the screen");
    assert.doesNotMatch(start, /login#/, "a link is in what may be a log");
    const pasted = /^ {2}(.* setup claude-code --http)$/m.exec(start)?.[1];
    assert.ok(pasted, start);
    const env = { ...home.files, PATH: process.env.PATH, HOME: home.path };
    await promisify(execFile)("sh", ["-c", pasted], { env });
    const file = readFileSync(join(home.path, ".claude.json"), "utf8");
    const { url, headers } = JSON.parse(file).mcpServers.trunkline;
    assert.notEqual(headers.Authorization, `Bearer ${token}`);
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        ...JSON_TYPE,
        accept: "application/json, text/event-stream",
        authorization: headers.Authorization,
      },
      body: JSON.stringify(INITIALIZE),
    });
    assert.equal(answer.status, 200);
    program.child.kill("SIGINT");
    assert.equal(await program.exit, 0);
  });
});
