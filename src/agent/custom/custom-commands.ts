import { visibleLine } from "../../base/text/visible.ts";
import { type CustomRoot, findFiles, type FoundFile, readCustom } from "./custom-files.ts";
import { splitMarkdown } from "./front-matter.ts";

/** A slash command that a Markdown file describes: its text is the prompt. */
export interface CustomCommand {
  readonly name: string;
  readonly description: string;
  readonly hint?: string;
  readonly file: FoundFile;
}

const MOST_COMMANDS = 100;
const LONGEST_DESCRIPTION = 200;
const NAME = /^[a-z][\w:-]{0,63}$/;

/** The commands of all roots. `git/fix.md` is `/git:fix`. */
export async function findCommands(
  roots: readonly CustomRoot[],
  taken: ReadonlySet<string>,
): Promise<CustomCommand[]> {
  const commands = new Map<string, CustomCommand>();
  for (const root of roots) {
    const accepts = (name: string): boolean => name.endsWith(".md");
    const files = await findFiles(root, "commands", { depth: 3, most: MOST_COMMANDS, accepts });
    for (const file of files) {
      const name = file.name.slice(0, -".md".length).replaceAll("/", ":").toLowerCase();
      // A file cannot replace a command of the agent.
      if (!NAME.test(name) || taken.has(name) || commands.has(name)) continue;
      const text = readCustom(file.path, root);
      if (text === undefined || commands.size >= MOST_COMMANDS) continue;
      commands.set(name, { name, file, ...(await describe(text, root)) });
    }
  }
  return [...commands.values()];
}

async function describe(
  text: string,
  { origin }: CustomRoot,
): Promise<Pick<CustomCommand, "description" | "hint">> {
  const { fields, body } = await splitMarkdown(text);
  const first = body.split("\n").find((line) => line.trim() !== "") ?? "";
  const about = oneLine(fields.description ?? first.replace(/^#+\s*/, ""));
  const hint = oneLine(fields["argument-hint"] ?? (/\$(?:ARGUMENTS|\d)/.test(body) ? "…" : ""));
  return {
    description: `${about === "" ? "Prompt" : about} (${origin})`,
    ...(hint === "" ? {} : { hint }),
  };
}

function oneLine(text: string): string {
  return visibleLine(text.trim().replaceAll(/\s+/g, " ")).slice(0, LONGEST_DESCRIPTION);
}

/** The prompt that a command stands for; undefined if its file cannot be read any more. */
export async function commandPrompt(
  { file }: CustomCommand,
  input: string,
): Promise<string | undefined> {
  const text = readCustom(file.path, file.root);
  return text === undefined ? undefined : withArguments((await splitMarkdown(text)).body, input);
}

/**
 * Puts in the arguments: `$ARGUMENTS` are all of them, `$1` is the first. They are put at the end where
 * the text has no place for them. Nothing else in the text is replaced, and nothing of it is run.
 */
export function withArguments(text: string, input: string): string {
  const words = [...input.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => {
      return double ?? single ?? bare ?? "";
    },
  );
  let isPlaced = false;
  const filled = text.replaceAll(/\$(?:ARGUMENTS\b|([1-9])(?!\d))/g, (_, place?: string) => {
    isPlaced = true;
    return place === undefined ? input : (words[Number(place) - 1] ?? "");
  });
  return isPlaced || input === "" ? filled : `${filled}\n\nArguments: ${input}`;
}
