import { TrunklineError } from "../../base/errors.ts";
import type { PluginResponse } from "./plugin.gen.ts";

type Answer = PluginResponse["response"];
type AnswerCase = NonNullable<Answer["case"]>;
type AnswerValue<C extends AnswerCase> = Extract<Answer, { case: C }>["value"];

/**
 * The answer of the expected kind. Orchestra's errors: any request may be answered with a failed ToolResponse
 * instead, because the schema has no type for errors.
 */
export function answerOf<C extends AnswerCase>(
  from: string,
  response: PluginResponse,
  wanted: C,
): AnswerValue<C> {
  const answer = response.response;
  if (answer.case === wanted) return answer.value as AnswerValue<C>;
  if (answer.case === "toolCall" && !answer.value.success) throw refused(from, answer.value);
  const got = answer.case === undefined ? "an empty answer" : `an answer of kind '${answer.case}'`;
  throw new TrunklineError("unavailable", `${from} gave ${got}, not '${wanted}'`);
}

/** For a request whose answer may be empty, such as `publish`: throws if it failed. */
export function checkAnswer(from: string, response: PluginResponse): void {
  const answer = response.response;
  if (answer.case === "toolCall" && !answer.value.success) throw refused(from, answer.value);
}

function refused(
  from: string,
  { errorCode, errorMessage }: { errorCode: string; errorMessage: string },
): TrunklineError {
  const why = [errorCode, errorMessage].filter((part) => part !== "").join(": ");
  return new TrunklineError("unavailable", `${from} refused: ${why || "it gave no reason"}`);
}
