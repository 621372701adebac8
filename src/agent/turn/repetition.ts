import type { ToolAnswer } from "../tools/agent-tool.ts";
import type { ToolCall } from "../tools/tool-runner.ts";

/** Number of equal calls with equal answers in a row. */
const WARNED = 3;
const MOST = 6;

/** Detects a model that repeats the same call. */
export class Repetition {
  #last = "";
  #count = 0;

  /** Counts an answer, and adds a warning for the model if it repeats. */
  note(call: ToolCall, answer: ToolAnswer): ToolAnswer {
    const sign = JSON.stringify([call.name, call.args, answer.text]);
    this.#count = sign === this.#last ? this.#count + 1 : 1;
    this.#last = sign;
    if (this.#count < WARNED) return answer;
    const says = `(This is the same answer to the same call for the ${this.#count}th time. Do something else.)`;
    return { ...answer, text: `${answer.text}\n${says}` };
  }

  get isEndless(): boolean {
    return this.#count >= MOST;
  }
}
