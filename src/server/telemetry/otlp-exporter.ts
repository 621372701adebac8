import { attempt } from "../../base/attempt.ts";
import { parsedJson } from "../../base/check.ts";
import { setTimeout as delay } from "node:timers/promises";

import { atMost, untilAborted } from "../../base/abort.ts";
import { post, type PostResult } from "../../base/post.ts";

export interface ExporterOptions<T> {
  /** The whole address, with its path. */
  readonly url: string;
  /** Asked for with each export, so that a secret is in memory only while it is sent. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  /** The body of a request that exports these. */
  readonly encode: (items: readonly T[]) => string;
  /** What is exported, in reports. */
  readonly what: "spans" | "metrics";
  readonly report: (event: string, fields: Record<string, unknown>) => void;
  readonly limits?: Partial<ExporterLimits>;
}

export interface ExporterLimits {
  /** Spans or snapshots of metrics that wait; further ones are dropped. */
  readonly queue: number;
  readonly batch: number;
  /** Milliseconds for which spans are gathered. */
  readonly gather: number;
  /** Attempts for one batch. */
  readonly attempts: number;
  /** Milliseconds before the second attempt; doubled for each further one. */
  readonly firstWait: number;
  readonly longestWait: number;
  /** Milliseconds for one request. */
  readonly timeout: number;
  /** Milliseconds between two reports of dropped spans. */
  readonly reportEvery: number;
}

const LIMITS: ExporterLimits = {
  queue: 4_096,
  batch: 512,
  gather: 1_000,
  attempts: 5,
  firstWait: 1_000,
  longestWait: 30_000,
  timeout: 10_000,
  reportEvery: 60_000,
};

/** OTLP/HTTP § Failures: the statuses after which the same request may be sent again. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const NO_ADDRESS = "the collector's address must begin with http:// or https://";
const LATE = "the collector did not take them in time";

/** Bytes of an answer that are read. */
const MAX_ANSWER = 64 * 1024;

/** Sends spans or metrics to a collector by OTLP over HTTP, as JSON, in batches. What it cannot send, it drops. */
export class OtlpExporter<T> {
  readonly #options: ExporterOptions<T>;
  readonly #limits: ExporterLimits;
  /** Undefined if it is not a web address: an environment variable may have any text. */
  readonly #collector: URL | undefined;
  #queue: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  /** Ends the pause before the next attempt. */
  #pausing = new AbortController();
  /** The program ends: it does not wait for a collector that cannot be reached. */
  #isFlushing = false;
  /** Ends what is being sent. */
  #working = new AbortController();
  #exported = 0;
  #dropped = 0;
  #reportedAt = -Infinity;
  #reported = 0;

  constructor(options: ExporterOptions<T>) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#collector = webAddress(options.url);
  }

  /** How many the collector took, and how many it never got. */
  get counts(): { readonly exported: number; readonly dropped: number } {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  add(item: T): void {
    const { queue, batch, gather } = this.#limits;
    if (this.#queue.length >= queue) {
      this.#drop(1, `too many ${this.#options.what} wait for the collector`);
      return;
    }
    this.#queue.push(item);
    if (this.#sending !== undefined) return;
    if (this.#queue.length >= batch) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), gather).unref();
  }

  /** Sends what waits. What the collector has not taken after so many milliseconds is dropped. */
  async flush(milliseconds: number): Promise<void> {
    this.#isFlushing = true;
    const drained = this.#drain().then(() => true);
    const isDone = await atMost(milliseconds, drained);
    this.#isFlushing = false;
    if (isDone !== true) this.#giveUp();
  }

  async #drain(): Promise<void> {
    const { signal } = this.#working;
    while (!signal.aborted) {
      if (this.#sending === undefined && this.#queue.length > 0) this.#send();
      if (this.#sending === undefined) return;
      this.#pausing.abort();
      await this.#sending;
    }
  }

  /** Ends the request that is under way, too. */
  #giveUp(): void {
    this.#working.abort();
    this.#working = new AbortController();
    this.#pausing.abort();
    if (this.#queue.length > 0) this.#drop(this.#queue.splice(0).length, LATE);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
      // Some may have come while the last batch was sent.
      if (this.#queue.length > 0) {
        this.#timer ??= setTimeout(() => this.#send(), this.#limits.gather).unref();
      }
    });
  }

  async #sendAll(): Promise<void> {
    do {
      const items = this.#queue.splice(0, this.#limits.batch);
      const problem = await this.#sendBatch(items);
      if (problem !== undefined) this.#drop(items.length, problem);
    } while (this.#queue.length >= this.#limits.batch);
  }

  /** Returns why the batch could not be sent. */
  async #sendBatch(items: readonly T[]): Promise<string | undefined> {
    const { attempts, firstWait, longestWait } = this.#limits;
    const collector = this.#collector;
    if (collector === undefined) return NO_ADDRESS;
    const body = this.#options.encode(items);
    const { signal } = this.#working;
    for (let attempt = 1; ; attempt++) {
      let problem: string;
      let wait = Math.min(firstWait * 2 ** (attempt - 1), longestWait);
      try {
        const answer = await this.#post(collector, body, signal);
        if (answer.status >= 200 && answer.status < 300) {
          this.#took(items.length, answer.body);
          return undefined;
        }
        problem = `the collector answered with status ${answer.status}`;
        if (!RETRIED.has(answer.status)) return problem;
        wait = Math.min(answer.retryAfter ?? wait, longestWait);
      } catch (error) {
        problem = signal.aborted ? LATE : (error as Error).message;
        if (this.#isFlushing) return problem;
      }
      if (attempt >= attempts || signal.aborted) return problem;
      this.#pausing = new AbortController();
      await delay(wait, undefined, { signal: this.#pausing.signal, ref: false }).catch(() => {});
      if (signal.aborted) return problem;
    }
  }

  /** OTLP/HTTP § Partial Success: a collector may refuse some of what it was sent. */
  #took(count: number, body = ""): void {
    // Collectors may answer without a body.
    const said = parsedJson(body) as { partialSuccess?: Readonly<Record<string, unknown>> } | null;
    const {
      rejectedSpans,
      rejectedDataPoints = rejectedSpans,
      ...more
    } = said?.partialSuccess ?? {};
    // An object may be no number at all: `Number` throws then.
    const refused = attempt(() => Number(rejectedDataPoints), 0);
    const rejected = Math.min(Math.max(refused || 0, 0), count);
    const why = typeof more.errorMessage === "string" ? more.errorMessage : "";
    this.#exported += count - rejected;
    if (rejected > 0) this.#drop(rejected, `the collector refused them: ${why.slice(0, 500)}`);
  }

  async #post(url: URL, text: string, working: AbortSignal): Promise<PostResult> {
    const { timeout } = this.#limits;
    // A keychain may wait for a person.
    const late = AbortSignal.any([working, AbortSignal.timeout(timeout)]);
    const own = await untilAborted(this.#options.headers(), late);
    const headers = { ...own, "content-type": "application/json" };
    return post(url, {
      headers,
      body: Buffer.from(text),
      timeout,
      allowPrivate: true,
      signal: working,
      most: MAX_ANSWER,
    });
  }

  #drop(count: number, why: string): void {
    this.#dropped += count;
    const now = performance.now();
    if (now - this.#reportedAt < this.#limits.reportEvery) return;
    this.#reportedAt = now;
    const lost = this.#dropped - this.#reported;
    // Only the origin: the rest of an address may have a secret in it.
    const { what, report } = this.#options;
    report("telemetry.dropped", { [what]: lost, collector: this.#collector?.origin, why });
    this.#reported = this.#dropped;
  }
}

function webAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}
