import { TrunklineError } from "../../base/errors.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import { CONTROL_NAME, type Guests } from "../guests.ts";
import type { Orchestrator } from "../orchestrator.ts";

/** Tools of `trunkline plugin`, which are not listed and which no other caller may use. */
export const CONTROL = {
  list: "trunkline.plugins.list",
  logs: "trunkline.plugins.logs",
  restart: "trunkline.plugins.restart",
} as const;

/** Puts the tools of `trunkline plugin` before all others. */
export function serveControl(
  orchestrator: Pick<Orchestrator, "status" | "plugin">,
  guests: Guests,
  handlers: BusHandlers,
): BusHandlers {
  const tools: Record<string, (args: { readonly id?: unknown }) => unknown> = {
    [CONTROL.list]: () => ({ plugins: orchestrator.status() }),
    [CONTROL.logs]: ({ id }) => ({ lines: orchestrator.plugin(String(id)).said }),
    [CONTROL.restart]: async ({ id }) => {
      const plugin = orchestrator.plugin(String(id));
      await plugin.restart();
      return { plugin: plugin.status() };
    },
  };
  return {
    ...handlers,
    toolCall: async (request, call) => {
      const control = Object.hasOwn(tools, request.toolName) ? tools[request.toolName] : undefined;
      if (control === undefined) return handlers.toolCall?.(request, call);
      if (guests.of(call.connection).name !== CONTROL_NAME) {
        throw new TrunklineError(
          "untrusted",
          `'${request.toolName}' is for trunkline plugin alone`,
        );
      }
      const result = toStruct(
        { ...((await control(request.arguments ?? {})) as object) },
        "result",
      );
      return { case: "toolCall", value: { success: true, result } };
    },
  };
}
