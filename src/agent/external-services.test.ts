import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DrivenAgent } from "../../test/agent/driven-agent.ts";
import { CAPABILITIES } from "../protocol/acp/connect.ts";

describe("requests of an external agent", { timeout: 30_000 }, () => {
  it("are announced as supported", async () => {
    await using driven = await DrivenAgent.open();
    assert.deepEqual(JSON.parse(await driven.say("capabilities")), CAPABILITIES);
  });

  it("reach a client that can show forms, and are cancelled if there is none", async () => {
    await using none = await DrivenAgent.open({ elicitation: { url: {} } });
    assert.deepEqual(JSON.parse(await none.say("form")), { action: "cancel" });
    assert.ok(!none.client.messages.some(({ method }) => method === "elicitation/create"));
    await using driven = await DrivenAgent.open({ elicitation: { form: {} } });
    const accepted = { action: "accept", content: { name: "x" } };
    driven.client.answer = () => ({ result: accepted });
    assert.deepEqual(JSON.parse(await driven.say("form")), accepted);
    const { params } = await driven.client.request("elicitation/create");
    assert.equal(params.sessionId, driven.sessionId);
    assert.deepEqual(JSON.parse(await driven.say("form outside")), { action: "cancel" });
  });
});
