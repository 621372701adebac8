import { parsedJson } from "../../base/check.ts";
import { META } from "../../protocol/mcp/meta.ts";
import { readElements, readEnvelope } from "../../rpc/message/envelope.ts";

/** A request of the client that has no answer yet. */
export interface OpenRequest {
  readonly method: string;
  readonly text: string;
}

/**
 * The lists that a client keeps, the notification that tells it to ask again, and what a subscription of
 * 2026-07-28 calls that.
 */
export const LISTS: Readonly<
  Record<string, { readonly changed: string; readonly wanted: string }>
> = {
  "tools/list": { changed: "notifications/tools/list_changed", wanted: "toolsListChanged" },
  "prompts/list": { changed: "notifications/prompts/list_changed", wanted: "promptsListChanged" },
  "resources/list": {
    changed: "notifications/resources/list_changed",
    wanted: "resourcesListChanged",
  },
};

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/**
 * Records what a relay needs to continue a conversation without the gateway: what the client has set up,
 * which answers it waits for, and which requests it was sent. Only the envelope of messages is read,
 * except for the few that set something up.
 */
export class Conversation {
  /** By the JSON text of their ids, oldest first. */
  readonly open = new Map<string, OpenRequest>();
  /** Requests of the gateway to the client without an answer, by the JSON text of their ids. */
  readonly questions = new Set<string>();
  /** By method; `text` is the request for it. */
  readonly lists = new Map<string, { readonly text: string; readonly answer: string }>();
  /** The messages that set up the session, as texts: by what each sets, the last one. */
  readonly setUp = new Map<string, string>();
  /** The subscriptions that were acknowledged to the client, by the JSON text of their ids. */
  readonly acknowledged = new Set<string>();
  #lastQuestion = 0;
  #waiting: (() => void)[] = [];

  /** An id that is larger than those of all requests of the gateway. */
  get nextQuestion(): number {
    return this.#lastQuestion + 1;
  }

  /** Whether the client waits for an answer. A subscription is answered when it ends. */
  get isAnswerDue(): boolean {
    return this.open.values().some(({ method }) => method !== "subscriptions/listen");
  }

  /** Resolves when the client waits for nothing. */
  drained(): Promise<void> {
    if (this.open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A message of the client, before it is passed on. */
  fromClient(text: string): void {
    if (isBatch(text)) {
      for (const one of readElements(text)) this.fromClient(one);
      return;
    }
    const { idText, method } = headOf(text);
    if (method === undefined) {
      if (idText !== undefined) this.questions.delete(idText);
    } else if (idText === undefined) this.#notified(method, text);
    else this.open.set(idText, { method, text });
  }

  /** A message to the client, before it is passed on. */
  toClient(text: string): void {
    if (isBatch(text)) {
      for (const one of readElements(text)) this.toClient(one);
      return;
    }
    const { idText, method } = headOf(text);
    if (idText === undefined) {
      const subscription = acknowledgedBy(text, method);
      if (subscription !== undefined) this.acknowledged.add(subscription);
      // A cancelled request is not answered.
      else if (method === CANCEL) this.questions.delete(cancelledBy(text));
    } else if (method === undefined) this.answered(idText, text);
    else {
      this.questions.add(idText);
      const id = Number(idText);
      if (id > this.#lastQuestion) this.#lastQuestion = id;
    }
  }

  answered(idText: string, text: string): void {
    const request = this.open.get(idText);
    if (request === undefined) return;
    this.#close(idText);
    this.#done(request, text);
    this.#drain();
  }

  /** Whether a message belongs to something that the gateway is busy with already. */
  isAboutOpen(text: string): boolean {
    const { idText, method } = headOf(text);
    if (method === undefined) return idText !== undefined;
    return method === CANCEL && this.open.has(cancelledBy(text));
  }

  #notified(method: string, text: string): void {
    if (method === CANCEL) {
      // MCP 2025-11-25, basic/utilities/cancellation: a cancelled request is not answered.
      this.#close(cancelledBy(text));
      this.#drain();
    } else if (method === "notifications/initialized") this.setUp.set(method, text);
  }

  #close(idText: string): void {
    this.open.delete(idText);
    this.acknowledged.delete(idText);
  }

  #drain(): void {
    if (this.open.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #done({ method, text }: OpenRequest, answer: string): void {
    switch (method) {
      case "initialize":
      case "logging/setLevel":
        if (!isError(answer)) this.setUp.set(method, text);
        break;
      case "resources/subscribe":
        if (!isError(answer)) this.setUp.set(`watch ${uriOf(text)}`, text);
        break;
      case "resources/unsubscribe":
        this.setUp.delete(`watch ${uriOf(text)}`);
        break;
      default:
        if (method in LISTS) this.lists.set(method, { text, answer });
    }
  }
}

const CANCEL = "notifications/cancelled";
/** An id that is written as its answer will write it. */
const PLAIN_ID = /^(?:\d+|"[^\\]*")$/;

/** The id and the method of a message. A method that is no string counts as one without a meaning. */
export function headOf(text: string): {
  readonly idText: string | undefined;
  readonly method: string | undefined;
} {
  const { id, method } = readEnvelope(text);
  const idText = id === undefined ? "null" : text.slice(id.from, id.to);
  return {
    idText: idText === "null" ? undefined : PLAIN_ID.test(idText) ? idText : canonical(idText),
    method: method === undefined ? undefined : text.slice(method.from + 1, method.to - 1),
  };
}

function canonical(idText: string): string {
  return JSON.stringify(parsedJson(idText)) ?? idText;
}

function isBatch(text: string): boolean {
  return text.trimStart().startsWith("[");
}

function isError(answer: string): boolean {
  return (parsedJson(answer) as { error?: unknown } | undefined)?.error !== undefined;
}

/** The JSON text of the id that a cancellation names. */
function cancelledBy(text: string): string {
  return JSON.stringify(paramsOf(text).requestId) ?? "";
}

/** The JSON text of the id of the subscription that a message acknowledges. */
export function acknowledgedBy(text: string, method = headOf(text).method): string | undefined {
  if (method !== ACKNOWLEDGED) return undefined;
  const { [META.subscriptionId]: id } = (paramsOf(text)._meta ?? {}) as Record<string, unknown>;
  return JSON.stringify(id);
}

function uriOf(text: string): string {
  return String(paramsOf(text).uri);
}

/** The parameters of a message; none where it has none, or is not JSON. */
export function paramsOf(text: string): Readonly<Record<string, unknown>> {
  const { params } = (parsedJson(text) ?? {}) as {
    params?: Readonly<Record<string, unknown>> | null;
  };
  return params ?? {};
}
