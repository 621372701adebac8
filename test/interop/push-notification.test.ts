import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Worker } from "playwright-core";

import type { Message } from "../../src/server/notify/message.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../browser/dashboard-browser.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { GuardedHome } from "../support/guarded-gateway.ts";
import { NotifyReceiver } from "../support/notify-receiver.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

/** What a page reads of a notification that is shown. */
interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly actions: readonly { readonly action: string; readonly title: string }[];
}

const SHOWN = `navigator.serviceWorker.ready
  .then((it) => it.getNotifications())
  .then((all) => all.map(({ title, body, tag, actions }) =>
    ({ title, body, tag, actions: actions.map((one) => ({ action: one.action, title: one.title })) })))`;

/**
 * Keeps the first notification in the worker, and what it shows after that. Without a desktop, Chromium may
 * take notifications for closed that follow one that was.
 */
const WATCH = `self.registration.getNotifications().then(([first]) => {
  self.first = first;
  self.later = [];
  const show = self.registration.showNotification.bind(self.registration);
  self.registration.showNotification = async (title, options) => {
    await show(title, options);
    self.later.push({ title, ...options });
  };
})`;

/** A person presses a button of the notification, or the notification itself. */
async function press(worker: Worker, action: string): Promise<void> {
  await worker.evaluate(`void self.dispatchEvent(
    new NotificationEvent("notificationclick", { notification: self.first, action: "${action}" }))`);
}

describe(
  "the service worker in Chromium",
  { timeout: 600_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("shows a push message with its buttons, which answer, and opens the session", async () => {
      await using receiver = await NotifyReceiver.open();
      const webhook = { url: `${receiver.url}/hook` };
      const hook = { on: ["permission"], webhook, allowPrivate: true };
      using home = new GuardedHome({
        agent: "other",
        agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
        notifications: [hook, { push: true }],
      });
      await using gateway = await home.serve();
      using client = await AcpSocket.connect(gateway.acp, gateway.owner);
      const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
      const prompt = [{ type: "text", text: "permission" }];
      const ended = client.ask("session/prompt", { sessionId, prompt });
      // The webhook gets the same message that a push service would pass on.
      const { body } = await receiver.find(() => true);
      const message = JSON.parse(body.toString()) as Message;

      const origin = gateway.ready.url;
      await using watched = await browser.open();
      const { page } = watched;
      const context = page.context();
      await context.grantPermissions(["notifications"], { origin });
      await page.goto(gateway.ready.login);
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      await page.evaluate(`location.assign("#/start")`);
      await page.getByRole("heading", { name: "Notifications in this browser" }).waitFor();
      const sent = page.getByRole("grid", { name: "Last notifications" }).getByRole("row");
      await sent.filter({ hasText: "permission" }).getByText("delivered").waitFor();

      const devtools = await context.newCDPSession(page);
      const registered = Promise.withResolvers<string>();
      devtools.on("ServiceWorker.workerVersionUpdated", ({ versions }) => {
        const [active] = versions.filter(({ status }) => status === "activated");
        if (active !== undefined) registered.resolve(active.registrationId);
      });
      await devtools.send("ServiceWorker.enable");
      await page.evaluate(`navigator.serviceWorker.register("/push/worker.js", { scope: "/" })`);
      const registrationId = await registered.promise;
      const deliver = (data: string): Promise<unknown> =>
        devtools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
      await deliver(JSON.stringify(message));
      let first: Shown | undefined;
      while (first === undefined) [first] = (await page.evaluate(SHOWN)) as Shown[];
      assert.deepEqual(first, {
        title: "An agent asks for permission",
        body: "",
        tag: message.id,
        actions: [
          { action: "allow_once", title: "Allow" },
          { action: "reject_once", title: "Reject" },
        ],
      });
      const [worker] = context.serviceWorkers();
      assert.ok(worker !== undefined);
      await worker.evaluate(WATCH);
      const later = async (name: string): Promise<Shown> => {
        for (;;) {
          const all = (await worker.evaluate("self.later")) as Shown[];
          const found = all.find(({ title }) => title === name);
          if (found !== undefined) return found;
        }
      };
      await press(worker, "reject_once");
      await ended;
      await client.until(({ text }) => (text.includes('"optionId":"reject"') ? true : undefined));

      // Another button: it says why it does not count, and has no buttons any more.
      await press(worker, "allow_once");
      const late = await later("Not answered");
      assert.match(late.body, /was answered|answered already/);
      assert.deepEqual(late.actions, []);

      await press(worker, "");
      await page.waitForURL(`**/#/sessions/${String(sessionId)}`);
      await deliver("no JSON");
      await later("Trunkline");
      watched.expectClean();
    });
  },
);
