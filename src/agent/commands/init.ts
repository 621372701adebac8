import { walk } from "../files/walk.ts";
import { changeFile } from "../tools/change-file.ts";
import { type Project, readProject } from "./project.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";

const FILE = "AGENTS.md";

export const init: SlashCommand = {
  name: "init",
  description: `Write an ${FILE} with what agents should know about the project`,
  run: async (_, context) => {
    const { files, speaker } = context;
    const target = await files.workspace.findToWrite(FILE);
    if ((await files.readIfThere(target)) !== undefined) {
      await speaker.text(`There is an ${FILE} already; it stays as it is.\n`);
      return;
    }
    const text = await describe(context);
    const answer = await context.perform({
      title: `Create ${FILE}`,
      kind: "edit",
      need: "write",
      call: (work) => changeFile(work, target, { old: undefined, text }),
    });
    await speaker.text(`${answer.text}\n`);
  },
};

async function describe({ files, turn }: CommandContext): Promise<string> {
  const project = await readProject(files);
  const options = { depth: 1, most: 200, stop: turn.stop };
  const { names } = await walk(files.workspace.cwd, options);
  const folders = names.filter((name) => name.endsWith("/") && !/^(?:\.|node_modules)/.test(name));
  const lines = ["# For agents that work here", "", ...commandLines(project)];
  if (folders.length > 0)
    lines.push("", "## Folders", "", ...folders.map((name) => `- \`${name}\``));
  return `${lines.join("\n")}\n`;
}

function commandLines({ kinds, test, format, lint, build }: Project): string[] {
  const known = Object.entries({ Build: build, Test: test, Lint: lint, Format: format });
  const lines = known.flatMap(([what, line]) =>
    line === undefined ? [] : [`- ${what}: \`${line}\``],
  );
  const what = kinds.length === 0 ? [] : [`Project: ${kinds.join(", ")}.`, ""];
  const none = "How it is built and tested is not written down anywhere yet.";
  return [...what, ...(lines.length === 0 ? [none] : ["## Commands", "", ...lines])];
}
