import { TrunklineError } from "../../base/errors.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import { boundedOffer, type PluginOffer } from "../bounded-offer.ts";
import type { PluginSettings } from "./settings.ts";

/** Bytes of an answer that is a word or two, and of one that is a list. */
export const SHORT_ANSWER = 64 * 1024;
const LONG_ANSWER = 4 * 1024 * 1024;
/** So much of a plugin's own words is told on. */
export const LONGEST_REASON = 1_000;

/** Gets to know a plugin that has just been started. Throws why it is of no use. */
export async function introduce(
  client: BusClient,
  { id, config }: PluginSettings,
  timeout: number,
): Promise<PluginOffer> {
  const it = `Plugin '${id}'`;
  const asking = { timeout, most: SHORT_ANSWER };
  const listing = { timeout, most: LONG_ANSWER };
  const registered = await client.ask({ case: "register", value: { id } }, asking);
  const { accepted, rejectReason } = answerOf(it, registered, "register");
  if (!accepted) throw refusal("It refused to be registered", rejectReason);
  const booted = await client.ask({ case: "boot", value: { config } }, asking);
  const { ready, error } = answerOf(it, booted, "boot");
  if (!ready) throw refusal("It could not boot", error);
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
