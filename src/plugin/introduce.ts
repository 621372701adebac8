import { TrunklineError } from "../base/errors.ts";
import { answerOf } from "../protocol/bus/answer.ts";
import type { BusClient } from "../protocol/bus/connect.ts";
import type { PromptDefinition, ToolDefinition } from "../protocol/bus/plugin.gen.ts";
import type { PluginSettings } from "./settings.ts";

/** What a plugin offers. */
export interface PluginOffer {
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
}

/** Gets to know a plugin that has just been started. Throws why it is of no use. */
export async function introduce(
  client: BusClient,
  { id, config }: PluginSettings,
  timeout: number,
): Promise<PluginOffer> {
  const it = `Plugin '${id}'`;
  const asking = { timeout };
  const registered = await client.ask({ case: "register", value: { id } }, asking);
  const { accepted, rejectReason } = answerOf(it, registered, "register");
  if (!accepted) throw refusal(`It refused to be registered: ${rejectReason || "no reason given"}`);
  const booted = await client.ask({ case: "boot", value: { config } }, asking);
  const { ready, error } = answerOf(it, booted, "boot");
  if (!ready) throw refusal(`It could not boot: ${error || "no reason given"}`);
  const tools = await client.ask({ case: "listTools", value: {} }, asking);
  const prompts = await client.ask({ case: "listPrompts", value: {} }, asking);
  return {
    tools: answerOf(it, tools, "listTools").tools,
    // Older plugins do not know what a prompt is.
    prompts: prompts.response.case === "listPrompts" ? prompts.response.value.prompts : [],
  };
}

function refusal(message: string): TrunklineError {
  return new TrunklineError("unavailable", message);
}
