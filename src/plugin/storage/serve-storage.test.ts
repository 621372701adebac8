import assert from "node:assert/strict";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { TrunklineError } from "../../base/errors.ts";
import {
  bodyOf,
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
} from "../../protocol/bus/codec.ts";
import type { RequestInit } from "../../protocol/bus/codec.ts";
import type { PluginResponse } from "../../protocol/bus/plugin.gen.ts";
import type { BusCall } from "../../protocol/bus/serve.ts";
import { serveStorage } from "./serve-storage.ts";
import type { Storage } from "./storage.ts";
import { SampleStorage } from "../../../test/samples/sample-storage.ts";

type Asked = NonNullable<RequestInit["request"]>;

/** Storage as it is reached over the bus, both ways encoded. */
class BusStorage implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #storages = new Map<string, Storage>();
  readonly reported: string[] = [];

  static async open(): Promise<BusStorage> {
    const bus = new BusStorage();
    for (const kind of ["markdown", "other"]) {
      bus.#storages.set(kind, bus.#stack.use(await SampleStorage.open()).storage);
    }
    return bus;
  }

  async ask(request: Asked): Promise<PluginResponse["response"]> {
    const handlers = serveStorage({
      storageFor: (type) => {
        const storage = this.#storages.get(type);
        if (storage === undefined) throw new TrunklineError("not-found", `No storage '${type}'`);
        return storage;
      },
      report: (event, fields) => this.reported.push(`${event}: ${String(fields.reason)}`),
    });
    const asked = decodeRequest(bodyOf(encodeRequest({ request }))).request;
    const handler = handlers[asked.case as keyof typeof handlers] as (
      value: unknown,
      call: BusCall,
    ) => Promise<never>;
    const response = await handler(asked.value, {} as BusCall);
    return decodeResponse(bodyOf(encodeResponse({ response }))).response;
  }

  /** The value of the answer, without what the library adds. */
  async value(request: Asked): Promise<Record<string, unknown>> {
    const { $typeName: _, ...value } = (await this.ask(request)).value as never as Record<
      string,
      unknown
    >;
    return value;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const content = new Uint8Array(Buffer.from("# Title\n"));

describe("serveStorage()", () => {
  for (const storageType of ["", "markdown", "other"]) {
    it(`writes, reads, lists and deletes, kind '${storageType}'`, async () => {
      covers("bus.storage.read", "bus.storage.write", "bus.storage.delete");
      covers("bus.storage.list");
      await using bus = await BusStorage.open();
      const path = "a/b.md";
      const metadata = { n: 1, deep: { list: [null, true, "é"] } };
      const value = { path, content, metadata, expectedVersion: 0n, storageType };
      assert.deepEqual(await bus.value({ case: "storageWrite", value }), {
        success: true,
        newVersion: 1n,
        error: "",
      });
      assert.deepEqual(await bus.value({ case: "storageRead", value: { path, storageType } }), {
        content: Buffer.from(content),
        metadata,
        version: 1n,
      });
      const listed = await bus.ask({ case: "storageList", value: { prefix: "a", storageType } });
      assert.equal(listed.case, "storageList");
      const [entry] = listed.value.entries;
      assert.deepEqual([entry?.path, entry?.version], [path, 1n]);
      assert.ok(entry!.size >= content.length);
      assert.ok(Math.abs(timestampDate(entry!.modifiedAt!).getTime() - Date.now()) < 60_000);
      for (const success of [true, false]) {
        const answer = await bus.value({ case: "storageDelete", value: { path, storageType } });
        assert.deepEqual(answer, { success });
      }
    });
  }

  it("uses the Markdown folder if no kind is named", async () => {
    covers("bus.route.storage");
    await using bus = await BusStorage.open();
    await bus.ask({ case: "storageWrite", value: { path: "a.md", content } });
    const value = { path: "a.md" };
    const read = (storageType: string): Promise<Record<string, unknown>> =>
      bus.value({ case: "storageRead", value: { ...value, storageType } });
    assert.equal((await read("markdown")).version, 1n);
    assert.equal((await read("other")).version, 0n);
  });

  it("answers with nothing at version 0 for a missing document", async () => {
    covers("bus.storage.read");
    await using bus = await BusStorage.open();
    const answer = await bus.ask({ case: "storageRead", value: { path: "none.md" } });
    assert.equal(answer.case, "storageRead");
    assert.deepEqual([answer.value.content.length, answer.value.metadata], [0, undefined]);
    assert.equal(answer.value.version, 0n);
    const list = await bus.value({ case: "storageList", value: { prefix: "none" } });
    assert.deepEqual(list, { entries: [] });
  });

  it("reports why it did not write", async () => {
    covers("bus.storage.write");
    await using bus = await BusStorage.open();
    const write = async (value: object): Promise<unknown> => {
      const answer = await bus.value({ case: "storageWrite", value: { content, ...value } });
      assert.deepEqual([answer.success, answer.newVersion], [false, 0n]);
      return answer.error;
    };
    assert.match(
      String(await write({ path: "a.md", expectedVersion: 3n })),
      /version conflict: expected version 3, but there is none/,
    );
    assert.match(String(await write({ path: "../a.md" })), /'\.\.' could lead out/);
    assert.match(
      String(await write({ path: "a.md", expectedVersion: 2n ** 63n - 1n })),
      /Expect -1 \(anything\), 0 \(nothing\) or a version/,
    );
    assert.match(String(await write({ path: "a.md", expectedVersion: -2n })), /Expect -1/);
    assert.equal(await write({ path: "a.md", storageType: "tape" }), "No storage 'tape'");
  });

  it("reports that it did not delete, and logs why", async () => {
    covers("bus.storage.delete");
    await using bus = await BusStorage.open();
    const answer = await bus.value({ case: "storageDelete", value: { path: "../a.md" } });
    assert.deepEqual(answer, { success: false });
    assert.match(bus.reported.join(), /^bus\.not-deleted: Cannot use the path "\.\.\/a\.md"/);
  });

  it("throws if reading or listing fails, so that the answer says why", async () => {
    await using bus = await BusStorage.open();
    await assert.rejects(bus.ask({ case: "storageRead", value: { path: "/etc/passwd" } }), {
      code: "usage",
    });
    const value = { prefix: "", pattern: "[" };
    await assert.rejects(bus.ask({ case: "storageList", value }), { code: "usage" });
  });
});
