import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import { deliveries } from "../../../src/server/notify/deliveries.ts";
import type { Message } from "../../../src/server/notify/message.ts";
import { Devices } from "../../../src/store/access/devices.ts";
import { LoginCodes } from "../../../src/store/access/login-codes.ts";
import { openNotifyStore } from "../../../src/store/notify/notify-store.ts";
import { NotifyReceiver } from "../../support/notify-receiver.ts";
import { PushBrowser } from "../../support/push-browser.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";
import { GatewayDoor, OTHER_AGENT } from "./gateway-door.ts";

/** A person away from the desk: pairs a phone, subscribes it, is notified, answers by a link, revokes it. */
class NotifyRig implements FaultRig {
  readonly folder: string;
  readonly steps: readonly Step[];
  readonly #door: GatewayDoor;
  readonly #receiver: NotifyReceiver;
  #session = "";
  #count = 0;
  /** What was acknowledged. */
  readonly #subscribed = new Map<string, boolean>();
  readonly #devices = new Map<string, boolean>();
  readonly #answered: { readonly session: string; readonly requestId: string }[] = [];
  /** Turns that were begun: each has to end with a notification. */
  #turns = 0;

  constructor(door: GatewayDoor, receiver: NotifyReceiver) {
    this.#door = door;
    this.#receiver = receiver;
    this.folder = door.home.data;
    this.steps = this.#steps();
  }

  async prepare(): Promise<void> {
    // Of the rounds before, everything is delivered: the clock is put forward while a lock lasts.
    if (this.#count > 0) await this.#quiet();
    await this.#allDelivered();
    if (this.#count++ % 50 === 0) this.#session = await this.#door.newSession();
  }

  async verify(): Promise<void> {
    await this.#allDelivered();
    using store = await openNotifyStore(this.folder);
    const subscribed = (await store.devices.list()).map(({ endpoint }) => endpoint);
    for (const [endpoint, isThere] of this.#subscribed) {
      assert.equal(subscribed.includes(endpoint), isThere, endpoint);
    }
    const paired = new Devices(this.folder).list().map(({ id }) => id);
    for (const [id, isThere] of this.#devices) assert.equal(paired.includes(id), isThere, id);
    const events = await this.#door.logOf(this.#session);
    for (const { session, requestId } of this.#answered) {
      if (session !== this.#session) continue;
      const same = events.filter((one) => one.kind === "answer" && one.requestId === requestId);
      assert.equal(same.length, 1, "an answer that was acknowledged is in the log");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#door[Symbol.asyncDispose]();
    await this.#receiver[Symbol.asyncDispose]();
  }

  /** Waits until the receiver knows of the end of every turn. */
  async #allDelivered(): Promise<void> {
    for (;;) {
      const ends = this.#messages().filter(({ reason }) =>
        ["turn-ended", "failed"].includes(reason),
      );
      if (new Set(ends.map(({ id }) => id)).size >= this.#turns) return;
      await delay(10);
    }
  }

  #messages(): Message[] {
    return this.#receiver.received.map(({ body }) => JSON.parse(body.toString()) as Message);
  }

  #steps(): Step[] {
    const door = this.#door;
    const { data } = door.home;
    const json = { origin: door.server.origin };
    return [
      { name: "key", run: () => door.send("GET", "/push/key") },
      {
        name: "pair and revoke",
        run: async () => {
          const code = await new LoginCodes(data).create(true);
          const before = new Set(new Devices(data).list().map(({ id }) => id));
          await door.send("POST", "/login", { code }, json);
          const [device] = new Devices(data).list().filter(({ id }) => !before.has(id));
          assert.ok(device !== undefined, "a device that was let in is stored");
          this.#devices.set(device.id, true);
          await new Devices(data).remove(device.id);
          this.#devices.set(device.id, false);
        },
      },
      {
        name: "subscribe and unsubscribe",
        run: async () => {
          // Nothing is pushed there: only the webhook has an entry that wants what happens here.
          const endpoint = `http://127.0.0.1:1/${this.#count}-${Math.random()}`;
          const subscription = new PushBrowser().subscription(endpoint);
          await door.send("POST", "/push/subscribe", subscription);
          this.#subscribed.set(endpoint, true);
          await door.send("DELETE", "/push/subscribe", { endpoint });
          this.#subscribed.set(endpoint, false);
        },
      },
      {
        name: "prompt",
        run: async () => {
          await this.#prompt("say word");
          await this.#quiet();
        },
      },
      {
        name: "answer by link",
        run: async () => {
          const tried = new Set(this.#messages().flatMap(({ answers = [] }) => answers.map(urlOf)));
          await this.#prompt("permission");
          for (;;) {
            const { row } = await door.send("GET", `/api/sessions/${this.#session}`);
            if (row.state === "idle") return;
            // One of an earlier round may come late; its link is over.
            const [allow] = this.#messages().findLast(isAsked)?.answers ?? [];
            if (allow === undefined || tried.has(allow.url)) {
              await delay(5);
              continue;
            }
            tried.add(allow.url);
            const requestId = await this.#requestId();
            try {
              await door.send("POST", new URL(allow.url).pathname);
            } catch (error) {
              if (/link is not valid/.test((error as Error).message)) continue;
              throw error;
            }
            this.#answered.push({ session: this.#session, requestId });
            return;
          }
        },
      },
      {
        name: "quiet",
        run: () => this.#quiet(),
      },
      { name: "list", run: () => deliveries(data) },
    ];
  }

  async #prompt(text: string): Promise<void> {
    await this.#door.send("POST", `/api/sessions/${this.#session}/prompt`, { text });
    this.#turns++;
  }

  /** Waits until no turn runs in the session. */
  async #quiet(): Promise<void> {
    const at = `/api/sessions/${this.#session}`;
    for (;;) {
      const { row } = await this.#door.send("GET", at);
      if (row.state === "idle") return;
      if (row.state === "waiting")
        await this.#door.send("POST", `${at}/cancel`, {}).catch(() => {});
      await delay(5);
    }
  }

  async #requestId(): Promise<string> {
    const { asks } = await this.#door.send("GET", `/api/sessions/${this.#session}`);
    return String(asks[0]?.id);
  }
}

const isAsked = ({ reason }: Message): boolean => reason === "permission";
const urlOf = ({ url }: { readonly url: string }): string => url;

export async function notifications(): Promise<FaultRig> {
  const receiver = await NotifyReceiver.open();
  process.env.TRUNKLINE_TOKEN_STORE = "file";
  const door = await GatewayDoor.open({
    ...OTHER_AGENT,
    notifications: [
      { name: "hook", webhook: { url: `${receiver.url}/hook` }, allowPrivate: true },
      { push: true, on: ["question"], allowHosts: ["127.0.0.1"], allowPrivate: true },
    ],
  });
  return new NotifyRig(door, receiver);
}
