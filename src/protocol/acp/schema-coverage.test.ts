import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { packages } from "../../../test/acp/oracle.ts";
import { V1 } from "./codec.ts";
import { CAPABILITIES } from "./connect.ts";
import { isObject, type JsonObject, objectOf } from "./methods.ts";
import { FORMS, updateForms } from "./update-forms.ts";
import { V2Codec } from "./v2/codec.ts";

type Definitions = Readonly<Record<string, JsonObject>>;

/** The definitions of the newest schema of a version, with what is unstable. */
async function definitions(version: 1 | 2): Promise<Definitions> {
  await packages.install();
  const sdk = "@agentclientprotocol/sdk";
  const path = packages.path(sdk, `schema/v${version}/schema.unstable.json`);
  return (JSON.parse(readFileSync(path, "utf8")) as { $defs: Definitions }).$defs;
}

/** The names of all updates of a schema. */
function kindsOf({ SessionUpdate }: Definitions): string[] {
  const { oneOf, anyOf } = SessionUpdate ?? {};
  return ((oneOf ?? anyOf) as JsonObject[]).flatMap(({ properties }) => {
    const { const: kind } = objectOf(objectOf(properties).sessionUpdate);
    return typeof kind === "string" ? [kind] : [];
  });
}

/** The paths of all capabilities that a definition has, such as `session.notices`. */
function pathsOf(all: Definitions, name: string, path = ""): string[] {
  const { properties } = all[name] ?? {};
  return Object.entries(objectOf(properties)).flatMap(([key, given]) => {
    if (key === "_meta") return [];
    const text = JSON.stringify(given);
    const [, next] = /"#\/\$defs\/(\w+)"/.exec(text) ?? [];
    const inner = next === undefined ? [] : pathsOf(all, next, `${path}${key}.`);
    return inner.length > 0 && !OPEN.has(next ?? "") ? inner : [`${path}${key}`];
  });
}

/** Capabilities with further members, which count as one here. */
const OPEN: ReadonlySet<string> = new Set(["SessionSystemPromptCapabilities"]);

function has(value: unknown, path: string): boolean {
  const found = path.split(".").reduce((of: unknown, key) => objectOf(of)[key], value);
  return found === true || isObject(found);
}

/** Why something is not carried, by its path. */
type Refused = Readonly<Record<string, string>>;

function check(announced: unknown, paths: readonly string[], refused: Refused): void {
  assert.ok(paths.length > 0);
  const lacking = paths.filter((path) => !has(announced, path));
  assert.deepEqual(lacking.toSorted(), Object.keys(refused).toSorted());
}

/** Updates that every client gets as the agent has sent them. */
const CARRIED = [
  ...["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "plan"],
  ...["available_commands_update", "current_mode_update", "session_info_update", "usage_update"],
];

const NOTHING_ANNOUNCED = {
  ...{ notices: false, compaction: false, plans: false, subagents: false, booleans: false },
  terminals: "text",
} as const;

/** Members of all kinds of updates. */
const ANY = {
  ...{ title: "t", status: "completed", toolCallId: "c", compactionId: "c", messageId: "m" },
  ...{ sessionId: "s/1", senderSessionId: "s/1", configOptions: [], summary: [] },
  plan: { type: "items", planId: "p", entries: [] },
  content: [{ type: "text", text: "x" }],
  _meta: { terminal_output_delta: { terminal_id: "t", data: "x" } },
};

/** Updates of version 2 that agents of version 1 have in another form. */
const ONLY_V2: Readonly<Record<string, string>> = {
  user_message: "a message comes in chunks",
  agent_message: "a message comes in chunks",
  agent_thought: "a thought comes in chunks",
  state_update: "made from the beginnings and ends of turns",
  tool_call_content_chunk: "the content of a tool call comes whole",
  terminal_update: "made from `_meta.terminal_info` and `terminal_exit` of a tool call",
  terminal_output_chunk: "made from `_meta.terminal_output_delta` of a tool call",
};

describe("the newest schemas, with what is unstable", () => {
  it("have no update that is neither carried nor translated", async () => {
    const kinds = kindsOf(await definitions(1));
    assert.deepEqual(kinds.toSorted(), [...CARRIED, ...Object.keys(FORMS)].toSorted());
    // What an update is translated into is one that all clients know.
    for (const kind of Object.keys(FORMS)) {
      const forms = updateForms(NOTHING_ANNOUNCED);
      for (const [, { sessionUpdate: name }] of forms.updates("s", {
        ...ANY,
        sessionUpdate: kind,
      })) {
        assert.ok([...CARRIED, "tool_call", "tool_call_update", kind].includes(name), kind);
        if (name === kind) assert.equal(FORMS[kind]?.needs === "subagents", false, kind);
      }
    }
    const v2 = kindsOf(await definitions(2)).filter((kind) => !kinds.includes(kind));
    assert.deepEqual(v2.toSorted(), Object.keys(ONLY_V2).toSorted());
  });

  it("have no capability of clients that agents are not told of", async () => {
    check(CAPABILITIES, pathsOf(await definitions(1), "ClientCapabilities"), {});
    assert.deepEqual(Object.keys(CAPABILITIES._meta), ["terminal_output_delta", "terminal-auth"]);
  });

  it("have no capability of agents that clients are not told of, without a reason", async () => {
    const systemPrompt = { mode: { override: {} } };
    const offer = {
      ...{ authMethods: [], hasProviders: true, takesClientServers: true },
      ...{ systemPrompt, authStatus: {} },
    };
    const info = { name: "t", version: "1" };
    check(
      V1.hello(info, offer).agentCapabilities,
      pathsOf(await definitions(1), "AgentCapabilities"),
      {
        "promptCapabilities.audio": "the built-in agent and the agents that were tried take none",
      },
    );
    const v2 = new V2Codec().hello(info, offer).capabilities;
    check(v2, pathsOf(await definitions(2), "AgentCapabilities"), {
      "session.prompt.audio": "the built-in agent and the agents that were tried take none",
    });
  });
});
