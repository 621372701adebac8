import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";

import { OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { until } from "../../../test/support/until.ts";
import { type ExporterLimits, otlpExporter, type OtlpExporter } from "./otlp-exporter.ts";
import { type EndedSpan, exportRequest } from "./otlp-json.ts";

const SPAN: EndedSpan = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentSpanId: undefined,
  traceState: undefined,
  name: "tools/call echo",
  kind: "server",
  start: 1_790_000_000_000.25,
  end: 1_790_000_000_001.5,
  attributes: { text: "a", whole: 3, part: 0.5, is: true, none: undefined },
  links: [],
  failure: "it failed",
};

class Sample {
  readonly reports: Record<string, unknown>[] = [];
  readonly exporter: OtlpExporter<EndedSpan>;

  constructor(
    url: string,
    limits: Partial<ExporterLimits> = {},
    headers = async (): Promise<Record<string, string>> => ({ authorization: "Bearer secret" }),
  ) {
    this.exporter = otlpExporter({
      url: `${url}/v1/traces`,
      headers,
      what: "spans",
      encode: (spans) => exportRequest(spans, { "service.name": "sample" }),
      report: (event, fields) => this.reports.push({ event, ...fields }),
      // The tests flush; retries follow at once.
      limits: { gather: 3_600_000, firstWait: 1, longestWait: 1, ...limits },
    });
  }

  async dropped(count: number): Promise<void> {
    await until(() => this.exporter.counts.dropped >= count);
  }

  add(count: number): void {
    for (let i = 0; i < count; i++) this.exporter.add(SPAN);
  }
}

describe("otlpExporter()", { timeout: 60_000 }, () => {
  it("sends spans in the protocol's JSON, with the headers", async () => {
    await using receiver = await OtlpReceiver.open();
    const { exporter } = new Sample(receiver.url);
    exporter.add(SPAN);
    await exporter.flush(60_000);
    const [span] = receiver.spans;
    assert.deepEqual(span?.attributes, { text: "a", whole: 3, part: 0.5, is: true });
    assert.deepEqual([span?.kind, span?.status], [2, { code: 2, message: "it failed" }]);
    assert.equal(span?.service, "sample");
    assert.equal(receiver.headers[0]?.authorization, "Bearer secret");
    assert.deepEqual(exporter.counts, { exported: 1, dropped: 0 });
  });

  it("sends a full batch without being told to", async () => {
    await using receiver = await OtlpReceiver.open();
    const sample = new Sample(receiver.url, { batch: 2 });
    sample.add(2);
    await receiver.until(({ spans }) => spans.length === 2);
    await sample.exporter.flush(60_000);
  });

  it("sends again what a busy collector did not take, and nothing that it refused", async () => {
    for (const status of [429, 502, 503, 504]) {
      await using receiver = await OtlpReceiver.open();
      receiver.answers = [{ status, headers: { "retry-after": "0" } }, { status: 200 }];
      const sample = new Sample(receiver.url);
      sample.add(1);
      await sample.exporter.flush(60_000);
      assert.deepEqual(sample.exporter.counts, { exported: 1, dropped: 0 }, String(status));
    }
    await using receiver = await OtlpReceiver.open();
    receiver.answers = [{ status: 400 }, { status: 200 }];
    const sample = new Sample(receiver.url);
    sample.add(3);
    await sample.exporter.flush(60_000);
    assert.deepEqual(sample.exporter.counts, { exported: 0, dropped: 3 });
    assert.match(String(sample.reports[0]?.why), /status 400/);
  });

  it("counts what a collector rejects of a batch that it took", async () => {
    await using receiver = await OtlpReceiver.open();
    const body = JSON.stringify({ partialSuccess: { rejectedSpans: "2", errorMessage: "no" } });
    receiver.answers = [{ status: 200, body }];
    const sample = new Sample(receiver.url);
    sample.add(5);
    await sample.exporter.flush(60_000);
    assert.deepEqual(sample.exporter.counts, { exported: 3, dropped: 2 });
  });

  it("takes what is no number in such an answer for none", async () => {
    await using receiver = await OtlpReceiver.open();
    const body = JSON.stringify({ partialSuccess: { rejectedSpans: { toString: 1 } } });
    receiver.answers = [{ status: 200, body }];
    const sample = new Sample(receiver.url);
    sample.add(5);
    await sample.exporter.flush(60_000);
    assert.deepEqual(sample.exporter.counts, { exported: 5, dropped: 0 });
  });

  it("drops what does not fit into the queue, and says so once", async () => {
    const sample = new Sample("http://127.0.0.1:1", { queue: 3, attempts: 2 });
    sample.add(10);
    assert.deepEqual(sample.exporter.counts, { exported: 0, dropped: 7 });
    await sample.exporter.flush(60_000);
    assert.deepEqual(sample.exporter.counts, { exported: 0, dropped: 10 });
    assert.equal(sample.reports.length, 1);
    assert.equal(sample.reports[0]?.collector, "http://127.0.0.1:1");
  });

  it("says so where the address is none, and fails nothing else", async () => {
    for (const url of ["collector", "localhost:4318", "http://[x", "ftp://127.0.0.1"]) {
      const sample = new Sample(url, { queue: 2 });
      sample.add(3);
      await sample.exporter.flush(60_000);
      assert.deepEqual(sample.exporter.counts, { exported: 0, dropped: 3 }, url);
      const again = new Sample(url);
      again.add(1);
      await again.exporter.flush(60_000);
      assert.match(String(again.reports[0]?.why), /must begin with http/, url);
    }
  });

  it("does not hold up the end of the program for a collector that is not there", async () => {
    const hours = 10 * 3_600_000;
    const sample = new Sample("http://127.0.0.1:1", { firstWait: hours, longestWait: hours });
    sample.add(2);
    await sample.exporter.flush(hours);
    assert.deepEqual(sample.exporter.counts, { exported: 0, dropped: 2 });
    assert.match(String(sample.reports[0]?.why), /ECONNREFUSED/);
  });

  it("gives up in time where the collector or the keychain is silent", async () => {
    await using silent = await SilentServer.open();
    const forever = new Promise<never>(() => {});
    for (const headers of [async () => ({}), () => forever]) {
      const sample = new Sample(silent.url, {}, headers);
      sample.add(2);
      await sample.exporter.flush(50);
      await sample.dropped(2);
      assert.match(String(sample.reports[0]?.why), /did not take them in time/);
      await sample.exporter.flush(60_000);
    }
  });

  it("says in words that the collector is silent", async () => {
    await using silent = await SilentServer.open();
    const sample = new Sample(silent.url, { timeout: 20, attempts: 1, batch: 1 });
    sample.add(1);
    await sample.dropped(1);
    assert.match(String(sample.reports[0]?.why), /: it did not answer within 0.02 s$/);
  });
});

/** Takes connections, and never answers. */
class SilentServer implements AsyncDisposable {
  readonly #server = createServer();

  static async open(): Promise<SilentServer> {
    const server = new SilentServer();
    server.#server.on("connection", (socket) => socket.on("error", () => {}).resume());
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }
}
