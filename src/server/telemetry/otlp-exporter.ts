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

export type OtlpExporter<T> = ReturnType<typeof otlpExporter<T>>;

/** Sends spans or metrics to a collector by OTLP over HTTP, as JSON, in batches. What it cannot send, it drops. */
export function otlpExporter<T>(options: ExporterOptions<T>) {
  const { what } = options;
  const { queue: most, batch, gather, attempts, ...waits } = { ...LIMITS, ...options.limits };
  /** Undefined if it is not a web address: an environment variable may have any text. */
  const collector = webAddress(options.url);
  const queue: T[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  /** Ends the pause before the next attempt. */
  let pausing = new AbortController();
  /** The program ends: it does not wait for a collector that cannot be reached. */
  let isFlushing = false;
  /** Ends what is being sent. */
  let working = new AbortController();
  const counts = { exported: 0, dropped: 0 };
  let reportedAt = -Infinity;
  let reported = 0;

  function add(item: T): void {
    if (queue.length >= most) {
      drop(1, `too many ${what} wait for the collector`);
      return;
    }
    queue.push(item);
    if (sending !== undefined) return;
    if (queue.length >= batch) send();
    else timer ??= setTimeout(send, gather).unref();
  }

  /** Sends what waits. What the collector has not taken after so many milliseconds is dropped. */
  async function flush(milliseconds: number): Promise<void> {
    isFlushing = true;
    const drained = drain().then(() => true);
    const isDone = await atMost(milliseconds, drained);
    isFlushing = false;
    if (isDone !== true) giveUp();
  }

  async function drain(): Promise<void> {
    const { signal } = working;
    while (!signal.aborted) {
      if (sending === undefined && queue.length > 0) send();
      if (sending === undefined) return;
      pausing.abort();
      await sending;
    }
  }

  /** Ends the request that is under way, too. */
  function giveUp(): void {
    working.abort();
    working = new AbortController();
    pausing.abort();
    if (queue.length > 0) drop(queue.splice(0).length, LATE);
  }

  function send(): void {
    clearTimeout(timer);
    timer = undefined;
    sending = sendAll().finally(() => {
      sending = undefined;
      // Some may have come while the last batch was sent.
      if (queue.length > 0) {
        timer ??= setTimeout(send, gather).unref();
      }
    });
  }

  async function sendAll(): Promise<void> {
    do {
      const items = queue.splice(0, batch);
      const problem = await sendBatch(items);
      if (problem !== undefined) drop(items.length, problem);
    } while (queue.length >= batch);
  }

  /** Returns why the batch could not be sent. */
  async function sendBatch(items: readonly T[]): Promise<string | undefined> {
    const { firstWait, longestWait } = waits;
    if (collector === undefined) return NO_ADDRESS;
    const body = options.encode(items);
    const { signal } = working;
    for (let attempt = 1; ; attempt++) {
      let problem: string;
      let wait = Math.min(firstWait * 2 ** (attempt - 1), longestWait);
      try {
        const answer = await postTo(collector, body, signal);
        if (answer.status >= 200 && answer.status < 300) {
          took(items.length, answer.body);
          return undefined;
        }
        problem = `the collector answered with status ${answer.status}`;
        if (!RETRIED.has(answer.status)) return problem;
        wait = Math.min(answer.retryAfter ?? wait, longestWait);
      } catch (error) {
        problem = signal.aborted ? LATE : (error as Error).message;
        if (isFlushing) return problem;
      }
      if (attempt >= attempts || signal.aborted) return problem;
      pausing = new AbortController();
      await delay(wait, undefined, { signal: pausing.signal, ref: false }).catch(() => {});
      if (signal.aborted) return problem;
    }
  }

  /** OTLP/HTTP § Partial Success: a collector may refuse some of what it was sent. */
  function took(count: number, body = ""): void {
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
    counts.exported += count - rejected;
    if (rejected > 0) drop(rejected, `the collector refused them: ${why.slice(0, 500)}`);
  }

  async function postTo(address: URL, text: string, stop: AbortSignal): Promise<PostResult> {
    const { timeout } = waits;
    // A keychain may wait for a person.
    const late = AbortSignal.any([stop, AbortSignal.timeout(timeout)]);
    const own = await untilAborted(options.headers(), late);
    const headers = { ...own, "content-type": "application/json" };
    return post(address, {
      headers,
      body: Buffer.from(text),
      timeout,
      allowPrivate: true,
      signal: stop,
      most: MAX_ANSWER,
    });
  }

  function drop(count: number, why: string): void {
    counts.dropped += count;
    const now = performance.now();
    if (now - reportedAt < waits.reportEvery) return;
    reportedAt = now;
    const lost = counts.dropped - reported;
    // Only the origin: the rest of an address may have a secret in it.
    options.report("telemetry.dropped", { [what]: lost, collector: collector?.origin, why });
    reported = counts.dropped;
  }

  return {
    add,
    flush,
    /** How many the collector took, and how many it never got. */
    counts: counts as Readonly<typeof counts>,
  };
}

function webAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}
