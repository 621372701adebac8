import type { PushDevice } from "../../../store/notify/notify-store.ts";
import type { NotifyEntry, Reason } from "../entries.ts";
import type { Message } from "../message.ts";
import { encryptPush, LARGEST_PUSH } from "../push/encrypt-push.ts";
import { readEndpoint } from "../push/push-hosts.ts";
import type { VapidKey } from "../push/vapid.ts";
import { post } from "./post.ts";
import { type SendResult, sentBy } from "./sent.ts";

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
