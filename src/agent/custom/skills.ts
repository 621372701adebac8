import { dirname, join } from "node:path";

import { visibleLine } from "../../base/text/visible.ts";
import { type AgentTool, inputOf } from "../tools/agent-tool.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isInside } from "../files/workspace.ts";
import { type CustomRoot, findFiles, type FoundFile, readCustom } from "./custom-files.ts";
import { splitMarkdown } from "./front-matter.ts";

/** A folder with a `SKILL.md` (agentskills.io, Specification): instructions that are loaded on demand. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly file: FoundFile;
}

const FILE = "SKILL.md";
const MOST_SKILLS = 64;
const LONGEST_DESCRIPTION = 1024;
/** Characters of the list that every request to a model carries. */
const MOST_LISTED = 8_000;
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

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
      if (!NAME.test(name) || description.trim() === "" || skills.has(name)) continue;
      const about = visibleLine(description.trim().replaceAll(/\s+/g, " "));
      skills.set(name, { name, file, description: about.slice(0, LONGEST_DESCRIPTION) });
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
export function loadSkill(skills: readonly Skill[]): AgentTool {
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
