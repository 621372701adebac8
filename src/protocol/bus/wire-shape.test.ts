import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { covers } from "../../../test/support/requirement.ts";
import { file_orchestra_plugin_v1_plugin as FILE } from "./plugin.gen.ts";
import { checkWire } from "./wire-check.ts";

/**
 * Orchestra's messages: the number, the name and, unless it is a text, the type of each field. Ours
 * may have more of them, under numbers that are not taken.
 */
const MESSAGES = {
  PluginManifest:
    "1 id 2 version 3 language 4 provides_tools[] 5 provides_events[] 6 provides_storage[] 7 provides_transport[] 8 provides_ai[] 9 needs_storage[] 10 needs_events[] 11 needs_ai[] 12 needs_tools[] 13 description 14 author 15 binary 16 args[] 17 env:map 18 provides_prompts[]",
  RegistrationResult: "1 accepted:bool 2 reject_reason",
  BootRequest: "1 config:map",
  BootResult: "1 ready:bool 2 error",
  ShutdownRequest: "1 timeout_seconds:int32",
  ShutdownResult: "1 clean:bool",
  HealthResult: "1 status:enum 2 message 3 details:map",
  ToolRequest:
    "1 tool_name 2 arguments:Struct 3 caller_plugin 4 trace_parent 5 provider 6 session_id",
  ToolResponse: "1 success:bool 2 result:Struct 3 error_code 4 error_message",
  ListToolsResponse: "1 tools:ToolDefinition[]",
  ToolDefinition: "1 name 2 description 3 input_schema:Struct",
  PromptGetRequest: "1 prompt_name 2 arguments:map",
  PromptGetResponse: "1 description 2 messages:PromptMessage[]",
  PromptMessage: "1 role 2 content:ContentBlock",
  ContentBlock: "1 type 2 text",
  ListPromptsResponse: "1 prompts:PromptDefinition[]",
  PromptDefinition: "1 name 2 description 3 arguments:PromptArgument[]",
  PromptArgument: "1 name 2 description 3 required:bool",
  StorageReadRequest: "1 path 2 storage_type",
  StorageReadResponse: "1 content:bytes 2 metadata:Struct 3 version:int64",
  StorageWriteRequest:
    "1 path 2 content:bytes 3 metadata:Struct 4 expected_version:int64 5 storage_type",
  StorageWriteResponse: "1 success:bool 2 new_version:int64 3 error",
  StorageDeleteRequest: "1 path 2 storage_type",
  StorageDeleteResponse: "1 success:bool",
  StorageListRequest: "1 prefix 2 pattern 3 storage_type",
  StorageListResponse: "1 entries:StorageEntry[]",
  StorageEntry: "1 path 2 size:int64 3 version:int64 4 modified_at:Timestamp",
  StreamStart: "1 stream_id 2 tool_name 3 arguments:Struct 4 caller_plugin",
  StreamCancel: "1 stream_id",
  StreamChunk: "1 stream_id 2 data:bytes 3 content_type 4 sequence:int64",
  StreamEnd: "1 stream_id 2 success:bool 3 error_code 4 error_message 5 total_chunks:int64",
  Subscribe: "1 subscription_id 2 topic 3 filters:map",
  Unsubscribe: "1 subscription_id",
  Publish: "1 topic 2 event_type 3 payload:Struct 4 source_plugin",
  EventDelivery:
    "1 subscription_id 2 topic 3 event_type 4 payload:Struct 5 source_plugin 6 timestamp:Timestamp",
};

const KINDS = {
  PluginRequest:
    "10 register 11 boot 12 shutdown 13 health 20 tool_call 21 list_tools 22 list_prompts 23 prompt_get 30 storage_read 31 storage_write 32 storage_delete 33 storage_list 40 stream_start 41 stream_cancel 50 subscribe 51 unsubscribe 52 publish",
  PluginResponse:
    "10 register 11 boot 12 shutdown 13 health 20 tool_call 21 list_tools 22 list_prompts 23 prompt_get 30 storage_read 31 storage_write 32 storage_delete 33 storage_list 40 stream_chunk 41 stream_end 50 event_delivery",
};

function messageOf(name: string): DescMessage {
  const found = FILE.messages.find((message) => message.name === name);
  assert.ok(found, `there is no ${name}`);
  return found;
}

function typeOf(field: DescField): string {
  switch (field.fieldKind) {
    case "scalar":
      return field.scalar === ScalarType.STRING ? "" : `:${ScalarType[field.scalar].toLowerCase()}`;
    case "enum":
      return ":enum";
    case "message":
      return `:${field.message.name}`;
    case "map":
      return ":map";
    case "list":
      return field.listKind === "message" ? `:${field.message.name}[]` : "[]";
  }
}

describe("the schema of the bus", () => {
  it("has each field of Orchestra's messages under its number, with its type", () => {
    covers("bus.schema.messages");
    for (const [name, fields] of Object.entries(MESSAGES)) {
      const message = messageOf(name);
      const ours = message.fields.map((field) => `${field.number} ${field.name}${typeOf(field)}`);
      for (const [field] of fields.matchAll(/\d+ \S+/g))
        assert.ok(ours.includes(field), `${name} ${field}`);
    }
  });

  it("has each kind of request and answer under its number", () => {
    covers("bus.schema.kinds");
    for (const [name, kinds] of Object.entries(KINDS)) {
      const [oneof] = messageOf(name).oneofs;
      const ours = oneof?.fields.map((field) => `${field.number} ${field.name}`);
      assert.equal(ours?.join(" "), kinds);
      assert.equal(messageOf(name).fields[0]?.name, "request_id");
    }
  });

  it("allows a repeated field any number of times", () => {
    const tool = [0x0a, 3, 0x0a, 1, 0x41];
    const bytes = Uint8Array.from([...tool, ...tool]);
    assert.equal(checkWire(messageOf("ListToolsResponse"), bytes), 2);
  });
});
