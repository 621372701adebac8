import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

import type { LiveEvent } from "../../src/server/dashboard/api.ts";
import type { Json } from "./acp-app.ts";

export interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** What a page of the dashboard does, without a browser: JSON requests and a stream of events. */
export class DashboardPage implements Disposable {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #streams: LiveReader[] = [];

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  async get(path: string): Promise<Json> {
    const { status, body } = await this.send("GET", path);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  post(path: string, body: object = {}): Promise<Answer> {
    return this.send("POST", path, body);
  }

  async send(method: string, path: string, body?: object): Promise<Answer> {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const response = await fetch(this.#url + path, {
      method,
      headers: { ...this.#headers, ...type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Opens the stream of live events. */
  async events(query = "", lastEventId?: string): Promise<LiveReader> {
    const last = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const call = request(`${this.#url}/api/events${query}`, {
      headers: { ...this.#headers, ...last },
      agent: false,
    }).end();
    const [response] = (await once(call, "response")) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(await text(response));
    const reader = new LiveReader(call, response);
    this.#streams.push(reader);
    return reader;
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams) stream.close();
  }
}

/** One event of the stream, with its id. */
export type Received = LiveEvent & { readonly id: string };

/** Reads the stream of live events. */
export class LiveReader {
  readonly events: Received[] = [];
  readonly #call: ClientRequest;
  readonly #response: IncomingMessage;
  #waiting: (() => void)[] = [];
  #text = "";
  #isOver = false;

  constructor(call: ClientRequest, response: IncomingMessage) {
    this.#call = call;
    this.#response = response;
    response.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
    response.on("error", () => {});
    call.on("error", () => {});
    response.on("close", () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? "";
  }

  /** The first event, now or later, that matches. */
  async find(
    event: LiveEvent["event"],
    matches: (data: Json) => boolean = () => true,
  ): Promise<Json> {
    const found = await this.until(() =>
      this.events.find((each) => each.event === event && matches(each.data)),
    );
    return found.data;
  }

  async until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`The stream has ended after ${this.lastId}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Reads nothing more for now. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  /** Resolves when the server has ended it. */
  async ended(): Promise<void> {
    while (!this.#isOver) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#call.destroy();
  }

  #read(chunk: string): void {
    const blocks = (this.#text + chunk).split("\n\n");
    this.#text = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").map((line) => line.split(/: ?(.*)/s, 2) as [string, string]),
      );
      const data = fields.get("data");
      if (data === undefined) continue;
      const id = fields.get("id") ?? "";
      this.events.push({ id, event: fields.get("event"), data: JSON.parse(data) } as Received);
    }
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}
