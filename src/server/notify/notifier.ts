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
import type { SessionNotice } from "../../session/notice.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { Devices } from "../../store/access/devices.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import {
  type Delivery,
  type DeliveryQueue,
  type NotifyStore,
  openNotifyStore,
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

export type Notifier = ReturnType<typeof startNotifier>;

/**
 * Notifies people of events in sessions. Notifications are stored first, so that a later process can send
 * them. A store that cannot be opened or written is retried in the background: sessions do not wait for it.
 */
export function startNotifier(options: NotifierOptions) {
  const { data, entries, log, firstWait, lookEvery } = options;
  const store = new Lazy(() => openNotifyStore(data));
  /** In order: a request must be stored before its end is. */
  const storing = storeRetries({ log, firstWait });
  const dispatching = dispatcher({
    queue: async () => (await store.get()).queue,
    entries: entries.map(({ key }) => key),
    ...{ send, log, firstWait, lookEvery },
  });
  // Sends at once what earlier processes could not.
  dispatching.wake();

  function noticed(notice: SessionNotice): void {
    if (!entries.some((entry) => entry.wants(notice.reason))) return;
    const content = contentOf(notice);
    const { requestId, sessionId } = content;
    storing.add(async () => {
      const { links } = await store.get();
      if (requestId !== undefined && sessionId !== undefined)
        await links.open(requestId, sessionId);
      await add(content);
    });
  }

  function closed(requestId: string): void {
    if (!entries.some((entry) => entry.wants("permission"))) return;
    storing.add(async () => (await store.get()).links.close(requestId));
  }

  /** Puts a notification for all receivers that want it in the queue. Its id. */
  async function add(content: NoticeContent): Promise<string> {
    const opened = await store.get();
    const receivers: Receiver[] = [];
    for (const entry of entries) {
      if (entry.wants(content.reason)) receivers.push(...(await receiversOf(entry, opened)));
    }
    const notice = { id: crypto.randomUUID(), at: Date.now(), content };
    await opened.queue.add(notice, receivers);
    dispatching.wake();
    return notice.id;
  }

  async function send(delivery: Delivery, signal: AbortSignal): Promise<SendResult> {
    const { secrets, publicUrl } = options;
    const { notice, device: deviceId } = delivery;
    const content = notice.content as NoticeContent;
    const entry = entries.find(({ key }) => key === delivery.entry);
    if (entry === undefined) return { state: "failed", result: "it is no longer configured" };
    const tokens = await tokensFor(content);
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
        return await push(message, entry, deviceId, signal);
    }
  }

  async function push(
    message: Message,
    entry: NotifyEntry,
    deviceId: string | undefined,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { devices } = await store.get();
    const device = (await devices.list()).find(({ id }) => id === deviceId);
    if (device === undefined) return { state: "failed", result: "the device was removed" };
    if (!isLetIn(device)) {
      await devices.remove(device.id);
      return { state: "failed", result: "the login of the device has ended, and it was removed" };
    }
    const { secrets, publicUrl } = options;
    const subject = publicUrl?.startsWith("https:") === true ? publicUrl : "mailto:owner@localhost";
    const gone = async (): Promise<void> => {
      await devices.remove(device.id);
    };
    const vapid = await secrets.vapid();
    return await sendPush(message, entry, device, { vapid, subject, signal, gone });
  }

  /** Whether the login with which a device subscribed still lets it in. */
  function isLetIn({ proof }: PushDevice): boolean {
    const { mark } = new OwnerToken(data);
    const [kind, key = ""] = proof.split(" ");
    if (kind === "owner") return key === mark;
    const device = new Devices(data).get(key);
    return device !== undefined && device.mark === mark;
  }

  /** Tokens for the options of a permission request, each for this message alone. */
  async function tokensFor(of: NoticeContent): Promise<readonly string[] | "over" | undefined> {
    const { requestId, options: choices } = of;
    if (requestId === undefined) return undefined;
    const { links } = await store.get();
    if (choices === undefined) return (await links.isOpen(requestId)) ? undefined : "over";
    const ids = choices.map(({ optionId }) => optionId);
    return (await links.make(requestId, ids)) ?? "over";
  }

  return {
    ...{ noticed, closed, add },
    /** The deliveries of a notification. */
    deliveriesOf: async (notice: string): Promise<Delivery[]> =>
      (await store.get()).queue.ofNotice(notice),
    async [Symbol.asyncDispose](): Promise<void> {
      await storing[Symbol.asyncDispose]();
      await dispatching[Symbol.asyncDispose]();
      (await store.opened())?.[Symbol.dispose]();
    },
  };
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
export function storeRetries({
  log,
  firstWait = FIRST_WAIT,
}: Pick<NotifierOptions, "log" | "firstWait">) {
  const backoff = new Backoff({ ...LIMITS, firstWait });
  const over = new AbortController();
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;

  function add(change: () => Promise<unknown>): void {
    if (waiting >= MOST_WAITING) {
      const why = `${MOST_WAITING} earlier ones wait until the store works again`;
      return log.error("notify.lost", { why });
    }
    waiting++;
    last = last.then(() => store(change)).finally(() => waiting--);
    return background(last, "Storing a notification");
  }

  async function store(change: () => Promise<unknown>): Promise<void> {
    const { signal } = over;
    for (;;) {
      const isLast = signal.aborted;
      try {
        await change();
        return backoff.succeeded();
      } catch (error) {
        const mayPass = error instanceof TrunklineError && error.code === "unavailable";
        if (!mayPass || isLast) return log.error("notify.lost", { error });
        log.warn("notify.not-stored", { error });
      }
      await delay(backoff.failed(), undefined, { signal, ref: false }).catch(() => {});
    }
  }

  return {
    add,
    /** Tries the waiting changes once more, and ends. */
    async [Symbol.asyncDispose](): Promise<void> {
      over.abort();
      await last;
    },
  };
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
function dispatcher({ queue, entries, send, log, ...times }: DispatcherOptions) {
  const { firstWait = FIRST_RESEND_WAIT, lookEvery = LOOK_EVERY } = times;
  const sending = new Set<Promise<void>>();
  const stop = new AbortController();
  /** Results of attempts that could not be stored yet. No other process takes these deliveries while this one runs. */
  const unstored = new Map<Delivery, Outcome>();
  let timer: NodeJS.Timeout | undefined;
  let look: Promise<void> | undefined;
  let isAskedAgain = false;
  const over = new AbortController();

  /** Looks for deliveries that are due. */
  function wake(): void {
    if (over.signal.aborted) return;
    isAskedAgain = true;
    look ??= lookAll().finally(() => {
      look = undefined;
      if (isAskedAgain) wake();
    });
    background(look, "Sending notifications");
  }

  async function lookAll(): Promise<void> {
    clearTimeout(timer);
    let due: number | undefined;
    try {
      while (isAskedAgain && !over.signal.aborted) {
        isAskedAgain = false;
        await storeOutcomes();
        due = await start();
      }
    } catch (error) {
      isAskedAgain = false;
      // The next look tries it again.
      log.warn("notify.queue", { error });
    }
    if (over.signal.aborted) return;
    const wait = due === undefined ? lookEvery : Math.min(lookEvery, due - Date.now());
    timer = setTimeout(() => wake(), Math.max(10, wait)).unref();
  }

  /** Starts the deliveries that are due. Returns when the next one is. */
  async function start(): Promise<number | undefined> {
    const waiting = await queue();
    const room = AT_ONCE - sending.size;
    // The end of a sending wakes us again.
    if (room <= 0) return undefined;
    for (const delivery of await waiting.take(entries, room)) {
      const one = sendOne(delivery).finally(() => {
        sending.delete(one);
        wake();
      });
      sending.add(one);
    }
    return await waiting.nextDue(entries);
  }

  async function sendOne(delivery: Delivery): Promise<void> {
    const { signal } = stop;
    const sent = await send(delivery, signal).catch((error: Error): SendResult => {
      return { state: "retry", result: error.message };
    });
    try {
      if (signal.aborted && sent.state === "retry") return await (await queue()).release(delivery);
      const outcome = outcomeOf(delivery, sent);
      const { receiver } = delivery;
      const { state, result } = outcome;
      if (state === "delivered") log.debug("notify.delivered", { receiver, result });
      else log.warn("notify.not-delivered", { receiver, state, result });
      unstored.set(delivery, outcome);
      await storeOutcomes();
    } catch (error) {
      // The next look tries it again.
      log.error("notify.not-recorded", { error });
    }
    return undefined;
  }

  /** Stores the results of attempts. If that throws, they are kept for the next time. */
  async function storeOutcomes(): Promise<void> {
    if (unstored.size === 0) return;
    const stored = await queue();
    for (const [delivery, outcome] of unstored) {
      // Two calls may overlap: each outcome is recorded by one of them.
      unstored.delete(delivery);
      try {
        await stored.tried(delivery, outcome);
      } catch (error) {
        unstored.set(delivery, outcome);
        throw error;
      }
    }
  }

  function outcomeOf({ attempts }: Delivery, { state, result, after }: SendResult): Outcome {
    if (state !== "retry") return { state, result };
    if (attempts + 1 >= MOST_ATTEMPTS) {
      return { state: "failed", result: `given up after ${attempts + 1} attempts: ${result}` };
    }
    const wait = Math.min(LONGEST_WAIT, Math.max(after ?? 0, firstWait * 2 ** attempts));
    return { state: "pending", result, due: Date.now() + wait };
  }

  return {
    wake,
    async [Symbol.asyncDispose](): Promise<void> {
      over.abort();
      clearTimeout(timer);
      await look?.catch(() => {});
      const stopped = new TrunklineError("closed", "Trunkline was stopped");
      const late = setTimeout(() => stop.abort(stopped), STOP_GRACE);
      await Promise.all(sending);
      clearTimeout(late);
      try {
        await storeOutcomes();
      } catch (error) {
        // The next process that reads the queue sends them again.
        log.error("notify.not-recorded", { error });
      }
    },
  };
}
