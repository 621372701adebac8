import {
  type AgentTool,
  inputOf,
  textContent,
  type ToolAnswer,
  type ToolWork,
} from "../tools/agent-tool.ts";
import { fencedEnd, HostQuestions } from "../tools/tool-runner.ts";
import type { BackgroundCommand, BackgroundCommands } from "./background-commands.ts";

/** Milliseconds that starting waits for the first output, so that a wrong command is noticed. */
const FIRST_OUTPUT = 1_000;
const LONGEST_WAIT = 60_000;

/** Starts a command that was consented to, and returns with its first output. */
export async function startInBackground(
  work: ToolWork,
  line: string,
  cwd: string,
  isOutside: boolean,
): Promise<ToolAnswer> {
  const { background } = work;
  await work.files.journal.ran(line);
  const identity = await work.actsAs?.(cwd, work.sessionId);
  background.asksBy(work.allow);
  const questions = new HostQuestions((consent) => background.allow(consent));
  await using starting = new AsyncDisposableStack();
  const entered = isOutside ? undefined : work.sandbox?.enter((host) => questions.ask(host));
  const confinement = starting.use(await entered);
  const command = background.start({ line, cwd, identity, confinement });
  starting.move();
  await command.news(FIRST_OUTPUT, work.signal);
  const more =
    command.end === undefined
      ? `It runs in the background as '${command.id}': read on with command_output.`
      : `It has ended already (${command.end}).`;
  return answerOf(command, more);
}

/** The tools for commands in the background, which fit once there is one. */
export function backgroundTools(background: BackgroundCommands): AgentTool[] {
  const fits = (): boolean => background.all.length > 0;
  return [
    {
      name: "command_output",
      description:
        "Gives the new output of a command that runs in the background. Without an id, lists " +
        "these commands.",
      inputSchema: inputOf(
        {
          id: { type: "string" },
          wait_ms: {
            type: "integer",
            minimum: 0,
            maximum: LONGEST_WAIT,
            description: "Waits so long for output if there is none yet.",
          },
        },
        [],
      ),
      kind: "read",
      need: "nothing",
      fits,
      title: ({ id }) => (id === undefined ? "List background commands" : titleOf("Read", id)),
      async call(args, work) {
        const { id, wait_ms: wait = 0 } = args as { id?: string; wait_ms?: number };
        background.asksBy(work.allow);
        if (id === undefined) return { text: listText(background) };
        const command = background.find(id);
        await command.news(wait, work.signal);
        return answerOf(command, `(${command.state})`);
      },
    },
    {
      name: "stop_command",
      description: "Ends a command that runs in the background, with all that it started.",
      inputSchema: inputOf({ id: { type: "string" } }, ["id"]),
      kind: "execute",
      need: "nothing",
      fits,
      title: ({ id }) => titleOf("Stop", id),
      async call(args) {
        const command = background.find((args as { id: string }).id);
        await command.stop();
        return answerOf(command, `(${command.state})`);
      },
    },
  ];
}

/** The commands in the background, one in a line. */
export function listText({ all }: BackgroundCommands): string {
  if (all.length === 0) return "No command runs in the background.";
  return all.map(({ id, line, state }) => `${id}: ${line} (${state})`).join("\n");
}

function titleOf(verb: string, id: unknown): string {
  return `${verb} background command ${String(id)}`;
}

function answerOf(command: BackgroundCommand, more: string): ToolAnswer {
  const text = [command.take(), more].filter((each) => each !== "").join("\n");
  return { text, content: [textContent(fencedEnd(text))] };
}
