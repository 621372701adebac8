import type { ContentBlock } from "../../session/agent.ts";
import type { AgentTool } from "../tools/agent-tool.ts";
import { commandPrompt, type CustomCommand, findCommands } from "./custom-commands.ts";
import { type CustomRoot, customRoots } from "./custom-files.ts";
import { findSkills, loadSkill, type Skill, skillsText } from "./skills.ts";

export interface CustomsOptions {
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
export class Customs {
  readonly #roots: readonly CustomRoot[];
  readonly #taken: ReadonlySet<string>;
  commands: readonly CustomCommand[] = [];
  #skills: readonly Skill[] = [];

  constructor({ cwd, user, taken }: CustomsOptions) {
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
