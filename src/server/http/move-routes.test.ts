import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { MovingRig, SESSION } from "../../../test/support/moving-rig.ts";
import { untilAborted } from "../../base/abort.ts";
import { Mover } from "../../session/open/move/mover.ts";
import { moveStep, type MoveContext } from "./move-routes.ts";

describe("the steps of moves", () => {
  it("are so many at once for each principal, and never fewer for others", async () => {
    await using server = await SampleCommandLine.create();
    await using mover = await Mover.open((await server.home.load()).config, server.env);
    const step = async (id: string, move: string): Promise<void> => {
      const request = { method: "POST", url: "/" } as IncomingMessage;
      const both = { request, response: {} as ServerResponse };
      await moveStep(
        { mover, letGo: async () => {}, ready: async () => {} },
        `/moves/${move}/offer`,
        { id },
        both,
      );
    };
    const move = crypto.randomUUID();
    await assert.rejects(step("bob", "x".repeat(1000)), /There is no such step/);
    const taken = Array.from({ length: 18 }, () => mover.steps.enter({ key: "bob" }));
    await assert.rejects(step("bob", move), /Try again later/);
    await assert.rejects(step("eve", move), TypeError, "it got as far as the body");
    for (const each of taken) (await each)[Symbol.dispose]();
  });

  it("wait for no tool call once the other side has gone", async () => {
    await using rig = await MovingRig.create(1);
    await using mover = await Mover.open((await rig.laptop.home.load()).config, rig.laptop.env);
    const body = JSON.stringify({ session: SESSION, key: "k", have: "" });
    const request = Readable.from([Buffer.from(body)]);
    Object.assign(request, { method: "POST", url: "/", headers: {} });
    const response = new EventEmitter();
    const asked = Promise.withResolvers<void>();
    const letGo: MoveContext["letGo"] = async (_id, _interrupts, signal) => {
      asked.resolve();
      await untilAborted(new Promise(() => {}), signal);
    };
    const both = { request, response } as unknown as Parameters<typeof moveStep>[3];
    const path = `/moves/${crypto.randomUUID()}/leave`;
    const step = moveStep({ mover, letGo, ready: async () => {} }, path, { id: "" }, both);
    await asked.promise;
    response.emit("close");
    await assert.rejects(step, /Nobody waits for the move/);
    assert.equal(mover.steps.running, 0);
  });
});
