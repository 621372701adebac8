import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Json } from "../support/acp-house.ts";
import type { AcpSocket } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

function promptOf(sessionId: string, text: string): object {
  return { sessionId, prompt: [{ type: "text", text }] };
}

function questionsOf({ messages }: AcpSocket): Json[] {
  return messages.filter(({ method }) => method === "session/request_permission");
}

describe("the nodes of a fleet", { skip: noNats, timeout: 600_000 }, () => {
  it("keep a question over the end of a gateway, and then of the worker", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const [one, two] = [await rig.gateway("g1"), await rig.gateway("g2")];
    using first = await rig.client(one);
    const place = { cwd: rig.folder, mcpServers: [] };
    const { sessionId } = await first.ask("session/new", place);
    first.send("session/prompt", promptOf(sessionId, "permission"));
    await first.until((client) => questionsOf(client)[0]);
    await rig.kill("g1");
    using second = await rig.client(two);
    await second.ask("session/load", { ...place, sessionId });
    const still = await second.until((client) => questionsOf(client)[0]);
    await rig.worker("w2");
    await rig.kill("w1");
    const again = await second.until((client) => questionsOf(client)[1]);
    assert.deepEqual(again.params.toolCall, still.params.toolCall);
    const result = { outcome: { outcome: "selected", optionId: "once" } };
    second.socket.send(JSON.stringify({ jsonrpc: "2.0", id: again.id, result }));
    await second.ask("session/prompt", promptOf(sessionId, "permission"));
    assert.equal(questionsOf(second).length, 2);
    assert.match(second.text, /"optionId":"once"/);
  });

  it("record one trace of a prompt: gateway, worker and agent", async () => {
    await using receiver = await OtlpReceiver.open();
    await using rig = await FleetRig.start();
    for (const serviceName of ["g1", "w1"]) {
      const otlp = { enabled: true, endpoint: receiver.url, serviceName };
      rig.configure(serviceName, { telemetry: { otlp } });
    }
    await rig.worker("w1");
    using client = await rig.client(await rig.gateway("g1"));
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    const _meta = { traceparent: `00-${TRACE}-${SPAN}-01` };
    await client.ask("session/prompt", { ...promptOf(sessionId, "meta"), _meta });
    const isOf = (service: string, kind?: number) => (span: Json) =>
      span.service === service && span.traceId === TRACE && span.kind === (kind ?? span.kind);
    const passed = await receiver.span(isOf("g1"));
    const turn = await receiver.span(isOf("w1", 2));
    const asked = await receiver.span(isOf("w1", 3));
    assert.deepEqual(
      [passed.parentSpanId, turn.parentSpanId, asked.parentSpanId],
      [SPAN, passed.spanId, turn.spanId],
    );
    await client.until(({ text }) => (text.includes(asked.spanId) ? true : undefined));
  });

  it("end in words if another has their name, and may be restarted at once", async () => {
    await using rig = await FleetRig.start();
    const first = await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    const second = await rig.worker("w2", "--name", "w1");
    assert.equal(await second.exit, 1);
    assert.match(second.stderr, /Cannot be node 'w1': another worker of pool 'default' has that/);
    await first.says(/fleet\.same-name/);
    const third = await rig.gateway("g2", "--name", "g1");
    assert.equal(await third.program.exit, 1);
    assert.match(third.program.stderr, /Cannot be node 'g1': another gateway of pool 'default'/);
    await rig.kill("w1");
    await rig.worker("w1");
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await client.ask("session/prompt", promptOf(sessionId, "say here"));
    assert.match(client.text, /here/);
  });
});
