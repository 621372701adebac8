import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import { Log } from "../../src/base/log.ts";
import type { NotificationSettings } from "../../src/config/schema/schema.gen.ts";
import { readEntries } from "../../src/server/notify/entries.ts";
import type { Message } from "../../src/server/notify/message.ts";
import { type Notifier, startNotifier } from "../../src/server/notify/notifier.ts";
import { notifySecrets, type NotifySecrets } from "../../src/server/notify/notify-secrets.ts";
import type { SessionNotice } from "../../src/session/notice.ts";
import type { Delivery, DeliveryState } from "../../src/store/notify/notify-store.ts";
import { SampleFolder } from "../samples/sample-folder.ts";
import { NotifyReceiver, type Received } from "./notify-receiver.ts";

export const ASKED = {
  reason: "permission",
  sessionId: "s-1",
  cwd: "/projects/secret-project",
  title: "Mend the login",
  requestId: "r-1",
  mayAnswer: true,
  request: {
    toolCall: { toolCallId: "t", title: "rm -rf build" },
    options: [
      { optionId: "once", kind: "allow_once", name: "Allow rm" },
      { optionId: "no", kind: "reject_once", name: "Reject" },
    ],
  },
} as const satisfies SessionNotice;

export const ENDED = {
  reason: "turn-ended",
  sessionId: "s-1",
  cwd: "/projects",
  title: "Mend the login",
  stopReason: "end_turn",
} as const satisfies SessionNotice;

/** Notifiers of one data folder, and somebody who is notified. */
export class NotifierRig implements AsyncDisposable {
  readonly receiver: NotifyReceiver;
  readonly secrets: NotifySecrets;
  readonly #folder: SampleFolder;
  readonly #open: Notifier[] = [];

  private constructor(folder: SampleFolder, receiver: NotifyReceiver) {
    this.#folder = folder;
    this.receiver = receiver;
    const env = { TRUNKLINE_TOKEN_STORE: "file" };
    this.secrets = notifySecrets({ data: folder.path, configFile: undefined, env });
  }

  static async open(): Promise<NotifierRig> {
    return new NotifierRig(await SampleFolder.create(), await NotifyReceiver.open());
  }

  get data(): string {
    return this.#folder.path;
  }

  notifier(settings: NotificationSettings, more: object = {}): Notifier {
    const { entries, problems } = readEntries([{ allowPrivate: true, ...settings }]);
    assert.deepEqual(problems, []);
    const { data, secrets } = this;
    const log = new Log("error", () => {});
    const timing = { firstWait: 20, lookEvery: 50 };
    const notifier = startNotifier({ data, entries, secrets, log, ...timing, ...more });
    this.#open.push(notifier);
    return notifier;
  }

  webhook(): NotificationSettings {
    return { webhook: { url: `${this.receiver.url}/hook`, headers: { "x-mine": "1" } } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const notifier of this.#open.splice(0)) await notifier[Symbol.asyncDispose]();
    await this.receiver[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }

  /** Ends a notifier before the rig does. */
  async close(notifier: Notifier): Promise<void> {
    this.#open.splice(this.#open.indexOf(notifier), 1);
    await notifier[Symbol.asyncDispose]();
  }
}

export const messageIn = ({ body }: Received): Message => JSON.parse(body.toString()) as Message;

/** The only delivery of a notice, once it has that state. */
export async function until(
  notifier: Notifier,
  notice: string,
  state: DeliveryState,
  isSo: (delivery: Delivery) => boolean = () => true,
): Promise<Delivery> {
  for (;;) {
    const [delivery] = await notifier.deliveriesOf(notice);
    if (delivery?.state === state && isSo(delivery)) return delivery;
    await delay(5);
  }
}
