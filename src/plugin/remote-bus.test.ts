import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../test/support/requirement.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";
import { connectionTo } from "../../test/support/linked-plugin.ts";
import { FAILURE, failure } from "../protocol/bus/failure.ts";
import type { BusHandlers } from "../protocol/bus/serve.ts";
import type { RpcError } from "../rpc/rpc-error.ts";
import { Offer } from "../tool/offer/offer.ts";
import { ToolFault } from "../tool/tool.ts";
import { type RemoteBus, newRemoteBus } from "./remote-bus.ts";

function open(handlers: BusHandlers, patience = { call: 60_000, list: 60_000 }): RemoteBus {
  return newRemoteBus({
    patience,
    address: "localhost:50100",
    dial: () => connectionTo(handlers),
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

  it("answers with -32603 where the orchestrator never does: lists, calls and prompts", async () => {
    covers("bus.error.internal");
    const never = new Promise<never>(() => {});
    const silent: BusHandlers = {
      ...{ listTools: () => never, toolCall: () => never, promptGet: () => never },
      listPrompts: () => ({ case: "listPrompts", value: { prompts: [{ name: "p" }] } }),
    };
    const isInternal = (error: unknown): boolean => {
      const { code, message } = error as RpcError | ToolFault;
      assert.match(
        message,
        /^No answer from the orchestrator at localhost:50100 to .* within 1 ms/,
      );
      return code === -32_603;
    };
    await using bus = open(silent, { call: 1, list: 1 });
    const offer = new Offer();
    bus.offerIn(offer);
    await assert.rejects(async () => offer.known(), isInternal);
    const call = async () => bus.anyTool("x").call({}, new SampleContext());
    await assert.rejects(call, isInternal);
    // Its list of prompts is known, and the prompt itself never comes.
    const listing: BusHandlers = {
      ...silent,
      listTools: () => ({ case: "listTools", value: { tools: [] } }),
    };
    await using lists = open(listing, { call: 1, list: 60_000 });
    const listed = new Offer();
    lists.offerIn(listed);
    await listed.known();
    const get = async () => listed.prompts.get("p")?.get({}, new SampleContext());
    await assert.rejects(get, isInternal);
  });

  it("refuses an invalid address at once", () => {
    const options = { dial: () => assert.fail(), connected: () => {}, lost: () => {} };
    assert.throws(() => newRemoteBus({ address: "nowhere", ...options }), { code: "usage" });
  });
});
