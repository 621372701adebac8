import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { ToolDefinitionSchema, ToolRequestSchema } from "../plugin.gen.ts";
import {
  fromBusTool,
  fromToolRequest,
  isIdempotent,
  toBusTool,
  toToolRequest,
} from "./tool-shape.ts";

const SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

describe("fromBusTool()", () => {
  it("has a member for each field", () => {
    covers("bus.tools-list.name", "bus.tools-list.description");
    covers("bus.tools-list.schema");
    const description = "Create a new project workspace";
    const tool = create(ToolDefinitionSchema, {
      name: "create_project",
      description,
      inputSchema: SCHEMA,
    });
    assert.deepEqual(fromBusTool(tool), {
      name: "create_project",
      description,
      inputSchema: SCHEMA,
    });
  });

  it("gives a tool without a schema that of any object", () => {
    const bare = create(ToolDefinitionSchema, { name: "bare" });
    assert.deepEqual(fromBusTool(bare), { name: "bare", inputSchema: { type: "object" } });
    const inputSchema = { properties: { a: {} } };
    const untyped = create(ToolDefinitionSchema, { name: "untyped", inputSchema });
    assert.deepEqual(fromBusTool(untyped).inputSchema, { type: "object", ...inputSchema });
  });
});

describe("toBusTool()", () => {
  it("is restored unchanged, except for what the bus cannot carry", () => {
    const tool = { name: "t", title: "T", description: "Does it", inputSchema: SCHEMA };
    const { title: _, ...rest } = tool;
    assert.deepEqual(fromBusTool(create(ToolDefinitionSchema, toBusTool(tool))), rest);
  });

  it("marks an idempotent tool in its schema, which clients see as a hint only", () => {
    const annotations = { idempotentHint: true };
    const tool = { name: "t", inputSchema: SCHEMA, annotations };
    const sent = toBusTool(tool);
    assert.deepEqual(sent.inputSchema, { ...SCHEMA, "x-idempotent": true });
    assert.deepEqual(fromBusTool(create(ToolDefinitionSchema, sent)), tool);
    assert.equal(isIdempotent(tool), true);
    assert.equal(isIdempotent({ name: "t", inputSchema: SCHEMA }), false);
  });

  it("uses the title as the description if there is no other", () => {
    const tool = { name: "t", title: "Tidy up", inputSchema: SCHEMA };
    assert.equal(toBusTool(tool).description, "Tidy up");
  });
});

describe("toToolRequest()", () => {
  it("names the stdio transport as the caller unless another is named", () => {
    covers("bus.tools-call.tool-name", "bus.tools-call.caller");
    const args = { project_id: "my-app", title: "Add login page" };
    assert.deepEqual(toToolRequest({ name: "create_feature", args }), {
      toolName: "create_feature",
      arguments: args,
      callerPlugin: "transport.stdio",
    });
    assert.equal(toToolRequest({ name: "t", caller: "tools.a" }).callerPlugin, "tools.a");
  });

  it("names the argument that cannot be sent", () => {
    assert.throws(() => toToolRequest({ name: "t", args: { n: Infinity } }), {
      message:
        "Cannot send this over the bus: 'arguments.n' is Infinity, which JSON cannot express",
    });
  });

  it("is understood by fromToolRequest()", () => {
    const call = {
      name: "ask",
      args: { q: "?" },
      caller: "tools.a",
      session: "s1",
      project: "/srv/app",
      provider: "claude",
      traceParent: "00-1-2-01",
    };
    assert.deepEqual(fromToolRequest(create(ToolRequestSchema, toToolRequest(call))), call);
    const bare = create(ToolRequestSchema, { toolName: "t" });
    assert.deepEqual(fromToolRequest(bare), { name: "t", args: {}, caller: "" });
  });
});
