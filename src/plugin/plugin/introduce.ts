import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import type { PluginSettings } from "./settings.ts";
import type { PromptDefinition, ToolDefinition } from "../../protocol/bus/plugin.gen.ts";

/** Bytes of an answer that is a word or two, and of one that is a list. */
export const SHORT_ANSWER = 64 * 1024;
const LONG_ANSWER = 4 * 1024 * 1024;
/** So much of a plugin's own words is told on. */
export const LONGEST_REASON = 1_000;

/** Makes a plugin ready that has just been started. Throws why it is of no use, or is not wanted. */
export async function introduce(
  client: Pick<BusClient, "ask">,
  { id, config }: PluginSettings,
  timeout: number,
  stop: Stop,
): Promise<void> {
  const it = `Plugin '${id}'`;
  const asking = { timeout, stop, most: SHORT_ANSWER };
  const registered = await client.ask({ case: "register", value: { id } }, asking);
  const { accepted, rejectReason } = answerOf(it, registered, "register");
  if (!accepted) throw refusal("It refused to be registered", rejectReason);
  const booted = await client.ask({ case: "boot", value: { config } }, asking);
  const { ready, error } = answerOf(it, booted, "boot");
  if (!ready) throw refusal("It could not boot", error);
}

/** Asks a plugin what it offers. */
export async function askForOffer(
  client: Pick<BusClient, "ask">,
  id: string,
  timeout: number,
  stop: Stop,
): Promise<PluginOffer> {
  const it = `Plugin '${id}'`;
  const listing = { timeout, stop, most: LONG_ANSWER };
  const tools = await client.ask({ case: "listTools", value: {} }, listing);
  const prompts = await client.ask({ case: "listPrompts", value: {} }, listing);
  return boundedOffer(
    answerOf(it, tools, "listTools").tools,
    // Older plugins do not know what a prompt is.
    prompts.response.case === "listPrompts" ? prompts.response.value.prompts : [],
  );
}

function refusal(what: string, reason: string): TrunklineError {
  const why = reason.slice(0, LONGEST_REASON) || "no reason given";
  return new TrunklineError("unavailable", `${what}: ${why}`);
}

/** What a plugin offers. */
export interface PluginOffer {
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
  /** What it would offer, too, but for its size. */
  readonly leftOut: readonly string[];
}

/** Tools, and prompts, of one plugin. */
const MOST = 1_000;
/** Characters of one of them, and of all together: every list of every client has them. */
const LONGEST = 128 * 1024;
const LONGEST_ALL = 1024 * 1024;

/** As much of what a plugin offers as others can be made to read. */
function boundedOffer(
  tools: readonly ToolDefinition[],
  prompts: readonly PromptDefinition[],
): PluginOffer {
  let left = LONGEST_ALL;
  const leftOut: string[] = [];
  const bounded = <T extends { readonly name: string }>(all: readonly T[]): T[] =>
    all.filter((one, index) => {
      const { length } = JSON.stringify(one);
      const isIn = index < MOST && length <= Math.min(LONGEST, left);
      if (isIn) left -= length;
      else leftOut.push(one.name.slice(0, 100));
      return isIn;
    });
  return { tools: bounded(tools), prompts: bounded(prompts), leftOut };
}
