import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import type { NoticeListener, SessionNotice } from "../../session/notice.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/owner-token.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import type { Database } from "../../store/database.ts";
import { AnswerLinks } from "../../store/notify/answer-links.ts";
import { type Delivery, DeliveryQueue, type Receiver } from "../../store/notify/delivery-queue.ts";
import { openNotifyDatabase } from "../../store/notify/notify-database.ts";
import { type PushDevice, PushDevices } from "../../store/notify/push-devices.ts";
import { Dispatcher, type Sending } from "./dispatcher.ts";
import type { NotifyEntry } from "./entries.ts";
import { contentOf, type Message, messageOf, type NoticeContent } from "./message.ts";
import type { NotifySecrets } from "./notify-secrets.ts";

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

/** Notifies people of what happens in sessions. What it has stored is sent, if need be by a later process. */
export class Notifier implements NoticeListener, AsyncDisposable {
  readonly #options: NotifierOptions;
  readonly #database: Database;
  readonly #queue: DeliveryQueue;
  readonly #links: AnswerLinks;
  readonly #devices: PushDevices;
  readonly #dispatcher: Dispatcher;
  /** What is stored: a request must be stored before its end is. */
  #storing: Promise<unknown> = Promise.resolve();

  private constructor(options: NotifierOptions, database: Database) {
    const { data, entries, log, firstWait, lookEvery } = options;
    this.#options = options;
    this.#database = database;
    this.#queue = new DeliveryQueue(database, data);
    this.#links = new AnswerLinks(database);
    this.#devices = new PushDevices(database);
    this.#dispatcher = new Dispatcher({
      queue: this.#queue,
      entries: entries.map(({ key }) => key),
      send: (delivery, signal) => this.#send(delivery, signal),
      log,
      ...(firstWait === undefined ? {} : { firstWait }),
      ...(lookEvery === undefined ? {} : { lookEvery }),
    });
  }

  /** Sends at once what earlier processes could not. */
  static async open(options: NotifierOptions): Promise<Notifier> {
    const notifier = new Notifier(options, await openNotifyDatabase(options.data));
    notifier.#dispatcher.wake();
    return notifier;
  }

  noticed(notice: SessionNotice): void {
    if (!this.#options.entries.some((entry) => entry.wants(notice.reason))) return;
    this.#store(async () => {
      if (notice.reason === "permission") {
        await this.#links.open(notice.requestId, notice.sessionId);
      }
      await this.add(contentOf(notice));
    });
  }

  closed(requestId: string): void {
    if (!this.#options.entries.some((entry) => entry.wants("permission"))) return;
    this.#store(() => this.#links.close(requestId));
  }

  /** Puts a notification for all receivers that want it in the queue. Its id. */
  async add(content: NoticeContent): Promise<string> {
    const receivers: Receiver[] = [];
    for (const entry of this.#options.entries) {
      if (entry.wants(content.reason)) receivers.push(...(await this.#receivers(entry)));
    }
    const notice = { id: crypto.randomUUID(), at: Date.now(), content };
    await this.#queue.add(notice, receivers);
    this.#dispatcher.wake();
    return notice.id;
  }

  /** How the deliveries of a notification stand. */
  deliveriesOf(notice: string): Promise<Delivery[]> {
    return this.#queue.ofNotice(notice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storing;
    await this.#dispatcher[Symbol.asyncDispose]();
    this.#queue[Symbol.dispose]();
    this.#database[Symbol.dispose]();
  }

  #store(work: () => Promise<unknown>): void {
    this.#storing = this.#storing.then(work).catch((error: unknown) => {
      this.#options.log.error("notify.not-stored", { error });
    });
    background(this.#storing, "Storing a notification");
  }

  async #receivers({ key: entry, name, how }: NotifyEntry): Promise<Receiver[]> {
    if (how.kind !== "push") return [{ entry, receiver: name }];
    const devices = await this.#devices.list();
    if (devices.length > 0) {
      return devices.map(({ id, name: device }) => ({
        entry,
        device: id,
        receiver: `${name}: ${device}`,
      }));
    }
    return [{ entry, receiver: name, problem: "no browser has subscribed to notifications" }];
  }

  async #send(delivery: Delivery, signal: AbortSignal): Promise<Sending> {
    const { data, entries, log, secrets, publicUrl } = this.#options;
    const { notice, device: deviceId } = delivery;
    const content = notice.content as NoticeContent;
    const entry = entries.find(({ key }) => key === delivery.entry);
    if (entry === undefined) return { state: "failed", result: "it is no longer configured" };
    const tokens = await this.#tokensFor(content);
    if (tokens === "over") return { state: "withdrawn", result: "answered before it was sent" };
    const [running] = await runningGateways(data);
    const gateway = running?.browser ?? publicUrl;
    const { detail, how } = entry;
    const message = messageOf({ ...notice, content, detail, gateway, tokens });
    switch (how.kind) {
      case "command": {
        const { sendCommand } = await import("./send/send-command.ts");
        return await sendCommand(message, entry, how, { log, signal });
      }
      case "webhook": {
        const { sendWebhook } = await import("./send/send-webhook.ts");
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
    const device = (await this.#devices.list()).find(({ id }) => id === deviceId);
    if (device === undefined) return { state: "failed", result: "the device was removed" };
    if (!this.#isLetIn(device)) {
      await this.#devices.remove(device.id);
      return { state: "failed", result: "the login of the device has ended, and it was removed" };
    }
    const { sendPush } = await import("./send/send-push.ts");
    const { secrets, publicUrl } = this.#options;
    const subject = publicUrl?.startsWith("https:") === true ? publicUrl : "mailto:owner@localhost";
    const gone = async (): Promise<void> => {
      await this.#devices.remove(device.id);
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
    if (options === undefined) return (await this.#links.isOpen(requestId)) ? undefined : "over";
    const ids = options.map(({ optionId }) => optionId);
    return (await this.#links.make(requestId, ids)) ?? "over";
  }
}
