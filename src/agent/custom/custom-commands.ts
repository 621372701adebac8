import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { ContentBlock } from "../../session/agent.ts";
import { isInside } from "../files/workspace.ts";
import { type AgentTool, inputOf } from "../tools/agent-tool.ts";

interface CustomCommandsOptions {
  readonly cwd: string;
  /** The user's own folders, which may have `commands` and `skills`. */
  readonly user: readonly string[];
  /** Names of commands that files cannot replace. */
  readonly taken: ReadonlySet<string>;
}

/**
 * The commands and skills of a project and of its user. A project's files are untrusted: they are texts
 * that a person or a model can choose to use, and nothing in them is run.
 */
export class CustomCommands {
  readonly #roots: readonly CustomRoot[];
  readonly #taken: ReadonlySet<string>;
  commands: readonly CustomCommand[] = [];
  #skills: readonly Skill[] = [];

  constructor({ cwd, user, taken }: CustomCommandsOptions) {
    this.#roots = customRoots(cwd, user);
    this.#taken = taken;
  }

  /** Looks for them again. Returns whether the commands have changed. */
  async refresh(): Promise<boolean> {
    const [commands, skills] = await Promise.all([
      findCommands(this.#roots, this.#taken),
      findSkills(this.#roots),
    ]);
    const hasChanged = JSON.stringify(commands) !== JSON.stringify(this.commands);
    this.commands = commands;
    this.#skills = skills;
    return hasChanged;
  }

  /** What the model is told about the skills. */
  get instructions(): string {
    return skillsText(this.#skills);
  }

  addTools(tools: Map<string, AgentTool>): ReadonlyMap<string, AgentTool> {
    const tool = this.#skills.length === 0 ? undefined : loadSkill(this.#skills);
    return tool === undefined ? tools : tools.set(tool.name, tool);
  }

  /** The prompt that a command stands for, with what was attached to it. Undefined without such a command. */
  async promptOf(
    typed: { readonly name: string; readonly input: string },
    prompt: readonly ContentBlock[],
  ): Promise<readonly ContentBlock[] | undefined> {
    const command = this.commands.find(({ name }) => name === typed.name);
    const text = command === undefined ? undefined : await commandPrompt(command, typed.input);
    if (text === undefined) return undefined;
    return [{ type: "text", text }, ...prompt.filter(({ type }) => type !== "text")];
  }
}

/** A folder that may have `commands` and `skills`. */
interface CustomRoot {
  readonly origin: "project" | "user";
  readonly folder: string;
  /** Links that lead out of this folder are not followed. Undefined for the user's own files. */
  readonly boundary?: string;
}

interface FoundFile {
  /** Relative to the folder that was searched, with slashes. */
  readonly name: string;
  readonly path: string;
  readonly root: CustomRoot;
}

/** Characters of one file. */
export const LARGEST = 64 * 1024;
/** Entries of folders that one search looks at. */
const MOST_ENTRIES = 2_000;

const PROJECT_ROOTS = [".trunkline", ".agents", ".claude"];

/** Where commands and skills are looked for; the first that has a name counts. */
export function customRoots(cwd: string, user: readonly string[]): CustomRoot[] {
  return [
    ...PROJECT_ROOTS.map((name) => {
      return { origin: "project", folder: join(cwd, name), boundary: cwd } as const;
    }),
    ...user.map((folder) => ({ origin: "user", folder }) as const),
  ];
}

interface SearchOptions {
  readonly depth: number;
  readonly most: number;
  readonly accepts: (name: string) => boolean;
}

/** The files below a folder of a root, in the order of their names; none if it is not there. */
async function findFiles(
  root: CustomRoot,
  folder: string,
  { depth, most, accepts }: SearchOptions,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  let left = MOST_ENTRIES;
  const visit = async (path: string, prefix: string, levels: number): Promise<void> => {
    const real = await allowed(path, root);
    if (real === undefined) return;
    const names = await readdir(real).catch(() => []);
    for (const entry of names.toSorted((a, b) => (a < b ? -1 : 1))) {
      if (found.length >= most || --left < 0) return;
      const full = join(path, entry);
      const name = prefix + entry;
      if (accepts(name)) found.push({ name, path: full, root });
      else if (levels > 1 && (await isFolder(full))) await visit(full, `${name}/`, levels - 1);
    }
  };
  await visit(join(root.folder, folder), "", depth);
  return found;
}

/** The text of a file; undefined if it is not a readable text of a moderate size inside its boundary. */
function readCustom(path: string, { boundary }: CustomRoot): string | undefined {
  return attempt(() => {
    const inside = boundary === undefined ? {} : { inside: [boundary] };
    const bytes = readRegularFile(path, { most: LARGEST, ...inside });
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return bytes === undefined || text.includes("\0") ? undefined : text;
  });
}

/** The path without links, if it stays inside of the boundary. */
async function allowed(path: string, { boundary }: CustomRoot): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || boundary === undefined) return real;
  const limit = await realpath(boundary).catch(() => boundary);
  return isInside(real, [limit]) ? real : undefined;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** A slash command that a Markdown file describes: its text is the prompt. */
interface CustomCommand {
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

async function describe(text: string, { origin }: CustomRoot) {
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
async function commandPrompt({ file }: CustomCommand, input: string): Promise<string | undefined> {
  const text = readCustom(file.path, file.root);
  return text === undefined ? undefined : withArguments((await splitMarkdown(text)).body, input);
}

/**
 * Puts in the arguments: `$ARGUMENTS` are all of them, `$1` is the first. They are put at the end where
 * the text has no place for them. Nothing else in the text is replaced, and nothing of it is run.
 */
export function withArguments(text: string, input: string): string {
  const words = [...input.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
  let isPlaced = false;
  const filled = text.replaceAll(/\$(?:ARGUMENTS\b|([1-9])(?!\d))/g, (_, place?: string) => {
    isPlaced = true;
    return place === undefined ? input : (words[Number(place) - 1] ?? "");
  });
  return isPlaced || input === "" ? filled : `${filled}\n\nArguments: ${input}`;
}

/** A folder with a `SKILL.md` (agentskills.io, Specification): instructions that are loaded on demand. */
interface Skill {
  readonly name: string;
  readonly description: string;
  readonly file: FoundFile;
}

const FILE = "SKILL.md";
const MOST_SKILLS = 64;
const LONGEST_ABOUT = 1024;
/** Characters of the list that every request to a model carries. */
const MOST_LISTED = 8_000;
const SKILL_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** The skills of all roots; of two with the same name, the first. */
export async function findSkills(roots: readonly CustomRoot[]): Promise<Skill[]> {
  const skills = new Map<string, Skill>();
  for (const root of roots) {
    const accepts = (name: string): boolean => name.endsWith(`/${FILE}`);
    for (const file of await findFiles(root, "skills", { depth: 6, most: MOST_SKILLS, accepts })) {
      const text = readCustom(file.path, root);
      if (text === undefined || skills.size >= MOST_SKILLS) continue;
      const { fields } = await splitMarkdown(text);
      const name = file.name.split("/").at(-2) ?? "";
      const { description = "" } = fields;
      // Without a description, a model cannot know when to use it.
      if (!SKILL_NAME.test(name) || description.trim() === "" || skills.has(name)) continue;
      const about = visibleLine(description.trim().replaceAll(/\s+/g, " "));
      skills.set(name, { name, file, description: about.slice(0, LONGEST_ABOUT) });
    }
  }
  return [...skills.values()];
}

/** What the model is told about the skills before it loads one. */
export function skillsText(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const lines: string[] = [];
  let size = 0;
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    if ((size += line.length) > MOST_LISTED) break;
    lines.push(line);
  }
  const head = "Skills: instructions for certain tasks. Load a skill that fits before you begin.";
  return `\n\n${head}\n${lines.join("\n")}`;
}

/** The tool that gives a model the text of a skill, or a file that belongs to it. */
function loadSkill(skills: readonly Skill[]): AgentTool {
  return {
    name: "load_skill",
    description: "Loads the instructions of a skill, or one of the text files in its folder.",
    inputSchema: inputOf(
      {
        name: { enum: skills.map(({ name }) => name) },
        file: { type: "string", description: `In the skill's folder; default ${FILE}.` },
      },
      ["name"],
    ),
    kind: "read",
    need: "nothing",
    title: ({ name }) => `Load the skill ${String(name)}`,
    async call(args) {
      const { name, file = FILE } = args as { name: string; file?: string };
      const skill = skills.find((each) => each.name === name) as Skill;
      const text = await fileOf(skill, file);
      return { text, content: [], locations: [{ path: join(dirname(skill.file.path), file) }] };
    },
  };
}

async function fileOf({ name, file: { path, root } }: Skill, wanted: string): Promise<string> {
  const folder = dirname(path);
  const target = join(folder, wanted);
  // The user's skills may be links to anywhere, but a model may not leave a skill's folder by `..`.
  const text = isInside(target, [folder]) ? readCustom(target, root) : undefined;
  if (text === undefined) {
    const says = `The skill '${name}' has no text file '${wanted.slice(0, 200)}' that can be read`;
    throw new TrunklineError("not-found", says);
  }
  if (wanted !== FILE) return text;
  const files = await findFiles({ ...root, folder }, "", {
    depth: 3,
    most: 50,
    accepts: (each) => /\.\w+$/.test(each) && each !== FILE,
  });
  const { body } = await splitMarkdown(text);
  const others = files.map((each) => each.name).join(", ");
  return others === "" ? body : `${body}\n\n(Files of this skill: ${others}.)`;
}

interface Markdown {
  /** The fields at the top that are texts. */
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Longer front matter counts as text. */
const MOST_CHARACTERS = 16_000;

/** Splits a Markdown file into its YAML front matter and its body. */
export async function splitMarkdown(text: string): Promise<Markdown> {
  const [whole, head] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m.exec(text) ?? [];
  const isFirst = whole !== undefined && text.startsWith(whole);
  if (!isFirst || head === undefined || head.length > MOST_CHARACTERS) {
    return { fields: {}, body: text.trim() };
  }
  return { fields: await fieldsOf(head), body: text.slice(whole.length).trim() };
}

async function fieldsOf(head: string): Promise<Record<string, string>> {
  const { parse } = await import("yaml");
  try {
    const fields = parse(head, { schema: "failsafe", logLevel: "error" }) as unknown;
    if (typeof fields === "object" && fields !== null && !Array.isArray(fields)) {
      const texts = Object.entries(fields).filter(([, value]) => typeof value === "string");
      return Object.fromEntries(texts);
    }
  } catch {
    // Many such files are not strict YAML: `description: Use it when: …`.
  }
  const lines = head.split(/\r?\n/).map((line) => /^([\w-]+):[ \t]*(.*)$/.exec(line));
  const pairs = lines.flatMap((found): [string, string][] => {
    return found === null ? [] : [[found[1] ?? "", found[2] ?? ""]];
  });
  return Object.fromEntries(pairs);
}
