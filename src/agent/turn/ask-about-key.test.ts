import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { maskWhole } from "../../base/text/mask.ts";
import { Log } from "../../base/log.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";
import { Models } from "../models/models.ts";

const REFUSED: Scripted = { error: { message: "token expired" }, status: 401 };
const RETRY = { outcome: "selected", optionId: "retry", kind: "allow_once" } as const;

describe("a key that a provider refuses", () => {
  it("is a question, after which the turn goes on where it was", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
      REFUSED,
      { content: "It says one." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const { turn, end } = await rig.turn({ prompt: "go", decide: () => RETRY });
    assert.deepEqual([end.stopReason, turn.text], ["end_turn", "It says one."]);
    const [asked] = turn.asked;
    assert.match(String(asked?.toolCall.title), /gpt-4 refused the key\. Try again\?/);
    assert.match(
      JSON.stringify(asked?.toolCall.content),
      /status 401: token expired.*model key set/,
    );
    assert.deepEqual(
      asked?.options.map(({ optionId, kind }) => [optionId, kind]),
      [
        ["retry", "allow_once"],
        ["stop", "reject_once"],
      ],
    );
    assert.match(llm.seen(2), /tool: .*one/);
  });

  it("fails the turn with -32000 if the person stops, and is asked about only so often", async () => {
    await using llm = await FakeLlm.start([REFUSED]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    await assert.rejects(rig.turnOf(session, { prompt: "go", decide: () => REJECT }), {
      code: -32000,
    });
    assert.equal(llm.requests.length, 1);
    await assert.rejects(rig.turnOf(session, { prompt: "go", decide: () => RETRY }), {
      code: -32000,
    });
    assert.equal(llm.requests.length, 5);
  });

  it("is replaced by the one in the keychain, also if the environment has an old one", async () => {
    const keys = new Map<string, string>();
    const env: Record<string, string> = { OPENAI_API_KEY: "old-key-0123456789" };
    await using llm = await FakeLlm.start([REFUSED, { content: "Hi." }]);
    env.OPENAI_BASE_URL = `${llm.url}/v1`;
    const models = new Models({
      find: (name) => env[name],
      findLater: async () => keys,
      settings: { local: false },
      log: new Log("error", () => {}),
    });
    await using rig = new AgentRig({ models });
    const decide = () => {
      keys.set("OPENAI_API_KEY", "new-key-0123456789");
      return RETRY;
    };
    const { turn } = await rig.turn({ prompt: "go", decide });
    assert.equal(turn.text, "Hi.");
    assert.equal(maskWhole("with new-key-0123456789"), "with •••");
  });
});
