import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";

import { type PushBrowser, pushState, switchPushOff, switchPushOn } from "./push.ts";

const ENDPOINT = "https://fcm.googleapis.com/1";

/** A browser by hand: real ones ask their vendor's service, which tests do not reach. */
class FakeBrowser {
  subscribed: string | undefined;
  permission: NotificationPermission = "granted";
  problem: Error | undefined;
  readonly sent: string[] = [];
  readonly browser: PushBrowser;

  constructor(status = 200) {
    const subscription = () =>
      this.subscribed === undefined
        ? null
        : {
            endpoint: ENDPOINT,
            toJSON: () => ({ endpoint: ENDPOINT }),
            unsubscribe: async () => void (this.subscribed = undefined),
          };
    const pushManager = {
      getSubscription: async () => subscription(),
      subscribe: async ({ applicationServerKey }: { applicationServerKey: string }) => {
        if (this.problem !== undefined) throw this.problem;
        this.subscribed = applicationServerKey;
        return subscription();
      },
    };
    const registered = { pushManager };
    this.browser = {
      serviceWorker: {
        register: async () => registered,
        ready: Promise.resolve(registered),
        getRegistration: async () => registered,
      },
      askPermission: async () => this.permission,
    } as unknown as PushBrowser;
    mock.method(
      globalThis,
      "fetch",
      async (path: string, init: { method: string; body?: string }) => {
        this.sent.push(`${init.method} ${path} ${init.body ?? ""}`.trim());
        const body = status === 200 ? { key: "K" } : { error: "Push is not configured." };
        return new Response(JSON.stringify(body), { status });
      },
    );
  }
}

afterEach(() => mock.restoreAll());

test("a browser is subscribed with the key of the gateway, and unsubscribed at both", async () => {
  const fake = new FakeBrowser();
  assert.equal(await pushState(fake.browser), "off");
  await switchPushOn(fake.browser);
  assert.equal(fake.subscribed, "K");
  assert.equal(await pushState(fake.browser), "on");
  await switchPushOff(fake.browser);
  assert.equal(await pushState(fake.browser), "off");
  assert.deepEqual(fake.sent, [
    "GET /push/key",
    `POST /push/subscribe {"endpoint":"${ENDPOINT}"}`,
    `DELETE /push/subscribe {"endpoint":"${ENDPOINT}"}`,
  ]);
  assert.equal(await pushState(undefined), "absent");
});

test("a refusal of the person, the browser or the gateway is said in words", async () => {
  const denied = new FakeBrowser();
  denied.permission = "denied";
  await assert.rejects(switchPushOn(denied.browser), /settings of the browser/);
  assert.deepEqual(denied.sent, []);
  const offline = new FakeBrowser();
  offline.problem = new Error("Registration failed - push service error");
  await assert.rejects(switchPushOn(offline.browser), /cannot be switched on.*push service error/);
  const refusing = new FakeBrowser(400);
  await assert.rejects(switchPushOn(refusing.browser), /Push is not configured/);
});
