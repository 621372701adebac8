import type { Request, Scripted } from "../agent/fake-llm.ts";

/** Whether the model is to work, and not asked for a title, as some agents do. */
export function isTurn({ tools = [], model = "" }: Request): boolean {
  // codex tells its latest models of their tools in a form that the fake does not read.
  return tools.length > 0 || model.startsWith("gpt-6");
}

/** Answers prompts that contain those words. */
export function to(words: string, answer: Scripted): Scripted {
  return { ...answer, when: (request) => isTurn(request) && lastPrompt(request).includes(words) };
}

/** Answers prompts that contain those words with a tool call, and with a text once that is done. */
export function toCall(words: string, answer: Scripted, then: string): Scripted[] {
  const asked = to(words, answer);
  const when = (request: Request): boolean =>
    asked.when?.(request) === true && request.messages.at(-1)?.role !== "tool";
  return [{ ...asked, when }, to(words, { content: then })];
}

/** Says a word, again and again, for some twelve seconds. */
export const LONG: Scripted = { content: "word ".repeat(200), latency: 100 };

/** What the person said last. The built-in agent may add a note in brackets, such as that the mode has changed. */
function lastPrompt({ messages }: Request): string {
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const isNote = (content: unknown): boolean =>
    typeof content === "string" && /^\(.*\)$/s.test(content);
  return JSON.stringify(said.findLast((content) => !isNote(content)) ?? "");
}
