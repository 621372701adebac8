import type { Turn } from "../../session/agent.ts";
import {
  type AgentTool,
  inputOf,
  textContent,
  type ToolAnswer,
  type ToolWork,
} from "../tools/agent-tool.ts";
import { MORE_TOOLS, SUBAGENTS } from "../tools/tool-groups.ts";
import type { ToolRunner } from "../tools/tool-runner.ts";
import { Conversation } from "../turn/compact.ts";
import { type TurnOptions, TurnRun } from "../turn/run-turn.ts";
import { Speaker } from "../turn/speaker.ts";
import { nestedTurn } from "./nested-turn.ts";

const TASK = "task";
/** The tools of a subagent that explores. */
const READING: ReadonlySet<string> = new Set([
  "read_file",
  "list_files",
  "search_files",
  "git_status",
  "git_diff",
  "git_log",
]);
/** The plan and the person are the agent's own, and a subagent has no subagents. */
const WITHHELD: ReadonlySet<string> = new Set([
  TASK,
  MORE_TOOLS,
  "update_plan",
  "ask_person",
  "submit_plan",
  "remember",
]);

const HELPER =
  "You are a subagent: another agent gave you one task, and gets your last message as the " +
  "answer. Nobody can answer questions. Say what you found or did, with paths and line numbers, " +
  "in at most a page.";

/** Lines about the work of a subagent that its call shows. */
const MOST_LINES = 20;

interface SubagentTask {
  readonly title: string;
  readonly prompt: string;
  readonly kind?: "explore" | "work";
}

/** The turn that subagents work for. */
export interface ParentTurn {
  readonly options: TurnOptions;
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** A runner for a subagent's calls. */
  readonly runner: (
    turn: Turn,
    speaker: Speaker,
    tools: ReadonlyMap<string, AgentTool>,
  ) => ToolRunner;
}

/** The subagents of one turn. They share its budget and its end. */
export class Subagents {
  #parent: ParentTurn | undefined;

  /** The tool that starts one. */
  readonly tool: AgentTool = {
    name: TASK,
    description:
      "Has a subagent with a context of its own do a task and report, such as to find out how " +
      "something works across many files. Several that explore, in one answer, work together.",
    inputSchema: inputOf(
      {
        title: { type: "string", minLength: 1, description: "A few words for the person." },
        prompt: { type: "string", minLength: 1, description: "All that it needs to know." },
        kind: {
          enum: ["explore", "work"],
          description:
            "explore (default) can only read; work can also change files and run commands.",
        },
      },
      ["title", "prompt"],
    ),
    example: {
      title: "Find where sessions are stored",
      prompt: "Which files write sessions to disk, and when? Name functions and lines.",
    },
    kind: "think",
    need: "nothing",
    group: SUBAGENTS,
    // Its requests, its calls and the number of its answers have limits of their own.
    timeout: 2 ** 31 - 1,
    onlyReads: ({ kind = "explore" }) => kind === "explore",
    title: ({ title }) => `Task: ${String(title)}`,
    call: (args, work) => this.#start(args as unknown as SubagentTask, work),
  };

  begin(parent: ParentTurn): void {
    this.#parent = parent;
  }

  async #start({ prompt, kind = "explore" }: SubagentTask, work: ToolWork): Promise<ToolAnswer> {
    const { options, tools, runner } = this.#parent as ParentTurn;
    const titles: string[] = [];
    const turn = nestedTurn({
      turn: options.turn,
      toolCallId: work.toolCallId,
      signal: work.signal,
      called: (title) => {
        titles.push(`- ${title}`);
        const lines = titles.slice(-MOST_LINES).join("\n");
        work.show({ content: [textContent(lines)] }).catch(() => {});
      },
    });
    const own = new Map(
      [...tools].filter(([name]) => (kind === "explore" ? READING.has(name) : !WITHHELD.has(name))),
    );
    const speaker = new Speaker(turn);
    const conversation = new Conversation();
    const { stopReason } = await new TurnRun({
      ...options,
      goesOn: undefined,
      turn,
      prompt: [{ type: "text", text: prompt }],
      conversation,
      instructions: () => ({ ...options.instructions(), subagent: HELPER }),
      cacheKey: work.toolCallId,
      speaker,
      runner: runner(turn, speaker, own),
    }).run();
    work.signal.throwIfAborted();
    const answer = lastText(conversation);
    const text = answer === "" ? "(It gave no answer.)" : answer;
    if (stopReason === "end_turn") return { text };
    return { text: `${text}\n(It was stopped before it was done: ${stopReason}.)`, isError: true };
  }
}

/** The text of the subagent's last message. */
function lastText({ messages }: Conversation): string {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return "";
  if (typeof last.content === "string") return last.content.trim();
  return last.content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")
    .trim();
}
