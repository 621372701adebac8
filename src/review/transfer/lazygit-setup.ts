import { existsSync } from "node:fs";
import { join } from "node:path";
import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { findRepository } from "../repository.ts";
import { isMap, isSeq, parseDocument, stringify } from "yaml";

/** The configuration of lazygit for the repository of a folder; without one, for all of the user's. */
export function lazygitFile(repo: string | undefined, env: NodeJS.ProcessEnv): string {
  return repo === undefined ? userConfig(env) : repositoryConfig(repo);
}

function repositoryConfig(folder: string): string {
  const found = findRepository(folder);
  if (found !== undefined) return join(found.gitDir, "lazygit.yml");
  const why = "it is in no git repository. Go into one, name one with --repo, or give --user";
  const says = `Cannot set up lazygit in '${folder}': ${why} to have it in all.`;
  throw new TrunklineError("not-found", says);
}

/** Where lazygit looks for its configuration, in that order. */
function userConfig(env: NodeJS.ProcessEnv): string {
  const { LG_CONFIG_FILE, CONFIG_DIR } = env;
  const [named] = LG_CONFIG_FILE?.split(",") ?? [];
  if (named !== undefined && named !== "") return named;
  if (CONFIG_DIR !== undefined && CONFIG_DIR !== "") return join(CONFIG_DIR, "config.yml");
  const config = env.XDG_CONFIG_HOME || join(homeOf(env), ".config");
  const legacy = join(config, "jesseduffield/lazygit/config.yml");
  return existsSync(legacy) ? legacy : join(config, "lazygit/config.yml");
}

const BEGIN = "# >>> trunkline: made by `trunkline setup lazygit`, and removed with --remove";
const END = "# <<< trunkline";

/** Lazygit's YAML reader has no aliases, and reads a bare Y as true. */
const FORM = { lineWidth: 0, aliasDuplicateObjects: false, version: "1.1" } as const;

/** As lazygit offers them, the usual one first. */
const SEVERITIES = ["should", "must", "nit", "question"];

function choices(values: readonly string[]): object[] {
  return values.map((value) => ({ name: value, value }));
}

/** The custom commands for lazygit. All input goes through `quote`. */
export function lazygitCommands(program: string): readonly object[] {
  /** A menu of the lines that a command prints, each with a value before its text. */
  const menu = (title: string, command: string, name: string, form: string): object => ({
    ...{ type: "menuFromCommand", title, key: title, command: `${program} review ${command}` },
    filter: `^(?P<${name}>${form}+):(?P<text>.*)$`,
    valueFormat: `{{ .${name} }}`,
    labelFormat: `{{ .${name} }} {{ .text }}`,
  });
  const thread = menu("Thread", "list --menu", "id", "[0-9a-z]");
  const comment = (context: string, path: string, version = ""): object => ({
    key: "Y",
    context,
    description: "Trunkline: comment on a line",
    prompts: [
      menu("Line", `lines ${path}${version}`, "line", "-?[0-9]"),
      { type: "menu", title: "Severity", key: "Severity", options: choices(SEVERITIES) },
      { type: "input", title: "Comment", key: "Comment" },
    ],
    command: [
      `${program} review add --file ${path}${version} --line={{.Form.Line}}`,
      "--severity {{.Form.Severity}} --comment={{.Form.Comment | quote}}",
    ].join(" "),
    ...popup,
  });
  const popup = { output: "popup", outputTitle: "Trunkline" };
  return [
    comment("files, staging, stagingSecondary", "{{.SelectedPath | quote}}"),
    comment(
      "commitFiles, patchBuilding",
      "{{.SelectedCommitFile.Name | quote}}",
      " --commit={{.SelectedCommit.Hash | quote}}",
    ),
    {
      key: "<c-g>",
      context: "global",
      description: "Trunkline: reply to a review thread",
      prompts: [thread, { type: "input", title: "Reply", key: "Comment" }],
      command: `${program} review reply {{.Form.Thread}} --comment={{.Form.Comment | quote}}`,
      ...popup,
    },
    {
      key: "<c-y>",
      context: "global",
      description: "Trunkline: review threads",
      prompts: [
        thread,
        {
          type: "menu",
          title: "What to do with it",
          key: "Action",
          options: choices(["show", "resolve", "reopen", "apply"]),
        },
      ],
      command: `${program} review {{.Form.Action}} {{.Form.Thread}}`,
      ...popup,
    },
  ];
}

/**
 * A lazygit configuration with these commands added, and otherwise unchanged. An empty list removes
 * them. Throws if the layout is not supported.
 */
export function withCommands(text: string, commands: readonly object[]): string {
  const before = withoutOurs(text);
  if (commands.length === 0) return before;
  const document = parseDocument(before);
  const [wrong] = document.errors;
  if (wrong !== undefined) throw refusal(wrong.message.split("\n")[0] ?? "it is not YAML");
  if (document.contents !== null && !isMap(document.contents)) throw refusal("it is not a map");
  const after = inserted(before, document.get("customCommands", true), commands);
  const check = parseDocument(after);
  const list: unknown = check.toJS();
  const { customCommands } = list as { customCommands?: unknown[] };
  if (check.errors.length > 0 || customCommands === undefined)
    throw refusal("its layout is not supported");
  return after;
}

function inserted(text: string, present: unknown, commands: readonly object[]): string {
  const ended = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  if (present === undefined) {
    return `${ended}${BEGIN}\n${stringify({ customCommands: commands }, FORM)}${END}\n`;
  }
  if (!isSeq(present) || present.flow === true || present.items.length === 0) {
    throw refusal("write `customCommands` as a block list first, or remove it");
  }
  const [first] = present.items as { range?: [number, number, number] }[];
  const [start = 0, , end = 0] = present.range ?? [];
  // Our items have the same indent.
  const dash = text.lastIndexOf("-", (first?.range?.[0] ?? start) - 1);
  const indent = " ".repeat(dash - (text.lastIndexOf("\n", dash) + 1));
  const block = stringify(commands, FORM).trimEnd().split("\n");
  const ours = [BEGIN, ...block, END].map((line) => `${indent}${line}\n`).join("");
  const head = text.slice(0, end);
  return `${head}${head.endsWith("\n") ? "" : "\n"}${ours}${text.slice(end)}`;
}

function withoutOurs(text: string): string {
  const kept: string[] = [];
  let isOurs = false;
  for (const line of text.split("\n")) {
    if (line.trim() === BEGIN) isOurs = true;
    if (!isOurs) kept.push(line);
    if (line.trim() === END) isOurs = false;
  }
  if (isOurs) throw refusal(`it has no line '${END}' after '${BEGIN}'`);
  return kept.join("\n");
}

function refusal(why: string): TrunklineError {
  return new TrunklineError("config", `Cannot change lazygit's configuration: ${why}.`);
}
