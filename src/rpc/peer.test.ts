import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ask, echoRoute } from "../../test/support/peer-fixtures.ts";
import { WireTap } from "../../test/support/wire-tap.ts";
import { TrunklineError } from "../base/errors.ts";
import { request } from "./method.ts";
import { route, routes } from "./route.ts";
import { RpcError } from "./rpc-error.ts";

describe("Peer", { timeout: 600_000 }, () => {
  it("answers each text with exactly this text", async () => {
    const table: [sent: string, answer: string][] = [
      // Ids come back as they went.
      [
        `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"a"}}`,
        `{"jsonrpc":"2.0","id":1,"result":{"text":"a"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":"1","method":"echo","params":{"text":"a"}}`,
        `{"jsonrpc":"2.0","id":"1","result":{"text":"a"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":-7,"method":"echo","params":{"text":"é🙂"}}`,
        `{"jsonrpc":"2.0","id":-7,"result":{"text":"é🙂"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":"","method":"echo","params":{"text":""}}`,
        `{"jsonrpc":"2.0","id":"","result":{"text":""}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":12345678901234567890,"method":"echo","params":{"text":"a"}}`,
        `{"jsonrpc":"2.0","id":12345678901234567890,"result":{"text":"a"}}`,
      ],
      [
        `{"method":"echo","params":{"text":"\\"id\\":2"},"jsonrpc":"2.0","id":1.5e300}`,
        `{"jsonrpc":"2.0","id":1.5e300,"result":{"text":"\\"id\\":2"}}`,
      ],
      // The standard errors.
      [
        `{"jsonrpc":"2.0","id":1,"method":"nope"}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: 'params.text' must be a string"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1,"method":"echo"}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: 'params.text' must be a string"}}`,
      ],
      [
        `{"jsonrpc":"1.0","id":1,"method":"echo"}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: 'jsonrpc' must be \\"2.0\\""}}`,
      ],
      [
        `{"id":"x","method":"echo"}`,
        `{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"Invalid Request: 'jsonrpc' must be \\"2.0\\""}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":{},"method":"echo"}`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: 'id' must be a string or a number"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":null,"method":"echo"}`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: 'id' must be a string or a number"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1,"method":5}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: 'method' must be a string"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: 'method' is missing"}}`,
      ],
      [
        `17`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: message must be an object"}}`,
      ],
      [
        `[]`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batch is empty"}}`,
      ],
    ];
    await using tap = new WireTap(routes(echoRoute));
    for (const [sent, answer] of table) assert.deepEqual(await tap.exchange([sent]), [answer]);
  });

  it("answers text that is not JSON with -32700 and a null id, and continues", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const answers = await tap.exchange(["{oops", "", ask(1, "echo", { text: "still here" })]);
    const [first, second, last] = answers.map((text) => JSON.parse(text));
    for (const parse of [first, second]) {
      assert.equal(parse.error.code, -32700);
      assert.equal(parse.error.message, "Parse error");
      assert.equal(parse.id, null);
    }
    assert.deepEqual(last.result, { text: "still here" });
  });

  it("never answers a notification, known or unknown, valid or invalid", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const silent = [
      { jsonrpc: "2.0", method: "echo", params: { text: "a" } },
      { jsonrpc: "2.0", method: "echo", params: {} },
      { jsonrpc: "2.0", method: "nope" },
    ];
    const answers = await tap.exchange([...silent, ask(1, "echo", { text: "b" })], 1);
    assert.equal(answers.length, 1);
    assert.equal(JSON.parse(answers[0] ?? "").id, 1);
  });

  it("treats a null id as a notification if the dialect says so", async () => {
    await using tap = new WireTap(routes(echoRoute), { dialect: { nullIdIsNotification: true } });
    const [answer] = await tap.exchange(
      [ask(null, "echo", { text: "a" }), ask(2, "echo", { text: "b" })],
      1,
    );
    assert.equal(JSON.parse(answer ?? "").id, 2);
  });

  it("answers a batch with one array, in any order, without the notifications", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const batch = [
      ask(1, "echo", { text: "a" }),
      { jsonrpc: "2.0", method: "echo" },
      5,
      ask("2", "nope"),
    ];
    const [answer] = await tap.exchange([batch], 1);
    const answers = JSON.parse(answer ?? "") as { id: unknown }[];
    assert.deepEqual(
      answers.map(({ id }) => id),
      [1, null, "2"],
    );
    const [next] = await tap.exchange(
      [[{ jsonrpc: "2.0", method: "echo" }], ask(9, "echo", { text: "b" })],
      1,
    );
    assert.equal(JSON.parse(next ?? "").id, 9);
  });

  it("refuses batches if the dialect has none", async () => {
    await using tap = new WireTap(routes(echoRoute), { dialect: { batches: false } });
    const [answer] = await tap.exchange([[ask(1, "echo", { text: "a" })]]);
    assert.match(
      answer ?? "",
      /"id":null,"error":{"code":-32600,"message":"Invalid Request: batches/,
    );
  });

  it("sends the message of an expected failure, and only an id for a bug", async () => {
    const fail = (name: string, error: unknown) =>
      route<unknown, never, undefined>(request(name), () => {
        throw error;
      });
    await using tap = new WireTap(
      routes(
        fail("wire", new RpcError(-31900, "Session not found", { sessionId: "x" })),
        fail("ours", new TrunklineError("not-found", "Cannot find 'x'")),
        fail("fault", new Error("secret path /home/me")),
        route(request<unknown>("cyclic"), () => {
          const cycle: Record<string, unknown> = {};
          return Object.assign(cycle, { cycle });
        }),
      ),
    );
    const answers = await tap.exchange(
      ["wire", "ours", "fault", "cyclic"].map((name, i) => ask(i, name)),
    );
    const [wire, ours, fault, cyclic] = answers.map((text) => JSON.parse(text).error);
    assert.deepEqual(wire, {
      code: -31900,
      message: "Session not found",
      data: { sessionId: "x" },
    });
    assert.equal(ours.message, "Invalid params: Cannot find 'x'");
    assert.equal(fault.message, "Internal error");
    assert.equal(cyclic.code, -32603);
    assert.ok(!answers.join().includes("secret"));
    const report = tap.reports.find(
      ([, fields]) => fields.correlationId === fault.data.correlationId,
    );
    assert.match(String(report?.[1].error), /secret path/);
  });

  it("answers a message over the channel's limit with its id, wherever that is", async () => {
    await using tap = new WireTap(routes(echoRoute), { channel: { maxMessage: 10_000 } });
    const text = "x".repeat(20_000);
    const answers = await tap.exchange([
      JSON.stringify({ jsonrpc: "2.0", id: "first", method: "echo", params: { text } }),
      JSON.stringify({ jsonrpc: "2.0", method: "echo", params: { text, id: 7 }, id: 42 }),
      JSON.stringify({ jsonrpc: "2.0", method: "echo", params: { text, id: 7 } }),
      ask(3, "echo", { text: "fits" }),
    ]);
    const [first, second, third, fits] = answers.map((answer) => JSON.parse(answer));
    assert.deepEqual([first.id, second.id, third.id], ["first", 42, null]);
    assert.equal(first.error.code, -32600);
    assert.equal(first.error.data.limit, 10_000);
    assert.deepEqual(fits.result, { text: "fits" });
  });
});
