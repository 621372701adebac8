import type { JsonObject } from "@bufbuild/protobuf";

import { encodeRequest } from "../../../protocol/bus/codec.ts";
import { FAILURE } from "../../../protocol/bus/failure.ts";
import { toStruct } from "../../../protocol/bus/shape/json-struct.ts";
import type { PluginResponse, ToolDefinition } from "../../../protocol/bus/plugin.gen.ts";
import { answered, demand, type Probe, type Rules, type SafeCall, said, skip } from "../probe.ts";
import { failureIn } from "./request-rules.ts";

const AT_ONCE = 32;
/** Pieces after which an answer is cancelled. */
const PIECES = 1;

/** Rules of tools, called at once and in pieces. */
export const TOOL_RULES: Rules = {
  "tools.list": {
    section: "tools/list",
    says: "Every tool has a name of its own and, if it has a schema, that of an object",
    check: async (probe) => {
      const seen = new Set<string>();
      for (const { name, inputSchema } of await toolsOf(probe)) {
        demand(name !== "", "a tool has no name");
        demand(!seen.has(name), `'${name}' is there twice`);
        seen.add(name);
        const type = inputSchema?.type ?? "object";
        demand(type === "object", `the schema of '${name}' is of type ${JSON.stringify(type)}`);
      }
    },
  },
  "tools.call": {
    section: "tools/call",
    says: "A tool is called with arguments and answers with a result",
    check: async (probe) => {
      const response = await call(probe, wanted(probe));
      const { success, errorCode, errorMessage } = answered(response, "toolCall");
      demand(success, `the call failed: ${errorCode}: ${errorMessage}`);
    },
  },
  "tools.unknown": {
    section: "Orchestra: errors",
    says: "A tool that is not there is answered with the failure tool_not_found",
    check: async (probe) => {
      const name = `no_such_tool_${crypto.randomUUID()}`;
      const { errorCode } = failureIn(await call(probe, { name, args: {} }));
      demand(errorCode === FAILURE.toolNotFound, `the failure is ${errorCode}`);
    },
  },
  "tools.arguments": {
    section: "tools/call",
    says: "Arguments that do not match the schema are answered with a failure",
    check: async (probe) => {
      const { name } = wanted(probe);
      const tool = (await toolsOf(probe)).find((one) => one.name === name);
      const wrong = wrongArguments(tool?.inputSchema ?? {});
      if (wrong === undefined) skip(`the schema of '${name}' allows any arguments`);
      failureIn(await call(probe, { name, args: wrong }));
      await probe.stillAnswers("wrong arguments");
    },
  },
  "tools.concurrent": {
    section: "Orchestra: streams",
    says: `${AT_ONCE} calls at once are answered, and health among them`,
    check: async (probe) => {
      const safe = wanted(probe);
      const calls = Array.from({ length: AT_ONCE }, () => call(probe, safe));
      const health = probe.ask({ case: "health", value: {} });
      const [, ...answers] = await Promise.all([health, ...calls]);
      for (const response of answers) {
        const { success, errorCode } = answered(response, "toolCall");
        demand(success, `one of them failed: ${errorCode}`);
      }
    },
  },
  "tools.cancel": {
    section: "Orchestra: streams",
    says: "A caller that breaks its call off costs nobody else anything",
    check: async (probe) => {
      const { name, args } = wanted(probe);
      const value = { toolName: name, arguments: toStruct(args, "arguments") };
      for (let count = 0; count < 10; count++) {
        const stream = await probe.open();
        const request = { case: "toolCall", value } as const;
        await stream.end(encodeRequest({ requestId: probe.nextId(), request }));
        stream.reset(1);
      }
      await probe.stillAnswers("calls that were broken off");
    },
  },
  "stream.unknown": {
    section: "Orchestra: streams",
    says: "A streaming tool that is not there is answered with a failure",
    check: async (probe) => {
      const name = `no_such_tool_${crypto.randomUUID()}`;
      let last: PluginResponse | undefined;
      for await (const answer of start(probe, { name, args: {} }, "unknown")) last = answer;
      demand(last !== undefined, "it ended the stream without an answer");
      if (last.response.case === "streamEnd") {
        demand(!last.response.value.success, "it says that the stream ended well");
      } else failureIn(last);
    },
  },
  "stream.chunks": {
    section: "Orchestra: streams",
    says: "Chunks are counted from 0, and a StreamEnd says how many there were",
    check: async (probe) => {
      const safe = wantedStream(probe);
      let chunks = 0n;
      let isOver = false;
      for await (const answer of start(probe, safe, "chunks")) {
        const { response } = answer;
        demand(!isOver, `${said(answer)} follows the StreamEnd`);
        if (response.case === "streamChunk") {
          const { sequence, streamId } = response.value;
          demand(sequence === chunks, `chunk ${chunks} has the sequence ${sequence}`);
          demand(streamId === "chunks", `its stream_id is '${streamId}', not 'chunks'`);
          chunks++;
          continue;
        }
        const { success, totalChunks, errorCode } = answered(answer, "streamEnd");
        demand(success, `the stream failed: ${errorCode}`);
        demand(totalChunks === chunks, `total_chunks is ${totalChunks}, of ${chunks} that came`);
        isOver = true;
      }
      demand(isOver, "no StreamEnd came");
      demand(chunks > 0n, "no chunk came");
    },
  },
  "stream.cancel": {
    section: "Orchestra: streams",
    says: "StreamCancel ends a stream",
    check: async (probe) => {
      const safe = wantedStream(probe);
      let chunks = 0;
      for await (const { response } of start(probe, safe, "cancelled")) {
        if (response.case !== "streamChunk" || ++chunks !== PIECES) continue;
        const request = { case: "streamCancel", value: { streamId: "cancelled" } } as const;
        // The schema has no answer to it.
        await probe.send(encodeRequest({ requestId: probe.nextId(), request }));
      }
      // That the loop has ended is the rule; what does not end runs into the time limit.
      await probe.stillAnswers("a stream that was cancelled");
    },
  },
};

export async function toolsOf(probe: Probe): Promise<readonly ToolDefinition[]> {
  return answered(await probe.ask({ case: "listTools", value: {} }), "listTools").tools;
}

function call(probe: Probe, { name, args }: SafeCall): Promise<PluginResponse> {
  const value = {
    toolName: name,
    arguments: toStruct(args, "arguments"),
    callerPlugin: "conformance",
  };
  return probe.ask({ case: "toolCall", value });
}

function start(probe: Probe, { name, args }: SafeCall, streamId: string) {
  const value = { streamId, toolName: name, arguments: toStruct(args, "arguments") };
  return probe.askForMany({ case: "streamStart", value });
}

function wanted({ subject }: Probe): SafeCall {
  return subject.call ?? skip("name a tool that may be called, with --tool and --args");
}

function wantedStream({ subject }: Probe): SafeCall {
  return subject.stream ?? skip("name a tool that answers in pieces, with --stream and --args");
}

/** Arguments that a schema forbids; undefined where none are known. */
function wrongArguments(schema: JsonObject): JsonObject | undefined {
  const { required, properties } = schema;
  if (Array.isArray(required) && required.length > 0) return {};
  for (const [name, of] of Object.entries((properties ?? {}) as Record<string, JsonObject>)) {
    if (of.type === "string" || of.type === "number" || of.type === "integer") {
      return { [name]: { wrong: true } };
    }
  }
  return schema.additionalProperties === false ? { "no such argument": 1 } : undefined;
}
