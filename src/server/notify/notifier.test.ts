import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, it } from "node:test";

import { holdSecret } from "../../base/text/mask.ts";
import { ASKED, ENDED, messageIn, NotifierRig, until } from "../../../test/support/notifier-rig.ts";
import { PushBrowser } from "../../../test/support/push-browser.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { AnswerLinks, openNotifyDatabase, PushDevices } from "../../store/notify/notify-store.ts";
import type { Message } from "./message.ts";
import { signatureOf } from "./notifier.ts";

describe("a webhook", { timeout: 30_000 }, () => {
  it("gets a signed notification without the words of prompts and agents, and links that answer once", async () => {
    await using rig = await NotifierRig.open();
    const browser = "https://tools.example.com";
    using _running = await announceGateway(rig.data, { url: "http://127.0.0.1:1", browser });
    const notifier = rig.notifier(rig.webhook());
    notifier.noticed(ASKED);
    const received = await rig.receiver.find(() => true);
    const { headers, body, path } = received;
    assert.equal(path, "/hook");
    assert.equal(headers["x-mine"], "1");
    const message = messageIn(received);
    assert.equal(headers["webhook-id"], message.id);
    const timestamp = String(headers["webhook-timestamp"]);
    const signature = signatureOf(await rig.secrets.webhook(), message.id, timestamp, body);
    assert.equal(headers["webhook-signature"], `v1,${signature}`);
    assert.equal(message.link, `${browser}/#/sessions/s-1`);
    assert.equal(message.title, "An agent asks for permission");
    assert.doesNotMatch(body.toString(), /Mend|build|rm"|secret-project/);
    const [allow, reject] = message.answers ?? [];
    assert.deepEqual([allow?.label, reject?.label], ["Allow", "Reject"]);
    using database = await openNotifyDatabase(rig.data);
    const links = new AnswerLinks(database);
    const tokenOf = (url = ""): string => new URL(url).pathname.split("/").at(-1) ?? "";
    for (const file of ["notifications.sqlite", "notifications.sqlite-wal"]) {
      const stored = await readFile(join(rig.data, file));
      assert.ok(!stored.includes(tokenOf(allow?.url)), "only hashes are on disk");
    }
    assert.equal(await links.find("x".repeat(43)), undefined);
    assert.deepEqual(await links.find(tokenOf(reject?.url)), {
      requestId: "r-1",
      sessionId: "s-1",
      optionId: "no",
    });
    await links.close("r-1");
    assert.equal(await links.find(tokenOf(reject?.url)), undefined);
    assert.equal(await links.find(tokenOf(allow?.url)), undefined);
  });

  it("gets the words where `detail` says so, no buttons where the answer would not count", async () => {
    await using rig = await NotifierRig.open();
    const notifier = rig.notifier({ ...rig.webhook(), detail: true, on: ["permission"] });
    notifier.noticed(ENDED);
    notifier.noticed({ ...ASKED, mayAnswer: false });
    const message = messageIn(await rig.receiver.find(() => true));
    assert.deepEqual(message.detail, {
      title: "Mend the login",
      folder: "/projects/secret-project",
      words: "rm -rf build",
    });
    assert.equal(message.answers, undefined);
    assert.equal(message.link, undefined, "no gateway is running");
    assert.equal(rig.receiver.received.length, 1);
  });

  it("gets no secret with the words, not even half of one where they are cut", async () => {
    await using rig = await NotifierRig.open();
    const secret = `notified-${"0123456789".repeat(5)}`;
    holdSecret(secret);
    const notifier = rig.notifier({ ...rig.webhook(), detail: true, on: ["failed"] });
    const error = `${"x".repeat(280)} ${secret}`;
    const { cwd, sessionId } = ENDED;
    notifier.noticed({ reason: "failed", cwd, sessionId, title: `Use ${secret}`, error });
    const { detail } = messageIn(await rig.receiver.find(() => true));
    assert.equal(detail?.title, "Use •••");
    assert.match(detail?.words ?? "", /^x{280} •••$/);
  });

  it("is tried again while it fails, with every attempt recorded, and is not delivered before it is", async () => {
    await using rig = await NotifierRig.open();
    rig.receiver.status = () => (rig.receiver.received.length < 3 ? 503 : 204);
    const notifier = rig.notifier(rig.webhook());
    const id = await notifier.add({ reason: "test" });
    const { attempts, result } = await until(notifier, id, "delivered");
    assert.deepEqual([attempts, result], [3, "accepted with status 204"]);
    const ids = rig.receiver.received.map((each) => messageIn(each).id);
    assert.deepEqual([...new Set(ids)], [id], "the receiver can tell that it is the same");
  });

  it("has failed if it refuses or redirects, and redirects are not followed", async () => {
    await using rig = await NotifierRig.open();
    const notifier = rig.notifier(rig.webhook());
    const headers = { location: `${rig.receiver.url}/elsewhere` };
    rig.receiver.status = () => ({ status: 307, headers });
    const moved = await until(notifier, await notifier.add({ reason: "test" }), "failed");
    assert.match(moved.result ?? "", /307: redirects are not followed/);
    rig.receiver.status = () => 403;
    const refused = await until(notifier, await notifier.add({ reason: "test" }), "failed");
    assert.match(refused.result ?? "", /refused with status 403/);
    assert.deepEqual(
      rig.receiver.received.map(({ path }) => path),
      ["/hook", "/hook"],
    );
  });

  it("is not reached at a private address unless that is allowed, by name or by number", async () => {
    await using rig = await NotifierRig.open();
    const { port } = new URL(rig.receiver.url);
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      const webhook = { url: `https://${host}:${port}/hook` };
      const notifier = rig.notifier({ webhook, allowPrivate: false });
      const id = await notifier.add({ reason: "test" });
      const { result } = await until(notifier, id, "pending", ({ attempts }) => attempts > 0);
      assert.match(result ?? "", /private network.*allowPrivate/);
      await rig.close(notifier);
    }
    assert.deepEqual(rig.receiver.received, []);
  });

  it("gets what an earlier process could not deliver, without waiting for the next attempt", async () => {
    await using rig = await NotifierRig.open();
    // Nobody answers here, and nobody else listens here meanwhile.
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/hook`;
    const settings = { name: "hook", webhook: { url } };
    const before = rig.notifier(settings);
    const id = await before.add({ reason: "test" });
    const [socket] = (await once(silent, "connection")) as [Socket];
    // Stopping gives up what is being sent.
    await rig.close(before);
    socket.destroy();
    silent.close();
    const after = rig.notifier({ ...rig.webhook(), name: "hook" });
    await until(after, id, "delivered");
    assert.equal(messageIn(await rig.receiver.find(() => true)).id, id);
  });

  it("is not told of a request any more that was answered before", async () => {
    await using rig = await NotifierRig.open();
    rig.receiver.status = () => 503;
    const notifier = rig.notifier(rig.webhook(), { firstWait: 100 });
    notifier.noticed(ASKED);
    const { id } = messageIn(await rig.receiver.find(() => true));
    notifier.closed("r-1");
    const { result } = await until(notifier, id, "withdrawn");
    assert.equal(result, "answered before it was sent");
  });
});

describe("a command", { timeout: 30_000 }, () => {
  it("reads the notification from its input, gets no shell, and none of our variables", async () => {
    await using rig = await NotifierRig.open();
    const file = join(rig.data, "got");
    const script = `require("node:fs").writeFileSync(process.argv[1],
      JSON.stringify([require("node:fs").readFileSync(0, "utf8"), process.argv[2], process.env.SECRET_KEY]))`;
    process.env.SECRET_KEY = "k";
    const command = [process.execPath, "-e", script, file, "$(touch x); a"];
    const notifier = rig.notifier({ command });
    const id = await notifier.add({ reason: "test" });
    await until(notifier, id, "delivered");
    delete process.env.SECRET_KEY;
    const [input, argument, key] = JSON.parse(await readFile(file, "utf8")) as string[];
    assert.equal((JSON.parse(input ?? "") as Message).id, id);
    assert.deepEqual([argument, key], ["$(touch x); a", null]);
  });

  it("is tried again if it fails or cannot be started, and the words of it are shown", async () => {
    await using rig = await NotifierRig.open();
    const command = [process.execPath, "-e", `console.error("no bell"); process.exit(3)`];
    const notifier = rig.notifier({ command });
    const id = await notifier.add({ reason: "test" });
    const failed = await until(notifier, id, "pending", ({ attempts }) => attempts > 1);
    assert.equal(failed.result, "the command ended with 3: no bell");
    await rig.close(notifier);
    const absent = rig.notifier({ command: ["/no/such/program"] });
    const other = await absent.add({ reason: "test" });
    const { result } = await until(absent, other, "pending", ({ attempts }) => attempts > 0);
    assert.match(result ?? "", /Cannot start '\/no\/such\/program'/);
  });
});

describe("Web Push", { timeout: 30_000 }, () => {
  const PUSH = { push: true, allowHosts: ["127.0.0.1"] };

  async function subscribe(
    rig: NotifierRig,
    path: string,
  ): Promise<{ browser: PushBrowser; id: string }> {
    const owner = new OwnerToken(rig.data);
    await owner.ensure();
    const device = { name: "Phone", isPaired: true, mark: owner.mark, isLocal: true };
    const { device: login } = await new Devices(rig.data).add(device);
    const browser = new PushBrowser();
    const { endpoint, keys } = browser.subscription(`${rig.receiver.url}${path}`);
    using database = await openNotifyDatabase(rig.data);
    const proof = `login ${login.id}`;
    await new PushDevices(database).add({ endpoint, ...keys, name: "Phone", proof });
    return { browser, id: login.id };
  }

  it("reaches a browser, which alone can read it", async () => {
    await using rig = await NotifierRig.open();
    const { browser } = await subscribe(rig, "/push/1");
    const notifier = rig.notifier(PUSH);
    notifier.noticed(ASKED);
    const { headers, body } = await rig.receiver.find(({ path }) => path === "/push/1");
    const message = JSON.parse(browser.decrypt(body)) as Message;
    assert.equal(message.reason, "permission");
    const { urgency, ttl, authorization, "content-encoding": coding } = headers;
    assert.deepEqual([urgency, ttl, coding], ["high", "21600", "aes128gcm"]);
    const { publicKey } = await rig.secrets.vapid();
    assert.ok(authorization?.endsWith(`, k=${publicKey}`));
    assert.throws(() => new PushBrowser().decrypt(body));
    const { receiver } = await until(notifier, message.id, "delivered");
    assert.equal(receiver, "push 1: Phone");
    notifier.noticed(ENDED);
    const ended = await rig.receiver.find(({ path }) => path === "/push/1", 1);
    assert.deepEqual([ended.headers.urgency, ended.headers.ttl], ["normal", "86400"]);
  });

  it("removes a device that is gone, and tries the others again", async () => {
    await using rig = await NotifierRig.open();
    await subscribe(rig, "/push/gone");
    await subscribe(rig, "/push/busy");
    const counts: Record<string, number> = {};
    rig.receiver.status = ({ path }) => {
      counts[path] = (counts[path] ?? 0) + 1;
      return path === "/push/gone" ? 410 : counts[path] === 1 ? 429 : 201;
    };
    const notifier = rig.notifier(PUSH);
    const id = await notifier.add({ reason: "test" });
    await rig.receiver.find(({ path }) => path === "/push/busy", 1);
    for (;;) {
      const states = (await notifier.deliveriesOf(id)).map(({ state }) => state).toSorted();
      if (states.join() === "delivered,failed") break;
      await delay(5);
    }
    assert.deepEqual(counts, { "/push/gone": 1, "/push/busy": 2 });
    using database = await openNotifyDatabase(rig.data);
    const left = await new PushDevices(database).list();
    assert.deepEqual(
      left.map(({ endpoint }) => new URL(endpoint).pathname),
      ["/push/busy"],
    );
  });

  it("sends nothing to a device whose login was revoked, nor to a host that is not allowed", async () => {
    await using rig = await NotifierRig.open();
    const { id: login } = await subscribe(rig, "/push/1");
    const strict = rig.notifier({ push: true });
    const refused = await strict.add({ reason: "test" });
    const { result } = await until(strict, refused, "pending", ({ attempts }) => attempts > 0);
    assert.match(result ?? "", /'127.0.0.1' is not a known push service/);
    await rig.close(strict);
    await new Devices(rig.data).remove(login);
    const notifier = rig.notifier(PUSH);
    const id = await notifier.add({ reason: "test" });
    const revoked = await until(notifier, id, "failed");
    assert.match(revoked.result ?? "", /login of the device has ended/);
    const none = await notifier.add({ reason: "test" });
    const nobody = await until(notifier, none, "failed");
    assert.match(nobody.result ?? "", /no browser has subscribed/);
    assert.deepEqual(rig.receiver.received, []);
  });
});
