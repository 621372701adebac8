import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../test/support/requirement.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";
import { memoryConnection } from "../../test/support/linked-plugin.ts";
import { FAILURE, failure } from "../protocol/bus/failure.ts";
import type { BusHandlers } from "../protocol/bus/serve.ts";
import { Offer } from "../tool/offer/offer.ts";
import { ToolFault } from "../tool/tool.ts";
import { RemoteBus } from "./remote-bus.ts";

function open(handlers: BusHandlers): RemoteBus {
  return new RemoteBus({
    address: "localhost:50100",
    dial: async () => memoryConnection(handlers),
    connected: () => {},
    lost: () => {},
  });
}

describe("RemoteBus", () => {
  it("offers each name once, as in the orchestrator's latest list", async () => {
    const names = [["a", "b", "a"], ["b"]];
    await using bus = open({
      listTools: () => ({
        case: "listTools",
        value: { tools: (names.shift() ?? []).map((name) => ({ name })) },
      }),
      listPrompts: () => ({ case: "listPrompts", value: { prompts: [{ name: "p" }] } }),
    });
    const offer = new Offer();
    bus.offerIn(offer);
    const listed = async () => {
      await offer.known();
      return offer.tools.listFor(new SampleContext()).map(({ definition }) => definition.name);
    };
    assert.deepEqual(await listed(), ["a", "b"]);
    assert.deepEqual(await listed(), ["b"]);
    assert.notEqual(offer.prompts.get("p"), undefined);
  });

  it("accepts an orchestrator that does not support prompts", async () => {
    const value = failure(FAILURE.unknownRequest, "unrecognized request type");
    await using bus = open({
      listTools: () => ({ case: "listTools", value: { tools: [] } }),
      listPrompts: () => ({ case: "toolCall", value }),
    });
    const offer = new Offer();
    bus.offerIn(offer);
    await offer.known();
    assert.deepEqual(offer.prompts.list(), []);
  });

  it("forwards calls of unlisted tools, and distinguishes a failure from an unknown tool", async () => {
    covers("bus.error.internal");
    await using bus = open({
      toolCall: ({ toolName }) => {
        if (toolName === "lost") return { case: "health", value: {} };
        const value = failure("not_found", "no such note");
        return { case: "toolCall", value };
      },
    });
    const failed = await bus.anyTool("read").call({}, new SampleContext());
    assert.equal(failed.isError, true);
    assert.equal(failed.content[0]?.text, "tool error: not_found");
    // Orchestra transport.stdio, Error Codes: -32603 for a failure of the orchestrator's.
    await assert.rejects(
      async () => bus.anyTool("lost").call({}, new SampleContext()),
      (error: unknown) => error instanceof ToolFault && error.code === -32_603,
    );
  });

  it("refuses an invalid address at once", () => {
    const options = { dial: () => assert.fail(), connected: () => {}, lost: () => {} };
    assert.throws(() => new RemoteBus({ address: "nowhere", ...options }), { code: "usage" });
  });
});
