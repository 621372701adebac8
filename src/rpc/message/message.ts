import { type HeldId, holdId, isId, LONGEST_ID } from "./id.ts";

/** What a parsed text turns out to be. */
export type Message =
  | {
      readonly kind: "request";
      readonly id: HeldId;
      readonly method: string;
      readonly params: unknown;
    }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | {
      readonly kind: "answer";
      readonly id: unknown;
      readonly body: { readonly result?: unknown; readonly error?: unknown };
    }
  | { readonly kind: "invalid"; readonly id: HeldId; readonly why: string };

const NO_PARAMS: Readonly<Record<string, never>> = Object.freeze({});

/** Tells requests, notifications and answers apart (JSON-RPC 2.0 § 4, § 4.1 and § 5). */
export function classify(
  value: unknown,
  text: string,
  options: { readonly nullIdIsNotification: boolean },
): Message {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { kind: "invalid", id: "null", why: "message must be an object" };
  }
  const { jsonrpc, id, method } = value as Record<string, unknown>;
  // Some send null for none.
  const params = (value as { params?: unknown }).params ?? NO_PARAMS;
  const hasId = isId(id);
  if (typeof method !== "string" && ("result" in value || "error" in value)) {
    return { kind: "answer", id, body: value };
  }
  const isNotification = id === undefined || (id === null && options.nullIdIsNotification);
  const why =
    typeof method !== "string"
      ? `'method' ${method === undefined ? "is missing" : "must be a string"}`
      : jsonrpc !== "2.0"
        ? `'jsonrpc' must be "2.0"`
        : !hasId && !isNotification
          ? badId(id)
          : undefined;
  const held = hasId ? holdId(id, text) : "null";
  if (why !== undefined) return { kind: "invalid", id: held, why };
  return isNotification
    ? { kind: "notification", method: method as string, params }
    : { kind: "request", id: held, method: method as string, params };
}

function badId(id: unknown): string {
  return typeof id === "string"
    ? `'id' is longer than ${LONGEST_ID} characters`
    : "'id' must be a string or a number";
}
