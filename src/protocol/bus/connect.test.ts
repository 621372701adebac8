import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../../base/abort.ts";
import { connectionTo } from "../../../test/support/linked-plugin.ts";
import { covers } from "../../../test/support/requirement.ts";
import { until } from "../../../test/support/until.ts";
import { memoryConnection } from "../../plugin/sdk/test/memory-connection.ts";
import type { BidiStream } from "../../wire/quic/connection.ts";
import { bodyOf, decodeRequest, encodeResponse } from "./codec.ts";
import { BusClient, LostError } from "./connect.ts";

const HEALTH = { case: "health", value: {} } as const;
const WELL = { case: "health", value: { message: "well" } } as const;

/** A client whose requests meet what is done with their streams, one after another. */
function meeting(...acts: ((stream: BidiStream) => unknown)[]): BusClient {
  let at = 0;
  const serve = (stream: BidiStream): void => void acts[Math.min(at++, acts.length - 1)]?.(stream);
  return new BusClient({ name: "It", dial: () => memoryConnection(serve) });
}

/** Answers with the id that it makes of the request's. */
function answering(idOf: (id: string) => string) {
  return async (stream: BidiStream): Promise<void> => {
    const { requestId } = decodeRequest(bodyOf(await stream.readAll(10_000)));
    await stream.end(encodeResponse({ requestId: idOf(requestId), response: WELL }));
  };
}

describe("BusClient", { timeout: 30_000 }, () => {
  it("accepts an answer with its request's id, or without an id, and no other", async () => {
    await using client = meeting(
      answering((id) => id),
      answering(() => ""),
      answering(() => "another"),
    );
    assert.equal((await client.ask(HEALTH)).response.case, "health");
    assert.equal((await client.ask(HEALTH)).response.case, "health");
    await assert.rejects(client.ask(HEALTH), /gave the answer to 'another', not to 'trunkline-3'/);
  });

  it("sends the end of its request with the last bytes", async () => {
    covers("bus.stream.fin");
    const sent: string[] = [];
    const connection = await connectionTo({ health: () => WELL });
    const openStream = connection.openStream.bind(connection);
    connection.openStream = () => {
      const stream = openStream();
      const end = stream.end.bind(stream);
      stream.write = async () => void sent.push("write");
      stream.end = (bytes) => {
        sent.push(`end ${(bytes?.length ?? 0) > 4}`);
        return end(bytes);
      };
      return stream;
    };
    await using client = new BusClient({ name: "It", dial: async () => connection });
    await client.ask(HEALTH);
    assert.deepEqual(sent, ["end true"]);
  });

  it("reports a lost request that may have been carried out, and repeats only harmless ones", async () => {
    const reset = (stream: BidiStream): void => stream.reset();
    await using once = meeting(reset);
    await assert.rejects(once.ask(HEALTH), (error: unknown) => {
      assert.ok(error instanceof LostError);
      assert.match(
        error.message,
        /^It aborted the exchange before it had answered: .* may or may not have been/,
      );
      return true;
    });
    await using twice = meeting(
      reset,
      answering((id) => id),
    );
    assert.equal((await twice.ask(HEALTH, { again: true })).response.case, "health");
  });

  it("aborts a request that takes too long, or is cancelled", async () => {
    const broken: Error[] = [];
    const silent = (stream: BidiStream): void => {
      onAbort(stream.signal, (reason) => broken.push(reason));
    };
    await using client = meeting(silent);
    await assert.rejects(client.ask(HEALTH, { timeout: 10 }), {
      code: "timeout",
      message: "No answer from it to 'health' within 10 ms",
    });
    const controller = new AbortController();
    const asked = client.ask(HEALTH, { signal: controller.signal });
    await until(() => broken.length >= 1);
    controller.abort(new Error("enough"));
    await assert.rejects(asked, /enough/);
    await until(() => broken.length >= 2);
  });

  it("reads no more of an answer than its limit", async () => {
    await using client = new BusClient({
      name: "It",
      dial: () =>
        connectionTo({
          health: () => ({ case: "health", value: { message: "x".repeat(5_000) } }),
        }),
    });
    await assert.rejects(client.ask(HEALTH, { most: 1_000 }), {
      code: "limit",
      message: /^It gave no answer that can be read/,
    });
  });

  it("reports what is wrong with an invalid answer", async () => {
    await using client = meeting((stream) => stream.end(Buffer.of(0, 0, 0, 9, 1)));
    await assert.rejects(client.ask(HEALTH), /Cannot read a frame: only 1 of its 9 bytes came/);
  });
});
