import { createHmac } from "node:crypto";
import { homedir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { background } from "../../base/background.ts";
import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import type { Log } from "../../base/log.ts";
import { type PostResult, post } from "../../base/post.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { runProgram } from "../../git/run-program.ts";
import type { NoticeListener, SessionNotice } from "../../session/notice.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { Devices } from "../../store/access/devices.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import {
  type Delivery,
  type DeliveryQueue,
  NotifyStore,
  type Outcome,
  type PushDevice,
  type Receiver,
} from "../../store/notify/notify-store.ts";
import type { NotifyMethod, NotifyEntry, Reason } from "./entries.ts";
import { type Message, type NoticeContent, contentOf, messageOf } from "./message.ts";
import { type NotifySecrets, webhookKey } from "./notify-secrets.ts";
import { LARGEST_PUSH, encryptPush } from "./push/encrypt-push.ts";
import { readEndpoint } from "./push/push-hosts.ts";
import type { VapidKey } from "./push/vapid.ts";

export interface NotifierOptions {
  readonly data: string;
  readonly entries: readonly NotifyEntry[];
  readonly secrets: NotifySecrets;
  /** The address of the gateway, where none is running. */
  readonly publicUrl?: string | undefined;
  readonly log: Log;
  /** Milliseconds before the second attempt; each further one waits twice as long. */
  readonly firstWait?: number | undefined;
  /** Milliseconds between two looks for deliveries that other processes have left in the queue. */
  readonly lookEvery?: number | undefined;
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

  /** The deliveries of a notification. */
  async deliveriesOf(notice: string): Promise<Delivery[]> {
    return (await this.#store.get()).queue.ofNotice(notice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storing[Symbol.asyncDispose]();
    await this.#dispatcher[Symbol.asyncDispose]();
    (await this.#store.opened())?.[Symbol.dispose]();
  }

  async #send(delivery: Delivery, signal: AbortSignal): Promise<SendResult> {
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
        return await sendWebhook(message, entry, how, { secret: await secrets.webhook(), signal });
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
  ): Promise<SendResult> {
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
  return subscribed.length > 0
    ? subscribed.map(({ id, name: device }) => ({
        entry,
        device: id,
        receiver: `${name}: ${device}`,
      }))
    : [{ entry, receiver: name, problem: "no browser has subscribed to notifications" }];
}

/** Posts a message as JSON, signed as Standard Webhooks specifies. */
export async function sendWebhook(
  message: Message,
  { timeout, allowPrivate }: NotifyEntry,
  { url, headers }: NotifyMethod & { kind: "webhook" },
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
  { command, args }: NotifyMethod & { kind: "command" },
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
  return defined({ DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS });
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

  constructor({ log, firstWait = FIRST_WAIT }: Pick<NotifierOptions, "log" | "firstWait">) {
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

  /** Tries the waiting changes once more, and ends. */
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
      await delay(this.#backoff.failed(), undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

/** The result of an attempt to send. "retry" is attempted again later, or failed after the last attempt. */
interface SendResult {
  readonly state: "delivered" | "failed" | "withdrawn" | "retry";
  /** In words, for people. */
  readonly result: string;
  /** Milliseconds that the receiver asks to wait. */
  readonly after?: number | undefined;
}

/** Statuses of a server that may accept the same request later: RFC 9110, section 15. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether a status means success, failure or another attempt. */
export function sentBy({ status, retryAfter }: PostResult): SendResult {
  if (status >= 200 && status < 300) {
    return { state: "delivered", result: `accepted with status ${status}` };
  }
  const isLater = status >= 500 || LATER.has(status);
  if (isLater) return { state: "retry", result: `status ${status}`, after: retryAfter };
  const why = status >= 300 && status < 400 ? ": redirects are not followed" : "";
  return { state: "failed", result: `refused with status ${status}${why}` };
}

interface DispatcherOptions extends Pick<NotifierOptions, "log" | "firstWait" | "lookEvery"> {
  /** The queue. Throws while it cannot be opened. */
  readonly queue: () => Promise<DeliveryQueue>;
  /** Keys of the entries whose notifications this process sends. */
  readonly entries: readonly string[];
  /** Sends one. Throws if that fails for a reason that may go away. */
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<SendResult>;
}

const FIRST_RESEND_WAIT = 5_000;
const LONGEST_WAIT = 60 * 60_000;
const MOST_ATTEMPTS = 12;
const LOOK_EVERY = 5_000;
/** Notifications that are sent at once. */
const AT_ONCE = 8;
/** Milliseconds that sending may take when the program stops. Later ones stay in the queue. */
const STOP_GRACE = 1_000;

/** Sends the notifications of the queue, and tries failed ones again. */
class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  /** Results of attempts that could not be stored yet. No other process takes these deliveries while this one runs. */
  readonly #unstored = new Map<Delivery, Outcome>();
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> | undefined;
  #isAskedAgain = false;
  #isOver = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Looks for deliveries that are due. */
  wake(): void {
    if (this.#isOver) return;
    this.#isAskedAgain = true;
    this.#look ??= this.#lookAll().finally(() => {
      this.#look = undefined;
      if (this.#isAskedAgain) this.wake();
    });
    background(this.#look, "Sending notifications");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#look?.catch(() => {});
    const stopped = new TrunklineError("closed", "Trunkline was stopped");
    const late = setTimeout(() => this.#stop.abort(stopped), STOP_GRACE);
    await Promise.all(this.#sending);
    clearTimeout(late);
    try {
      await this.#storeOutcomes();
    } catch (error) {
      // The next process that reads the queue sends them again.
      this.#options.log.error("notify.not-recorded", { error });
    }
  }

  async #lookAll(): Promise<void> {
    const { log } = this.#options;
    clearTimeout(this.#timer);
    let due: number | undefined;
    try {
      while (this.#isAskedAgain && !this.#isOver) {
        this.#isAskedAgain = false;
        await this.#storeOutcomes();
        due = await this.#start();
      }
    } catch (error) {
      this.#isAskedAgain = false;
      // The next look tries it again.
      log.warn("notify.queue", { error });
    }
    if (this.#isOver) return;
    const { lookEvery = LOOK_EVERY } = this.#options;
    const wait = due === undefined ? lookEvery : Math.min(lookEvery, due - Date.now());
    this.#timer = setTimeout(() => this.wake(), Math.max(10, wait)).unref();
  }

  /** Starts the deliveries that are due. Returns when the next one is. */
  async #start(): Promise<number | undefined> {
    const { entries } = this.#options;
    const queue = await this.#options.queue();
    const room = AT_ONCE - this.#sending.size;
    // The end of a sending wakes us again.
    if (room <= 0) return undefined;
    for (const delivery of await queue.take(entries, room)) {
      const sending = this.#send(delivery).finally(() => {
        this.#sending.delete(sending);
        this.wake();
      });
      this.#sending.add(sending);
    }
    return await queue.nextDue(entries);
  }

  async #send(delivery: Delivery): Promise<void> {
    const { queue, send, log } = this.#options;
    const { signal } = this.#stop;
    const sent = await send(delivery, signal).catch((error: Error): SendResult => {
      return { state: "retry", result: error.message };
    });
    try {
      if (signal.aborted && sent.state === "retry") return await (await queue()).release(delivery);
      const outcome = this.#outcomeOf(delivery, sent);
      const { receiver } = delivery;
      const { state, result } = outcome;
      if (state === "delivered") log.debug("notify.delivered", { receiver, result });
      else log.warn("notify.not-delivered", { receiver, state, result });
      this.#unstored.set(delivery, outcome);
      await this.#storeOutcomes();
    } catch (error) {
      // The next look tries it again.
      log.error("notify.not-recorded", { error });
    }
    return undefined;
  }

  /** Stores the results of attempts. If that throws, they are kept for the next time. */
  async #storeOutcomes(): Promise<void> {
    if (this.#unstored.size === 0) return;
    const queue = await this.#options.queue();
    for (const [delivery, outcome] of this.#unstored) {
      // Two calls may overlap: each outcome is recorded by one of them.
      this.#unstored.delete(delivery);
      try {
        await queue.tried(delivery, outcome);
      } catch (error) {
        this.#unstored.set(delivery, outcome);
        throw error;
      }
    }
  }

  #outcomeOf({ attempts }: Delivery, { state, result, after }: SendResult): Outcome {
    if (state !== "retry") return { state, result };
    if (attempts + 1 >= MOST_ATTEMPTS) {
      return { state: "failed", result: `given up after ${attempts + 1} attempts: ${result}` };
    }
    const { firstWait = FIRST_RESEND_WAIT } = this.#options;
    const wait = Math.min(LONGEST_WAIT, Math.max(after ?? 0, firstWait * 2 ** attempts));
    return { state: "pending", result, due: Date.now() + wait };
  }
}
