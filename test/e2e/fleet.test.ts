import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";

function promptOf(sessionId: string, text: string): object {
  return { sessionId, prompt: [{ type: "text", text }] };
}

describe("a fleet", { skip: noNats, timeout: 120_000 }, () => {
  it("opens sessions in workers, for clients of any gateway", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const [one, two] = [await rig.gateway("g1"), await rig.gateway("g2")];
    using first = await rig.client(one);
    const { sessionId } = await first.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await first.ask("session/prompt", promptOf(sessionId, "say hello"));
    assert.match(first.text, /hello/);
    using second = await rig.client(two);
    await second.ask("session/load", { sessionId, cwd: rig.folder, mcpServers: [] });
    assert.match(second.text, /hello/);
    const { sessions } = await second.ask("session/list", {});
    assert.deepEqual(
      sessions.map((session: { sessionId: string }) => session.sessionId),
      [sessionId],
    );
    await second.ask("session/prompt", promptOf(sessionId, "say again"));
    await first.until(({ text }) => (text.includes("again") ? true : undefined));
  });

  it("continues a session on another worker when its worker is killed, and reports the turn", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await client.ask("session/prompt", promptOf(sessionId, "say before"));
    await rig.worker("w2");
    const running = client.answer("session/prompt", promptOf(sessionId, "forever"));
    await client.until(({ text }) => (text.includes("20 ") ? true : undefined));
    await rig.kill("w1");
    const { error } = await running;
    assert.deepEqual(error?.data, { interrupted: true });
    await client.ask("session/prompt", promptOf(sessionId, "say after"));
    assert.match(client.text, /before[^]*20 [^]*after/);
    using later = await rig.client(gateway);
    await later.ask("session/load", { sessionId, cwd: rig.folder, mcpServers: [] });
    await later.until(({ text }) => (text.includes("after") ? true : undefined));
  });
});
