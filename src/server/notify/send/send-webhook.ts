import { createHmac } from "node:crypto";

import type { How, NotifyEntry } from "../entries.ts";
import type { Message } from "../message.ts";
import { webhookKey } from "../notify-secrets.ts";
import { post } from "./post.ts";
import { type SendResult, sentBy } from "./sent.ts";

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
