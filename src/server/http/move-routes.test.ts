import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { Mover } from "../../session/open/move/mover.ts";
import { moveStep } from "./move-routes.ts";

describe("the steps of moves", () => {
  it("are so many at once for each principal, and never fewer for others", async () => {
    await using server = await SampleCommandLine.create();
    await using mover = await Mover.open((await server.home.load()).config, server.env);
    const step = async (id: string, move: string): Promise<void> => {
      const request = { method: "POST", url: "/" } as IncomingMessage;
      const both = { request, response: {} as ServerResponse };
      await moveStep({ mover, letGo: async () => {} }, `/moves/${move}/offer`, { id }, both);
    };
    const move = crypto.randomUUID();
    await assert.rejects(step("bob", "x".repeat(1000)), /There is no such step/);
    const taken = Array.from({ length: 18 }, () => mover.steps.enter({ key: "bob" }));
    await assert.rejects(step("bob", move), /Try again later/);
    await assert.rejects(step("eve", move), TypeError, "it got as far as the body");
    for (const each of taken) (await each)[Symbol.dispose]();
  });
});
