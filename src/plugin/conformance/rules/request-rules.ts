import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FAILURE } from "../../../protocol/bus/failure.ts";
import { encodeFrame } from "../../../wire/framing/length-prefixed.ts";
import type { PluginResponse, ToolResponse } from "../../../protocol/bus/plugin.gen.ts";
import { HealthResult_Status as Status } from "../../../protocol/bus/plugin.gen.ts";
import { answered, demand, type Probe, type Rules, said, UNKNOWN } from "../probe.ts";

/** Rules of requests and answers, whatever they are about. */
export const REQUEST_RULES: Rules = {
  "request.id": {
    section: "Orchestra: schema",
    says: "An answer has the request_id of its request",
    check: (probe) => probe.ask({ case: "health", value: {} }),
  },
  "request.empty": {
    section: "Orchestra: errors",
    says: "A request that asks for nothing is answered with the failure unknown_request",
    check: (probe) => unknown(probe, new BinaryWriter()),
  },
  "request.unknown": {
    section: "Orchestra: errors",
    says: "A kind of request that nobody knows is answered with the failure unknown_request",
    check: (probe) =>
      unknown(probe, new BinaryWriter().tag(UNKNOWN, WireType.LengthDelimited).string("")),
  },
  "request.unknown-fields": {
    section: "Orchestra: schema",
    says: "Fields of a newer schema are passed over",
    check: async (probe) => {
      const response = await probe.askWith({ case: "listTools", value: {} }, Buffer.from("hi"));
      demand(
        response.response.case === "listTools",
        `a request with an unknown field was answered with ${said(response)}`,
      );
    },
  },
  health: {
    section: "Orchestra: lifecycle",
    says: "Health is answered with a status: healthy, degraded or unhealthy",
    check: async (probe) => {
      const { status } = answered(await probe.ask({ case: "health", value: {} }), "health");
      const known: readonly number[] = [Status.HEALTHY, Status.DEGRADED, Status.UNHEALTHY];
      demand(known.includes(status), `the status is ${status}, which says nothing`);
    },
  },
  "prompts.unknown": {
    section: "Orchestra: prompts",
    says: "A prompt that is not there is answered with a failure",
    check: async (probe) => {
      const value = { promptName: `no-such-prompt-${crypto.randomUUID()}`, arguments: {} };
      failureIn(await probe.ask({ case: "promptGet", value }));
    },
  },
  "events.publish": {
    section: "Orchestra: routing",
    says: "An event that nobody subscribed to is taken",
    check: async (probe) => {
      const topic = `conformance.${crypto.randomUUID()}`;
      const value = { topic, eventType: "test", payload: {}, sourcePlugin: "conformance" };
      await probe.ask({ case: "publish", value });
      await probe.stillAnswers("an event");
    },
  },
};

/** The failure that an answer has to be. */
export function failureIn(answer: PluginResponse): ToolResponse {
  const { response } = answer;
  if (response.case === "toolCall" && !response.value.success) {
    demand(response.value.errorCode !== "", "the failure has no error_code");
    return response.value;
  }
  throw new Error(`it answered with ${said(answer)}, not with a failure`);
}

async function unknown(probe: Probe, request: BinaryWriter): Promise<void> {
  const { errorCode } = failureIn(await sendRaw(probe, request));
  demand(
    errorCode === FAILURE.unknownRequest,
    `the failure is ${errorCode}, not ${FAILURE.unknownRequest}`,
  );
  await probe.stillAnswers("an unknown request");
}

/** Sends a request that our own schema has no words for. */
async function sendRaw(probe: Probe, request: BinaryWriter): Promise<PluginResponse> {
  const body = request.tag(1, WireType.LengthDelimited).string(probe.nextId()).finish();
  const reaction = await probe.send(encodeFrame(body));
  if (reaction.kind === "answered") return reaction.response;
  throw new Error(`it did not answer: ${reaction.why}`);
}
