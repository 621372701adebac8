import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContext, runInContext } from "node:vm";

import { SERVICE_WORKER } from "./service-worker.ts";

/** The parts of a service worker's surroundings that the script uses; no browser runs here. */
class FakeWorker {
  readonly shown: { title: string; options: Record<string, unknown> }[] = [];
  readonly fetched: { path: string; method: string }[] = [];
  readonly opened: string[] = [];
  readonly #listeners = new Map<string, (event: object) => void>();

  /** 0: nobody answers. */
  constructor(status = 200) {
    const self = {
      addEventListener: (name: string, listener: (event: object) => void) =>
        this.#listeners.set(name, listener),
      registration: {
        showNotification: async (title: string, options: Record<string, unknown>) =>
          void this.shown.push({ title, options }),
      },
      clients: {
        matchAll: async () => [],
        openWindow: async (address: string) => void this.opened.push(address),
      },
    };
    const fetch = async (path: string, { method }: { method: string }) => {
      this.fetched.push({ path, method });
      if (status === 0) throw new TypeError("Failed to fetch");
      return { ok: status === 200, json: async () => ({ error: "It was answered" }) };
    };
    runInContext(SERVICE_WORKER, createContext({ self, fetch, URL }));
  }

  async send(name: string, event: object): Promise<void> {
    let work: Promise<unknown> | undefined;
    const waitUntil = (promise: Promise<unknown>): void => void (work = promise);
    this.#listeners.get(name)?.({ ...event, waitUntil });
    await work;
  }

  click(action: string, data: object): Promise<void> {
    return this.send("notificationclick", { action, notification: { data, close: () => {} } });
  }
}

const MESSAGE = {
  id: "n-1",
  reason: "permission",
  title: "An agent asks for permission",
  link: "https://tools.example.com/#/sessions/s-1",
  answers: [
    { kind: "allow_once", label: "Allow", url: "https://tools.example.com/answer/A#allow_once" },
    { kind: "allow_always", label: "Always allow", url: "https://tools.example.com/answer/B" },
    { kind: "reject_once", label: "Reject", url: "https://tools.example.com/answer/C#reject_once" },
  ],
};

describe("the service worker", () => {
  it("shows a message with two buttons, which answer by POST at its own origin", async () => {
    const worker = new FakeWorker();
    await worker.send("push", { data: { json: () => MESSAGE } });
    const [shown] = worker.shown;
    assert.equal(shown?.title, "An agent asks for permission");
    const actions = shown.options.actions as { action: string; title: string }[];
    assert.deepEqual(
      actions.map(({ action, title }) => [action, title]),
      [
        ["allow_once", "Allow"],
        ["reject_once", "Reject"],
      ],
    );
    await worker.click("reject_once", MESSAGE);
    assert.deepEqual(worker.fetched, [{ path: "/answer/C", method: "POST" }]);
    await worker.click("", MESSAGE);
    assert.deepEqual(worker.opened, ["/#/sessions/s-1"]);
  });

  it("says when an answer did not count, and shows something for a message that it cannot read", async () => {
    const worker = new FakeWorker(410);
    await worker.click("allow_once", MESSAGE);
    assert.deepEqual(worker.shown[0]?.options.body, "It was answered");
    await worker.send("push", { data: null });
    assert.equal(worker.shown[1]?.title, "Trunkline");
  });

  it("shows the buttons again if the gateway cannot be reached, and none if the answer did not count", async () => {
    for (const [status, count] of [
      [0, 2],
      [410, 0],
    ] as const) {
      const worker = new FakeWorker(status);
      await worker.click("allow_once", MESSAGE);
      const [shown] = worker.shown;
      assert.equal(shown?.title, "Not answered");
      assert.equal((shown.options.actions as object[]).length, count);
      assert.notEqual(
        shown.options.tag,
        MESSAGE.id,
        "it is not closed with the one that was clicked",
      );
    }
  });
});
