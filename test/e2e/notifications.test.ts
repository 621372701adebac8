// Long: gateways and who they notify.
import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { deliveries } from "../../src/server/notify/deliveries.ts";
import type { Message } from "../../src/server/notify/message.ts";
import type { Grant } from "../../src/store/access/access-token.ts";
import { AccessTokens } from "../../src/store/access/access-tokens.ts";
import { Devices } from "../../src/store/access/devices.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import type { Json } from "../support/acp-app.ts";
import { type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";
import { NotifyReceiver, type Received } from "../support/notify-receiver.ts";
import { bearer } from "../support/owner-access.ts";
import { PushBrowser } from "../support/push-browser.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const AGENTS = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};
const ASK = "session/request_permission";

const messageIn = ({ body }: Received): Message => JSON.parse(body.toString()) as Message;
const pathOf = (url = ""): string => new URL(url).pathname;

/** A client on the gateway's WebSocket, in a session of its own or in one that is there. */
async function enter(
  gateway: GuardedGateway,
  headers: Readonly<Record<string, string>> = gateway.owner,
  joins?: { readonly sessionId: string; readonly _meta?: object },
): Promise<{ readonly client: AcpSocket; readonly sessionId: string }> {
  const client = await AcpSocket.connect(gateway.acp, headers);
  const where = { cwd: "/tmp", mcpServers: [] };
  const method = joins === undefined ? "session/new" : "session/load";
  const opened = await client.ask(method, { ...where, ...joins });
  return { client, sessionId: joins?.sessionId ?? String(opened.sessionId) };
}

function prompt(client: AcpSocket, sessionId: string, text = "permission"): Promise<Json> {
  return client.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
}

async function tokenFor(home: GuardedHome, grant: Grant): Promise<{ authorization: string }> {
  const { token } = await new AccessTokens(home.data).create(undefined, grant);
  return bearer(token);
}

const asked = (client: AcpSocket): Promise<Json> =>
  client.until(({ messages }) => messages.find(({ method }) => method === ASK));

function answer(client: AcpSocket, id: unknown, optionId: string): void {
  const result = { outcome: { outcome: "selected", optionId } };
  client.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

const told = (client: AcpSocket, state: string): Promise<Json> =>
  client.until(({ messages }) =>
    messages.find(({ params }) => params?.update?._meta?.trunkline?.permission?.state === state),
  );

const said = (client: AcpSocket, words: string): Promise<true> =>
  client.until(({ text }) => (text.includes(words) ? true : undefined));

describe("permissions at a gateway with several clients", { timeout: 600_000 }, () => {
  it("are answered by whom the policy allows, and by nobody who observes", async () => {
    using home = new GuardedHome(AGENTS);
    const scopes = ["sessions", "admin"] as const;
    const bot = await tokenFor(home, { scopes });
    const screen = await tokenFor(home, { scopes, limits: { observe: true } });
    for (const policy of ["asker", "owner"]) {
      await using gateway = await home.serve("--set", `sessions.permissions=${policy}`);
      // With "asker" the owner prompts and the bot may not answer; with "owner" the bot prompts itself.
      const isOwners = policy === "asker";
      const first = await enter(gateway, isOwners ? gateway.owner : bot);
      const { sessionId } = first;
      using prompter = first.client;
      using other = (await enter(gateway, isOwners ? bot : gateway.owner, { sessionId })).client;
      using tv = (await enter(gateway, screen, { sessionId })).client;
      const ended = prompt(prompter, sessionId);
      const [mine, theirs, shown] = [await asked(prompter), await asked(other), await asked(tv)];
      const refused = isOwners
        ? { client: other, id: theirs.id }
        : { client: prompter, id: mine.id };
      const counted = isOwners
        ? { client: prompter, id: mine.id }
        : { client: other, id: theirs.id };
      answer(refused.client, refused.id, "reject");
      answer(tv, shown.id, "reject");
      for (const client of [refused.client, tv]) {
        await told(client, "refused");
        assert.match(client.text, /Your answer does not count/);
      }
      await assert.rejects(prompt(tv, sessionId, "say mine"), /observe/);
      answer(counted.client, counted.id, "once");
      assert.equal((await ended).stopReason, "end_turn");
      await said(tv, '"optionId":"once"');
      const { params } = await told(refused.client, "answered");
      assert.equal(params.update._meta.trunkline.permission.outcome.optionId, "once");
    }
  });
});

describe(
  "a permission that is asked again after its process was killed",
  {
    timeout: 180_000,
  },
  () => {
    it("is answered by whom the policy allows, as before", async () => {
      using home = new GuardedHome({ ...AGENTS, sessions: { permissions: "owner" } });
      const bot = await tokenFor(home, { scopes: ["sessions", "admin"] });
      await using editor = home.start("acp");
      editor.write({
        ...{ jsonrpc: "2.0", id: 1, method: "session/new" },
        params: { cwd: home.path, mcpServers: [] },
      });
      const [opened] = await editor.answers(1);
      const { sessionId } = (opened as Json).result;
      await using gateway = await home.serve();
      // The editor's process has the session; the gateway relays.
      using client = (await enter(gateway, bot, { sessionId })).client;
      const refusedIn = async (skip: number): Promise<Json> => {
        const ask = await client.until(
          ({ messages }) => messages.filter(({ method }) => method === ASK)[skip],
        );
        assert.equal(ask.params._meta.trunkline.mayAnswer, false);
        answer(client, ask.id, "once");
        await client.until(
          ({ messages }) =>
            messages.filter(
              ({ params }) => params?.update?._meta?.trunkline?.permission?.state === "refused",
            )[skip],
        );
        return ask;
      };
      const interrupted = assert.rejects(prompt(client, sessionId), /has ended/);
      await refusedIn(0);
      editor.child.kill("SIGKILL");
      await interrupted;
      // Once for the turn that was interrupted, and once for the next.
      await refusedIn(1);
      const ended = prompt(client, sessionId);
      await refusedIn(2);
      using owner = (await enter(gateway, gateway.owner, { sessionId })).client;
      answer(owner, (await asked(owner)).id, "reject");
      assert.equal((await ended).stopReason, "end_turn");
      await said(client, '"optionId":"reject"');
    });
  },
);

describe("notifications", { timeout: 600_000 }, () => {
  it("carry links that answer once, for one request, by POST only", async () => {
    await using receiver = await NotifyReceiver.open();
    const webhook = { url: `${receiver.url}/hook` };
    const hook = { name: "hook", on: ["permission"], webhook, allowPrivate: true };
    using home = new GuardedHome({ ...AGENTS, notifications: [hook] });
    await using gateway = await home.serve();
    const { client, sessionId } = await enter(gateway);
    using _ = client;
    const ended = prompt(client, sessionId);
    const message = messageIn(await receiver.find(() => true));
    assert.equal(message.link, `${gateway.ready.url}/#/sessions/${sessionId}`);
    const [allow, reject] = message.answers ?? [];
    const post = (path: string) => gateway.send("POST", path);
    const shown = await gateway.get(pathOf(reject?.url));
    assert.deepEqual(
      [shown.status, shown.headers["content-type"]],
      [200, "text/html; charset=utf-8"],
    );
    assert.equal((await post(`/answer/${"x".repeat(43)}`)).status, 410);
    assert.equal((await gateway.send("PUT", pathOf(reject?.url))).status, 405);
    const foreign = { origin: "https://evil.example" };
    assert.equal((await gateway.send("POST", pathOf(reject?.url), foreign)).status, 403);
    const done = await post(pathOf(reject?.url));
    assert.deepEqual([done.status, done.body], [200, '{"ok":true}']);
    await ended;
    await said(client, '"optionId":"reject"');
    for (const url of [reject?.url, allow?.url]) {
      const again = await post(pathOf(url));
      assert.equal(again.status, 410);
      assert.match(again.body, /was answered, or the link is too old/);
    }

    // One that is answered elsewhere ends its links, too.
    const next = prompt(client, sessionId);
    const second = messageIn(await receiver.find(() => true, 1));
    const { id } = await client.until(
      ({ messages }) => messages.filter((one) => one.method === ASK)[1],
    );
    answer(client, id, "once");
    await next;
    const late = await post(pathOf(second.answers?.[1]?.url));
    // The end of a request is stored in the background. Until then, the session itself refuses.
    assert.ok([403, 410].includes(late.status), late.body);
    assert.match(late.body, /answered/);
    await said(client, '"optionId":"once"');
  });

  it("are sent after a restart if the gateway was killed before, and show a receiver that is dead", async () => {
    await using receiver = await NotifyReceiver.open();
    receiver.status = () => 503;
    const webhook = { url: `${receiver.url}/hook` };
    const hook = { name: "hook", on: ["turn-ended"], webhook, allowPrivate: true };
    const dead = { ...hook, name: "dead", webhook: { url: "http://127.0.0.1:1/" } };
    using home = new GuardedHome({ ...AGENTS, notifications: [hook, dead] });
    const { program, acp, owner } = await home.serve();
    const gateway = { acp, owner } as GuardedGateway;
    {
      const { client, sessionId } = await enter(gateway);
      using _ = client;
      await prompt(client, sessionId, "say hello");
      await receiver.find(() => true);
    }
    program.child.kill("SIGKILL");
    await program.exit;
    await program[Symbol.asyncDispose]();
    receiver.status = () => 204;
    const before = receiver.received.length;
    await using again = await home.serve();
    const message = messageIn(await receiver.find(() => true, before));
    assert.equal(message.id, messageIn(receiver.received[0] as Received).id);
    assert.equal(message.stopReason, "end_turn");
    for (;;) {
      const found = await deliveries(home.data);
      const [hooked, refused] = ["hook", "dead"].map((name) =>
        found.find((each) => each.receiver === name),
      );
      const isRefused = refused?.result?.includes("ECONNREFUSED") === true;
      if (hooked?.state === "delivered" && isRefused) {
        assert.equal(refused.state, "pending", "it is tried again");
        break;
      }
      await delay(20);
    }
    const shown = JSON.parse((await again.get("/api/notifications", again.owner)).body).deliveries;
    const rows = shown.map((row: Json) => [
      row.receiver,
      row.reason,
      row.state,
      row.attempts.length > 0,
    ]);
    assert.deepEqual(rows.toSorted(), [
      ["dead", "turn-ended", "pending", true],
      ["hook", "turn-ended", "delivered", true],
    ]);
  });

  it("are pushed to a paired browser until it is revoked, which ends its streams", async () => {
    await using receiver = await NotifyReceiver.open();
    const push = { push: true, allowHosts: ["127.0.0.1"], allowPrivate: true };
    using home = new GuardedHome({ ...AGENTS, notifications: [push] });
    await using gateway = await home.serve();
    const origin = { host: gateway.authority, origin: gateway.ready.url };
    const json = { "content-type": "application/json" };
    const code = gateway.ready.login.split("#")[1];
    const agent = { "user-agent": "Mozilla/5.0 (iPhone) Version/19.0 Mobile/15E148 Safari/604.1" };
    const login = await gateway.send("POST", "/login", { ...json, ...origin, ...agent }, { code });
    const cookie = String(login.headers["set-cookie"]).split(";")[0] ?? "";
    const mine = { ...json, ...origin, ...agent, cookie };
    const key = await gateway.send("GET", "/push/key", mine);
    assert.equal(Buffer.from(JSON.parse(key.body).key as string, "base64url").length, 65);
    const worker = await gateway.get("/push/worker.js");
    assert.equal(worker.headers["service-worker-allowed"], "/");
    const browser = new PushBrowser();
    const subscription = browser.subscription(`${receiver.url}/push/1`);

    const dashboard = await tokenFor(home, { scopes: ["dashboard"] });
    const denied = await gateway.send(
      "POST",
      "/push/subscribe",
      { ...json, ...dashboard },
      subscription,
    );
    assert.equal(denied.status, 403);
    assert.equal((await gateway.send("POST", "/push/subscribe", json, subscription)).status, 401);
    const elsewhere = { ...subscription, endpoint: "http://169.254.169.254/latest" };
    const refused = await gateway.send("POST", "/push/subscribe", mine, elsewhere);
    assert.match(refused.body, /'169.254.169.254' is not a known push service/);
    const subscribed = await gateway.send("POST", "/push/subscribe", mine, subscription);
    assert.equal(subscribed.status, 200, subscribed.body);
    assert.match(String(subscribed.headers["set-cookie"]), /Max-Age=2592000/);

    const tried = await home.run("notification", "test");
    assert.deepEqual([tried.code, tried.err], [0, ""]);
    assert.equal(tried.out, "push 1: Safari on iPhone: delivered, accepted with status 201");
    const test = JSON.parse(browser.decrypt((await receiver.find(() => true)).body)) as Message;
    assert.equal(test.reason, "test");

    const { client, sessionId } = await enter(gateway, { cookie, origin: gateway.ready.url });
    using _ = client;
    const ended = prompt(client, sessionId);
    const pushed = JSON.parse(
      browser.decrypt((await receiver.find(() => true, 1)).body),
    ) as Message;
    const [allow] = pushed.answers ?? [];
    // As the service worker does.
    const answered = await gateway.send("POST", pathOf(allow?.url), mine);
    assert.equal(answered.status, 200, answered.body);
    await ended;

    const closed = once(client.socket, "close");
    const devices = new Devices(home.data);
    const [device] = devices.list();
    assert.deepEqual([device?.name, device?.isPaired], ["Safari on iPhone", true]);
    await devices.remove(device?.id ?? "");
    await closed;
    assert.equal((await gateway.send("GET", "/push/key", mine)).status, 401);
  });

  it("answer a request of a session that another process has open", async () => {
    await using receiver = await NotifyReceiver.open();
    const webhook = { url: `${receiver.url}/hook` };
    const hook = { on: ["permission"], webhook, allowPrivate: true };
    using home = new GuardedHome({ ...AGENTS, notifications: [hook] });
    await using editor = home.start("acp");
    const send = (id: number, method: string, params: object): void =>
      editor.write({ jsonrpc: "2.0", id, method, params });
    send(1, "session/new", { cwd: home.path, mcpServers: [] });
    const found = async (is: (message: Json) => boolean): Promise<Json> => {
      const all = (): Json[] => editor.lines.map((line) => JSON.parse(line));
      await editor.until(() => all().some(is));
      return all().find(is);
    };
    const { result } = await found(({ id }) => id === 1);
    await using gateway = await home.serve();
    const { sessionId } = result;
    send(2, "session/prompt", { sessionId, prompt: [{ type: "text", text: "permission" }] });
    const [, reject] = messageIn(await receiver.find(() => true)).answers ?? [];
    const done = await gateway.send("POST", pathOf(reject?.url));
    assert.equal(done.status, 200, done.body);
    await found(({ params }) => /"optionId":"reject"/.test(params?.update?.content?.text ?? ""));
    await found(({ id }) => id === 2);
    editor.child.stdin.end();
    assert.equal(await editor.exit, 0);
  });
});
