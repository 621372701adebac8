import { argumentLabel, describe, optionLabel, usageOf } from "../../src/cli/help/help.ts";
import {
  allPaths,
  callOf,
  type Command,
  GLOBAL_OPTIONS,
  endOf,
  type Options,
  type Path,
} from "../../src/cli/shell/command.ts";

const INTRODUCTION = `# The command line

This page is written from the table of commands by \`npm run generate\`.
\`trunkline help COMMAND\` says the same in a terminal.

Exit codes: 0 success, 1 the thing failed, 2 wrong usage.
`;

/** docs/CLI.md: everything the table says, as Markdown. */
export function renderReference(program: Command): string {
  const paths = allPaths([program]);
  const contents = paths.slice(1).map((path) => contentsLine(path));
  return [
    INTRODUCTION,
    contents.join("\n") + "\n",
    ...paths.map(renderCommand),
    "## Global options\n",
    "Every command understands these.\n",
    optionTable(GLOBAL_OPTIONS),
  ].join("\n");
}

function renderCommand(path: Path): string {
  const { summary, description, args = [], options = {}, examples } = endOf(path);
  const parts = [`## ${callOf(path)}\n`, `${summary}.\n`, "```sh", usageOf(path), "```\n"];
  if (description !== undefined) parts.push(`${description}\n`);
  if (args.length > 0) {
    const rows = args.map((arg) => row(`\`${argumentLabel(arg)}\``, describe(arg)));
    parts.push(row("argument", "meaning"), "|---|---|", ...rows, "");
  }
  if (Object.keys(options).length > 0) parts.push(optionTable(options));
  const lines = Object.entries(examples).map(([line, does]) => `# ${does}\n${line}`);
  parts.push("```sh", lines.join("\n\n"), "```\n");
  return parts.join("\n");
}

function contentsLine(path: Path): string {
  const indent = "  ".repeat(path.length - 2);
  const call = callOf(path);
  return `${indent}- [\`${call}\`](#${call.replaceAll(" ", "-")}): ${endOf(path).summary}`;
}

function optionTable(options: Options): string {
  const rows = Object.entries(options).map(([name, spec]) => {
    const short = spec.short === undefined ? "" : `\`-${spec.short}\`, `;
    return row(`${short}\`${optionLabel(name, spec)}\``, describe(spec));
  });
  return [row("option", "meaning"), "|---|---|", ...rows, ""].join("\n");
}

function row(label: string, text: string): string {
  return `| ${[label, text].map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
