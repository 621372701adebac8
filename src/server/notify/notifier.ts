import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import type { NoticeListener, SessionNotice } from "../../session/notice.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import {
  type Delivery,
  NotifyStore,
  type PushDevice,
  type Receiver,
} from "../../store/notify/notify-store.ts";
import { Dispatcher, type Sending } from "./dispatcher.ts";
import type { NotifyEntry } from "./entries.ts";
import { contentOf, type Message, messageOf, type NoticeContent } from "./message.ts";
import type { NotifySecrets } from "./notify-secrets.ts";
import { sendCommand } from "./send/send-command.ts";
import { sendPush } from "./send/send-push.ts";
import { sendWebhook } from "./send/send-webhook.ts";
import { StoreRetries } from "./store-retries.ts";

export interface NotifierOptions {
  readonly data: string;
  readonly entries: readonly NotifyEntry[];
  readonly secrets: NotifySecrets;
  /** The address of the gateway, where none is running. */
  readonly publicUrl?: string | undefined;
  readonly log: Log;
  readonly firstWait?: number;
  readonly lookEvery?: number;
}

/**
 * Notifies people of what happens in sessions. What it has stored is sent, if need be by a later process.
 * A store that cannot be opened or written is tried again, so that sessions need not wait for it.
 */
export class Notifier implements NoticeListener, AsyncDisposable {
  readonly #options: NotifierOptions;
  readonly #store: Lazy<NotifyStore>;
  readonly #dispatcher: Dispatcher;
  /** In order: a request must be stored before its end is. */
  readonly #storing: StoreRetries;

  constructor(options: NotifierOptions) {
    const { data, entries, log, firstWait, lookEvery } = options;
    this.#options = options;
    this.#store = new Lazy(() => NotifyStore.open(data));
    const wait = firstWait === undefined ? {} : { firstWait };
    this.#storing = new StoreRetries({ log, ...wait });
    this.#dispatcher = new Dispatcher({
      queue: async () => (await this.#store.get()).queue,
      entries: entries.map(({ key }) => key),
      send: (delivery, signal) => this.#send(delivery, signal),
      log,
      ...wait,
      ...(lookEvery === undefined ? {} : { lookEvery }),
    });
    // Sends at once what earlier processes could not.
    this.#dispatcher.wake();
  }

  noticed(notice: SessionNotice): void {
    if (!this.#options.entries.some((entry) => entry.wants(notice.reason))) return;
    const content = contentOf(notice);
    const { requestId, sessionId } = content;
    this.#storing.add(async () => {
      const { links } = await this.#store.get();
      if (requestId !== undefined && sessionId !== undefined)
        await links.open(requestId, sessionId);
      await this.add(content);
    });
  }

  closed(requestId: string): void {
    if (!this.#options.entries.some((entry) => entry.wants("permission"))) return;
    this.#storing.add(async () => (await this.#store.get()).links.close(requestId));
  }

  /** Puts a notification for all receivers that want it in the queue. Its id. */
  async add(content: NoticeContent): Promise<string> {
    const store = await this.#store.get();
    const receivers: Receiver[] = [];
    for (const entry of this.#options.entries) {
      if (entry.wants(content.reason)) receivers.push(...(await receiversOf(entry, store)));
    }
    const notice = { id: crypto.randomUUID(), at: Date.now(), content };
    await store.queue.add(notice, receivers);
    this.#dispatcher.wake();
    return notice.id;
  }

  /** How the deliveries of a notification stand. */
  async deliveriesOf(notice: string): Promise<Delivery[]> {
    return (await this.#store.get()).queue.ofNotice(notice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storing[Symbol.asyncDispose]();
    await this.#dispatcher[Symbol.asyncDispose]();
    (await this.#store.opened())?.[Symbol.dispose]();
  }

  async #send(delivery: Delivery, signal: AbortSignal): Promise<Sending> {
    const { data, entries, log, secrets, publicUrl } = this.#options;
    const { notice, device: deviceId } = delivery;
    const content = notice.content as NoticeContent;
    const entry = entries.find(({ key }) => key === delivery.entry);
    if (entry === undefined) return { state: "failed", result: "it is no longer configured" };
    const tokens = await this.#tokensFor(content);
    if (tokens === "over") return { state: "withdrawn", result: "answered before it was sent" };
    // If gateways cannot be read, it is sent later: without a gateway it would have no links.
    const [running] = await runningGateways(data, { mustRead: true });
    const gateway = running?.browser ?? publicUrl;
    const { detail, how } = entry;
    const message = messageOf({ ...notice, content, detail, gateway, tokens });
    switch (how.kind) {
      case "command": {
        return await sendCommand(message, entry, how, { log, signal });
      }
      case "webhook": {
        const secret = await secrets.webhook();
        return await sendWebhook(message, entry, how, { secret, signal });
      }
      case "push":
        return await this.#push(message, entry, deviceId, signal);
    }
  }

  async #push(
    message: Message,
    entry: NotifyEntry,
    deviceId: string | undefined,
    signal: AbortSignal,
  ): Promise<Sending> {
    const { devices } = await this.#store.get();
    const device = (await devices.list()).find(({ id }) => id === deviceId);
    if (device === undefined) return { state: "failed", result: "the device was removed" };
    if (!this.#isLetIn(device)) {
      await devices.remove(device.id);
      return { state: "failed", result: "the login of the device has ended, and it was removed" };
    }
    const { secrets, publicUrl } = this.#options;
    const subject = publicUrl?.startsWith("https:") === true ? publicUrl : "mailto:owner@localhost";
    const gone = async (): Promise<void> => {
      await devices.remove(device.id);
    };
    const vapid = await secrets.vapid();
    return await sendPush(message, entry, device, { vapid, subject, signal, gone });
  }

  /** Whether the login with which a device subscribed still lets it in. */
  #isLetIn({ proof }: PushDevice): boolean {
    const { data } = this.#options;
    const { mark } = new OwnerToken(data);
    const [kind, key = ""] = proof.split(" ");
    if (kind === "owner") return key === mark;
    const device = new Devices(data).get(key);
    return device !== undefined && device.mark === mark;
  }

  /** Tokens for the options of a permission request, each for this message alone. */
  async #tokensFor({
    requestId,
    options,
  }: NoticeContent): Promise<readonly string[] | "over" | undefined> {
    if (requestId === undefined) return undefined;
    const { links } = await this.#store.get();
    if (options === undefined) return (await links.isOpen(requestId)) ? undefined : "over";
    const ids = options.map(({ optionId }) => optionId);
    return (await links.make(requestId, ids)) ?? "over";
  }
}

/** Who gets a notification by an entry. */
async function receiversOf(
  { key: entry, name, how }: NotifyEntry,
  { devices }: NotifyStore,
): Promise<Receiver[]> {
  if (how.kind !== "push") return [{ entry, receiver: name }];
  const subscribed = await devices.list();
  if (subscribed.length > 0) {
    return subscribed.map(({ id, name: device }) => ({
      entry,
      device: id,
      receiver: `${name}: ${device}`,
    }));
  }
  return [{ entry, receiver: name, problem: "no browser has subscribed to notifications" }];
}
