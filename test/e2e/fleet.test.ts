// Long: a fleet with its NATS server.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { DRAINED } from "../../src/cli/worker/worker.ts";
import type { Json } from "../support/acp-app.ts";
import { promptOf } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import type { ServedGateway } from "../support/served-gateway.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

// Each test leaves a worker to the next.
describe("a fleet", { skip: noNats, timeout: 600_000 }, () => {
  let receiver: OtlpReceiver;
  let rig: FleetRig;
  let gateway: ServedGateway;
  before(async () => {
    receiver = await OtlpReceiver.open();
    rig = await FleetRig.start();
    for (const serviceName of ["g1", "w1"]) {
      const otlp = { enabled: true, endpoint: receiver.url, serviceName };
      rig.configure(serviceName, { telemetry: { otlp } });
    }
    await rig.worker("w1");
    gateway = await rig.gateway("g1");
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  it("records one trace of a prompt: gateway, worker and agent", async () => {
    using client = await rig.client(gateway);
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

  it("continues a session on another worker when its worker is killed, and reports the turn", async () => {
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

  it("keeps asking for a permission when the worker is killed, and takes the answer", async () => {
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await rig.worker("w3");
    client.send("session/prompt", promptOf(sessionId, "permission"));
    await client.until((each) => each.questions[0]);
    await rig.kill("w2");
    const again = await client.until((each) => each.questions[1]);
    client.choose(again, "once");
    await client.ask("session/prompt", promptOf(sessionId, "permission"));
    assert.equal(client.questions.length, 2);
    assert.match(client.text, /"optionId":"once"/);
  });

  it("has a worker end that is drained, with an exit code of its own", async () => {
    const last = await rig.worker("w4");
    await using drain = rig.command(["worker", "drain"], "w4");
    assert.equal(await drain.exit, 0, drain.stderr);
    assert.equal(await last.exit, DRAINED);
    assert.deepEqual(drain.lines.at(-1), "w4 has ended.");
  });
});
