import { mask } from "../../base/text/mask.ts";
import type { SpanAttributes } from "../../base/trace.ts";
import { META, TRACE_HEADER } from "../../protocol/mcp/meta.ts";
import type { TurnObserver } from "../../session/turn/turns.ts";
import type { CallEnd, CallObserver, ObservedCall } from "../../tool/call-observer.ts";
import type { Tracer } from "./tracer.ts";

/** Outcomes of a turn that are its agent's or a person's choice, and no failure. */
const FAILED_TURN = "interrupted";

/** Traces calls of tools, with the names of OpenTelemetry's conventions for MCP. */
export function callSpans(tracer: Tracer, hasContent: boolean): CallObserver {
  return {
    begun: (call) => {
      const { name, context } = call;
      return tracer.begin({
        name: `tools/call ${name}`,
        attributes: callAttributes(call, hasContent),
        meta: context.meta,
        header: context.meta[TRACE_HEADER],
      });
    },
    ended: ({ context }, end) => {
      const error = errorOf(end);
      // The reason may repeat arguments.
      if (!hasContent) context.span?.end({ error });
      else {
        const { reason: says, result } = end;
        const attributes = { "gen_ai.tool.call.result": result && text(result.content) };
        context.span?.end({ error, says, attributes });
      }
    },
  };
}

/** Traces turns of sessions. */
export function turnSpans(tracer: Tracer): TurnObserver {
  return {
    begun: ({ session, agent, meta = {} }) => {
      const span = tracer.begin({
        name: `session/prompt ${agent}`,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": agent,
          "gen_ai.conversation.id": session,
        },
        meta: meta ?? {},
      });
      return {
        span,
        ended: (stopReason) => {
          const failed = stopReason === FAILED_TURN ? { error: stopReason } : {};
          span?.end({ ...failed, attributes: { "trunkline.stop_reason": stopReason } });
        },
      };
    },
  };
}

function callAttributes({ name, args, context, tool }: ObservedCall, hasContent: boolean) {
  const { caller, session, meta } = context;
  const version = meta[META.protocolVersion];
  const attributes: SpanAttributes = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "mcp.session.id": session,
    "mcp.protocol.version": typeof version === "string" ? version : undefined,
    "trunkline.door": caller.door,
    "trunkline.client": caller.name,
    "trunkline.server": tool?.source?.server,
    "trunkline.plugin": tool?.bringer,
    "gen_ai.tool.call.arguments": hasContent ? text(args) : undefined,
  };
  return attributes;
}

/** One of a few names, so that errors can be grouped. */
function errorOf({ outcome }: CallEnd): string | undefined {
  if (outcome === "ok") return undefined;
  return outcome === "error" ? "tool_error" : outcome;
}

function text(value: unknown): string {
  return JSON.stringify(mask(value)) ?? "";
}
