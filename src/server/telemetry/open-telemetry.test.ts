import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext } from "../../../test/samples/sample-context.ts";
import { OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import type { OtlpSettings } from "../../config/schema/schema.gen.ts";
import { errorResult, textResult } from "../../tool/tool.ts";
import { Toolbox } from "../../tool/toolbox.ts";
import { endpointOf, headersIn, openTelemetry } from "./open-telemetry.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("endpointOf()", () => {
  it("adds the path to a general address, and has the settings before the environment", () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
    const traces = { ...env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t/x" };
    assert.equal(endpointOf({}, {}), "http://127.0.0.1:4318/v1/traces");
    assert.equal(endpointOf({}, env), "http://collector:4318/v1/traces");
    assert.equal(endpointOf({}, traces), "http://t/x");
    assert.equal(endpointOf({ endpoint: "https://a/b" }, traces), "https://a/b/v1/traces");
    assert.equal(endpointOf({ endpoint: "https://a/v1/traces" }, {}), "https://a/v1/traces");
  });
});

describe("headersIn()", () => {
  it("reads pairs with encoded values", () => {
    assert.deepEqual(headersIn("api-key=a%20b, x = y=z ,nothing"), { "api-key": "a b", x: "y=z" });
    assert.deepEqual(headersIn(), {});
  });
});

describe("traces of tool calls", { timeout: 60_000 }, () => {
  async function traced(settings: OtlpSettings, receiver: OtlpReceiver): Promise<void> {
    const telemetry = openTelemetry({
      settings: { endpoint: receiver.url, ...settings },
      env: { OTEL_SERVICE_NAME: "app", OTEL_EXPORTER_OTLP_HEADERS: "x-team=a" },
      resolve: async (headers) => ({ ...headers, "x-key": "resolved" }),
      report: () => {},
    });
    const tools = new Toolbox({ observer: telemetry.calls });
    const inputSchema = { type: "object" };
    const secret = textResult("the token is ghp_abcdefghijklmnopqrstuvwx");
    tools.add({ definition: { name: "tell", inputSchema }, call: () => secret });
    tools.add({ definition: { name: "fail", inputSchema }, call: () => errorResult("no") });
    const meta = { traceparent: `00-${TRACE}-${SPAN}-01` };
    const args = { password: "hidden", file: "a.txt" };
    const context = (): SampleContext => {
      const made = new SampleContext({ session: "s-1" });
      Object.assign(made.meta, meta);
      return made;
    };
    await tools.call("tell", args, context());
    await tools.call("fail", {}, context());
    await assert.rejects(() => tools.call("nothing", {}, context()));
    await telemetry.flush?.();
    assert.deepEqual(telemetry.spans, { exported: 3, dropped: 0 });
  }

  it("have the names of the conventions, the caller's parent and no content", async () => {
    await using receiver = await OtlpReceiver.open();
    await traced({}, receiver);
    const [tell, fail, missing] = receiver.spans;
    assert.deepEqual(
      [tell?.name, tell?.traceId, tell?.parentSpanId],
      ["tools/call tell", TRACE, SPAN],
    );
    assert.equal(tell?.attributes["gen_ai.tool.name"], "tell");
    assert.equal(tell?.attributes["mcp.session.id"], "s-1");
    assert.deepEqual([tell?.status, tell?.service], [{}, "app"]);
    assert.deepEqual([fail?.attributes["error.type"], fail?.status.code], ["tool_error", 2]);
    assert.equal(missing?.attributes["error.type"], "refused");
    assert.doesNotMatch(JSON.stringify(receiver.spans), /hidden|a\.txt|the token/);
    assert.deepEqual(
      [receiver.headers[0]?.["x-team"], receiver.headers[0]?.["x-key"]],
      ["a", "resolved"],
    );
  });

  it("have arguments and results where that is asked for, with secrets masked", async () => {
    await using receiver = await OtlpReceiver.open();
    await traced({ content: true, serviceName: "other" }, receiver);
    const { attributes, service } = await receiver.span(({ name }) => name === "tools/call tell");
    assert.equal(service, "other");
    const args = { password: "•••", file: "a.txt" };
    assert.deepEqual(JSON.parse(String(attributes["gen_ai.tool.call.arguments"])), args);
    assert.match(String(attributes["gen_ai.tool.call.result"]), /the token is •••/);
  });
});
