import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A data point of a histogram, its attributes as one object. */
export interface ReceivedPoint {
  readonly metric: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly sum: number;
}

/** A span as the receiver got it, its attributes as one object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
  /** The `service.name` of its resource. */
  readonly service: unknown;
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Stands in for an OpenTelemetry collector, since none can be installed for the tests: it takes OTLP over
 * HTTP, checks that each request has the shape that the protocol's JSON encoding gives it, and keeps the
 * spans.
 */
export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  /** Bodies of exports of spans and of metrics, as they came. */
  readonly bodies: { readonly kind: "traces" | "metrics"; readonly body: unknown }[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly problems: unknown[] = [];
  /** What each request is answered with, in turn; the last one counts for all that follow. */
  answers: Answer[] = [{ status: 200, body: "{}" }];
  readonly #server = createServer();
  readonly #changed = new EventEmitter().setMaxListeners(0);

  private constructor() {
    this.#server.on("request", (request, response) => {
      void text(request).then((body) => {
        this.headers.push(request.headers);
        const [answer = { status: 200 }, ...rest] = this.answers;
        if (rest.length > 0) this.answers = rest;
        try {
          assert.equal(request.method, "POST");
          assert.match(String(request.url), /^\/v1\/(?:traces|metrics)$/);
          assert.equal(request.headers["content-type"], "application/json");
          const kind = request.url === "/v1/metrics" ? "metrics" : "traces";
          const parsed: unknown = JSON.parse(body);
          this.bodies.push({ kind, body: parsed });
          const spans = kind === "metrics" ? [] : readExport(parsed);
          if (answer.status < 300) this.spans.push(...spans);
        } catch (error) {
          this.problems.push(error);
        }
        response.writeHead(answer.status, answer.headers).end(answer.body);
        this.#changed.emit("change");
      });
    });
  }

  /** The points of the last export of metrics. */
  get points(): readonly ReceivedPoint[] {
    const last = this.bodies.findLast(({ kind }) => kind === "metrics");
    const { resourceMetrics = [] } = (last?.body ?? {}) as { resourceMetrics?: Json[] };
    return resourceMetrics.flatMap(({ scopeMetrics }) =>
      (scopeMetrics as { metrics: Json[] }[]).flatMap(({ metrics }) =>
        metrics.flatMap(({ name, histogram }) =>
          (histogram as { dataPoints: Json[] }).dataPoints.map((point) => ({
            metric: String(name),
            attributes: readAttributes(point.attributes),
            count: Number(point.count),
            sum: Number(point.sum),
          })),
        ),
      ),
    );
  }

  static async open(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until the condition holds, and fails with what was wrong with a request. */
  async until(condition: (receiver: this) => boolean): Promise<void> {
    for (;;) {
      if (this.problems.length > 0) throw this.problems[0];
      if (condition(this)) return;
      await once(this.#changed, "change");
    }
  }

  /** The first span that fits, as soon as it is there. */
  async span(fits: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    await this.until(({ spans }) => spans.some(fits));
    return this.spans.find(fits) as ReceivedSpan;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    assert.deepEqual(this.problems, []);
  }
}

function readExport(body: unknown): ReceivedSpan[] {
  const { resourceSpans, ...more } = body as { resourceSpans: Json[] };
  assert.deepEqual(more, {});
  return resourceSpans.flatMap((each) => {
    const { resource, scopeSpans } = each as { resource: Json; scopeSpans: Json[] };
    const service = readAttributes(resource.attributes)["service.name"];
    assert.equal(typeof service, "string");
    return scopeSpans.flatMap(({ scope, spans }) => {
      assert.equal(typeof (scope as Json).name, "string");
      return (spans as Json[]).map((span) => readSpan(span, service));
    });
  });
}

function readSpan(span: Json, service: unknown): ReceivedSpan {
  const { traceId, spanId, parentSpanId, name, kind, attributes, links = [], status } = span;
  assert.match(traceId as string, /^(?!0+$)[0-9a-f]{32}$/);
  assert.match(spanId as string, /^(?!0+$)[0-9a-f]{16}$/);
  if (parentSpanId !== undefined) assert.match(parentSpanId as string, /^(?!0+$)[0-9a-f]{16}$/);
  assert.ok(typeof name === "string" && name !== "");
  assert.ok(Number.isInteger(kind) && Number(kind) >= 1 && Number(kind) <= 5);
  const [start, end] = [span.startTimeUnixNano, span.endTimeUnixNano];
  assert.ok(typeof start === "string" && typeof end === "string");
  assert.match(start, /^\d{19}$/);
  assert.match(end, /^\d{19}$/);
  assert.ok(BigInt(start) <= BigInt(end), `${start} is after ${end}`);
  const { code = 0 } = status as { code?: unknown };
  assert.ok(code === 0 || code === 1 || code === 2);
  return {
    ...(span as unknown as ReceivedSpan),
    attributes: readAttributes(attributes),
    links: links as ReceivedSpan["links"],
    service,
  };
}

function readAttributes(list: unknown): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const { key, value } of list as { key: string; value: Json }[]) {
    assert.ok(!Object.hasOwn(read, key), `'${key}' is there twice`);
    const [[kind, content] = [], ...more] = Object.entries(value);
    assert.deepEqual(more, []);
    if (kind === "intValue") assert.match(String(content), /^-?\d+$/);
    const type = { stringValue: "string", boolValue: "boolean", intValue: "string" }[String(kind)];
    assert.equal(typeof content, type ?? (kind === "doubleValue" ? "number" : "an unknown kind"));
    read[key] = kind === "intValue" ? Number(content) : content;
  }
  return read;
}
