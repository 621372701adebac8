import { allowToRun, runShown } from "../tools/run-command.ts";
import type { ToolAnswer } from "../tools/agent-tool.ts";
import { type Project, readProject } from "./project.ts";
import { fencedBlock } from "../tools/shown-content.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";

const TIMEOUT = 1_800_000;
const MOST_SAID = 4_000;

export const test = projectCommand("test", "Run the project's tests");
export const format = projectCommand("format", "Run the project's formatter");

function projectCommand(name: "test" | "format", description: string): SlashCommand {
  return {
    name,
    description,
    hint: "[ARGUMENTS]",
    run: async (input, context) => {
      const project = await readProject(context.files);
      const line = project[name];
      if (line === undefined) {
        await context.speaker.text(unknownText(name, project));
        return;
      }
      const answer = await runStep(context, input === "" ? line : `${line} ${input}`);
      await context.speaker.text(fencedBlock(tail(answer.text)));
    },
  };
}

/** Runs a command line once the person has allowed it. */
export function runStep(context: CommandContext, line: string): Promise<ToolAnswer> {
  return context.perform({
    title: line,
    kind: "execute",
    need: "run",
    timeout: TIMEOUT + 10_000,
    call: async (work) => {
      const isOutside = await allowToRun(work, line);
      const { cwd } = work.files.workspace;
      const { output, end, isOk } = await runShown(work, line, cwd, TIMEOUT, isOutside);
      return { text: `${output.trimEnd()}\n(${end})`.trimStart(), isError: !isOk, content: [] };
    },
  });
}

function unknownText(name: string, { kinds }: Project): string {
  const looked = kinds.length === 0 ? "no file that says so" : `only ${kinds.join(", ")}`;
  return (
    `I do not know how to ${name} this project: there is ${looked}. Add a script \`${name}\` to ` +
    `package.json or a target \`${name}\` to a Makefile.\n`
  );
}

function tail(text: string): string {
  return text.length <= MOST_SAID ? text : `…${text.slice(-MOST_SAID)}`;
}
