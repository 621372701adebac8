import type { ToolAnswer } from "../tools/agent-tool.ts";
import type { ToolCall } from "../tools/tool-runner.ts";

/** Alike calls with alike answers, one after the other. */
const WARNED = 3;
const MOST = 6;

/** Notices a model that does the same again and again. */
export class Repetition {
  #last = "";
  #count = 0;

  /** Looks at an answer; one that has been given before gets a word about that. */
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
