import { addCommand, type InstalledAgent } from "../installed-agents.ts";
import { type ModelSource, OFFLINE } from "../models/models.ts";
import type { CommandContext, DescribedCommand, SlashCommand } from "./session-commands.ts";

export const help: SlashCommand = {
  name: "help",
  description: "Say what can be done here",
  run: async (_, context) => `${commandList(context.commands)}\n\n${modelText(context)}\n`,
};

function commandList(commands: readonly DescribedCommand[]): string {
  const lines = commands.map(({ name, hint, description }) => {
    return `- \`/${name}${hint === undefined ? "" : ` ${hint}`}\`: ${description}`;
  });
  return lines.join("\n");
}

type ModelFacts = Pick<CommandContext, "failures" | "found" | "installed">;

function modelText(context: CommandContext): string {
  const { model } = context.choices;
  if (model.id !== OFFLINE.id) return `Everything else goes to the model ${model.id}.`;
  return `No language model is in use. ${wayOn(context)}`;
}

/** How to get a model: choose one that was found, repair a provider that failed, or set one up. */
function wayOn({ failures, found, installed }: ModelFacts): string {
  return [modelWay({ failures, found }), ...installed.map(agentWay)].join(" ");
}

function agentWay(agent: InstalledAgent): string {
  return `Or use ${agent.name}, which is installed: \`${addCommand(agent)}\`.`;
}

function modelWay({ failures, found }: Omit<ModelFacts, "installed">): string {
  if (found.length > 0) {
    const names = found.slice(0, MOST_NAMES).map((id) => `\`${id}\``);
    const rest = found.length > MOST_NAMES ? ` and ${found.length - MOST_NAMES} more` : "";
    return (
      `On this machine there is ${names.join(", ")}${rest}. Any program can listen there, so it is ` +
      "used only when you choose it: in your editor's menu of models, or as `models.default`."
    );
  }
  if (failures.size === 0) return HOW_TO_GET_ONE;
  const whys = [...failures].map(([provider, why]) => `The provider ${provider} failed: ${why}.`);
  return `${whys.join(" ")} Check its address and its key, then begin a new session.`;
}

const MOST_NAMES = 5;

const HOW_TO_GET_ONE =
  "To have one: store a key by `trunkline model key set ANTHROPIC_API_KEY` (or `OPENAI_API_KEY`, " +
  "`GOOGLE_GENERATIVE_AI_API_KEY`), set `OPENAI_BASE_URL` for a server that speaks OpenAI's API, or " +
  "start Ollama, LM Studio or llama.cpp on this machine; then begin a new session and choose the model.";

/** Why a task cannot be done without a model, and what to do. */
export function noModelText(
  models: Pick<ModelSource, "list" | "failures">,
  installed: readonly InstalledAgent[],
): string {
  const facts = { failures: models.failures, found: foundModels(models), installed };
  return `Cannot do this: no language model is set up. ${wayOn(facts)}`;
}

export function foundModels(models: Pick<ModelSource, "list">): string[] {
  return models.list().flatMap(({ id, isFound }) => (isFound === true ? [id] : []));
}

/** The answer to free text without a model. */
export function offlineText(commands: readonly DescribedCommand[], facts: ModelFacts): string {
  return (
    "I am Trunkline without a language model, so I cannot understand free text. These commands do " +
    `what they say:\n\n${commandList(commands)}\n\n${wayOn(facts)}\n`
  );
}
