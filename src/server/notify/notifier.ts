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
import type { NotifyEntry, How, Reason } from "./entries.ts";
import { contentOf, type Message, messageOf, type NoticeContent } from "./message.ts";
import { type NotifySecrets, webhookKey } from "./notify-secrets.ts";
import { createHmac } from "node:crypto";
import { post } from "../../base/post.ts";
import { type SendResult, sentBy } from "./send/sent.ts";
import { homedir } from "node:os";
import { usualVariables } from "../../base/process/environment.ts";
import { TrunklineError } from "../../base/errors.ts";
import { runProgram } from "../../git/run-program.ts";
import { encryptPush, LARGEST_PUSH } from "./push/encrypt-push.ts";
import { readEndpoint } from "./push/push-hosts.ts";
import type { VapidKey } from "./push/vapid.ts";
import { setTimeout as delay } from "node:timers/promises";
import { background } from "../../base/background.ts";
import { Backoff } from "../../base/limit/backoff.ts";

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
 * Notifies people of events in sessions. Notifications are stored first, so that a later process can send
 * them. A store that cannot be opened or written is retried in the background: sessions do not wait for it.
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
    this.#storing = new StoreRetries({ log, firstWait });
    this.#dispatcher = new Dispatcher({
      queue: async () => (await this.#store.get()).queue,
      entries: entries.map(({ key }) => key),
      send: (delivery, signal) => this.#send(delivery, signal),
      log,
      firstWait,
      lookEvery,
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

/** The receivers of an entry: one for each device that has subscribed, or the entry itself. */
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

/** Posts a message as JSON, signed as Standard Webhooks specifies. */
export async function sendWebhook(
  message: Message,
  { timeout, allowPrivate }: NotifyEntry,
  { url, headers }: How & { kind: "webhook" },
  { secret, signal }: { readonly secret: string; readonly signal: AbortSignal },
): Promise<SendResult> {
  const body = Buffer.from(JSON.stringify(message));
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signed = {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signatureOf(secret, message.id, timestamp, body)}`,
  };
  const all = { ...headers, "content-type": "application/json", ...signed };
  return sentBy(await post(url, { headers: all, body, timeout, allowPrivate, signal }));
}

export function signatureOf(secret: string, id: string, timestamp: string, body: Buffer): string {
  return createHmac("sha256", webhookKey(secret))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
}

/** Bytes of output that are logged. */
const MOST_OUTPUT = 64 * 1024;

/** Starts a program, without a shell, that reads the message from its standard input. */
export async function sendCommand(
  message: Message,
  { name, timeout }: NotifyEntry,
  { command, args }: How & { kind: "command" },
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<SendResult> {
  const { code, stdout, stderr } = await runProgram({
    command,
    args,
    env: { ...usualVariables(), ...desktopVariables() },
    cwd: homedir(),
    input: `${JSON.stringify(message)}\n`,
    timeout,
    maxOutput: MOST_OUTPUT,
    signal,
  });
  log.info("notify.command", { name, code, stdout: stdout.toString(), stderr });
  if (code === 0) return { state: "delivered", result: "the command ended with exit code 0" };
  const [why = ""] = stderr.trim().split("\n");
  const said = why === "" ? "" : `: ${why.slice(0, 200)}`;
  return { state: "retry", result: `the command ended with ${code}${said}` };
}

/** Where programs such as notify-send find the person's screen. */
function desktopVariables(): NodeJS.ProcessEnv {
  const { DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS } = process.env;
  const found = { DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

export interface SendPushOptions {
  readonly vapid: VapidKey;
  /** RFC 8292, section 2.1: whom the push service can contact. */
  readonly subject: string;
  readonly signal: AbortSignal;
  /** The push service says that the device is gone. */
  readonly gone: () => Promise<void>;
}

/** RFC 8030, sections 5.2 and 5.3: seconds for which a push service keeps a message, and how urgent it is. */
const LASTING: Readonly<Record<Reason, { readonly ttl: number; readonly urgency: string }>> = {
  permission: { ttl: 6 * 3600, urgency: "high" },
  question: { ttl: 6 * 3600, urgency: "high" },
  failed: { ttl: 24 * 3600, urgency: "normal" },
  "turn-ended": { ttl: 24 * 3600, urgency: "normal" },
  test: { ttl: 300, urgency: "high" },
};

/** RFC 8030, section 7.3: the subscription has expired, or the person has ended it. */
const GONE: ReadonlySet<number> = new Set([404, 410]);

/** The text of a message. One that is too long goes without its details: what it is for matters more. */
function textOf(message: Message): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  if (text.length <= LARGEST_PUSH) return text;
  const { detail: _, ...rest } = message;
  return Buffer.from(JSON.stringify(rest));
}

/** Sends a message to a browser through its push service, which cannot read it. */
export async function sendPush(
  message: Message,
  entry: NotifyEntry,
  device: PushDevice,
  { vapid, subject, signal, gone }: SendPushOptions,
): Promise<SendResult> {
  const url = readEndpoint(device.endpoint, [entry]);
  const { ttl, urgency } = LASTING[message.reason];
  const headers = {
    ttl: String(ttl),
    urgency,
    "content-type": "application/octet-stream",
    "content-encoding": "aes128gcm",
    authorization: vapid.authorization(device.endpoint, subject),
  };
  const body = encryptPush(textOf(message), device);
  const { timeout, allowPrivate } = entry;
  const posted = await post(url, { headers, body, timeout, allowPrivate, signal });
  if (!GONE.has(posted.status)) return sentBy(posted);
  await gone();
  const result = `the device is no longer subscribed (status ${posted.status}), and was removed`;
  return { state: "failed", result };
}

export interface StoreRetriesOptions {
  readonly log: Log;
  /** Milliseconds before the second attempt; each further one waits twice as long. */
  readonly firstWait?: number | undefined;
}

const FIRST_WAIT = 1_000;
const LIMITS = { longestWait: 60_000, mostFailures: Infinity, rest: 60_000 };
/** Changes that wait in memory while the store fails. */
const MOST_WAITING = 1_000;

/**
 * Stores changes in order, and retries one that fails for a reason that may pass. Without the retry, a disk
 * that is full for a minute would lose a notification.
 */
export class StoreRetries implements AsyncDisposable {
  readonly #log: Log;
  readonly #backoff: Backoff;
  readonly #over = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor({ log, firstWait = FIRST_WAIT }: StoreRetriesOptions) {
    this.#log = log;
    this.#backoff = new Backoff({ ...LIMITS, firstWait });
  }

  add(change: () => Promise<unknown>): void {
    if (this.#waiting >= MOST_WAITING) {
      const why = `${MOST_WAITING} earlier ones wait until the store works again`;
      return this.#log.error("notify.lost", { why });
    }
    this.#waiting++;
    this.#last = this.#last.then(() => this.#store(change)).finally(() => this.#waiting--);
    return background(this.#last, "Storing a notification");
  }

  /** Tries what waits once more, and ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#last;
  }

  async #store(change: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#over;
    for (;;) {
      const isLast = signal.aborted;
      try {
        await change();
        return this.#backoff.succeeded();
      } catch (error) {
        const mayPass = error instanceof TrunklineError && error.code === "unavailable";
        if (!mayPass || isLast) return this.#log.error("notify.lost", { error });
        this.#log.warn("notify.not-stored", { error });
      }
      const wait = this.#backoff.failed();
      await delay(wait, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
