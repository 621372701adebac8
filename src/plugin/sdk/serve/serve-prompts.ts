import { FAILURE, failure } from "../../../protocol/bus/failure.ts";
import { toBusPrompt } from "../../../protocol/bus/shape/prompt-shape.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import type { PromptPart } from "../parts.ts";
import { thrownResponse } from "../returned.ts";
import type { ToolService } from "./serve-tools.ts";

/** Answers what is asked of a plugin's prompts. */
export function servePrompts(
  prompts: ReadonlyMap<string, PromptPart>,
  { outside, calls, log }: ToolService,
): BusHandlers {
  return {
    listPrompts: () => {
      const list = [...prompts.values()].map(({ definition }) => toBusPrompt(definition));
      return { case: "listPrompts", value: { prompts: list } };
    },
    promptGet: ({ promptName, arguments: args }, call) =>
      calls.run(call, async (stopper) => {
        const prompt = prompts.get(promptName);
        if (prompt === undefined) {
          return failed("prompt_not_found", `prompt "${promptName}" not found`);
        }
        const { description = "", arguments: wanted = [] } = prompt.definition;
        const missing = wanted.find(({ name, required }) => required === true && !(name in args));
        if (missing !== undefined)
          return failed(FAILURE.validation, `'${missing.name}' is missing`);
        try {
          const got = await prompt.get(args, outside.context(stopper));
          const all = typeof got === "string" ? [{ role: "user", text: got }] : got;
          const messages = all.map(({ role, text }) => ({ role, content: { type: "text", text } }));
          return { case: "promptGet", value: { description, messages } };
        } catch (error) {
          log.warn("plugin.prompt-failed", { prompt: promptName, error });
          return { case: "toolCall", value: thrownResponse(error) };
        }
      }),
  };
}

function failed(code: string, message: string) {
  return { case: "toolCall", value: failure(code, message) } as const;
}
