import { TrunklineError } from "../base/errors.ts";
import type { SessionClient } from "./client/client.ts";
import type { Session } from "./session.ts";
import { choicesOf, optionOf } from "./settings.ts";

/** Changes the mode of a session. */
export async function chooseMode(
  session: Session,
  modeId: string,
  by?: SessionClient,
): Promise<void> {
  await session.inOrder(async () => {
    const { agent, settings } = session;
    const ids = settings.modes?.availableModes.map(({ id }) => id) ?? [];
    mustBeOne("the mode", modeId, ids);
    const option = optionOf(agent.settings.configOptions ?? [], "mode");
    if (agent.setMode !== undefined) await agent.setMode(modeId);
    else if (option !== undefined) await agent.setConfigOption?.(option.id, modeId);
    await session.chose({ setting: "mode", id: modeId }, by);
  });
}

/** Changes the model of a session. */
export async function chooseModel(
  session: Session,
  modelId: string,
  by?: SessionClient,
): Promise<void> {
  await session.inOrder(async () => {
    const { agent, settings } = session;
    const ids = settings.models?.availableModels.map((model) => model.modelId) ?? [];
    mustBeOne("the model", modelId, ids);
    const option = optionOf(agent.settings.configOptions ?? [], "model");
    if (agent.setModel !== undefined) await agent.setModel(modelId);
    else if (option !== undefined) await agent.setConfigOption?.(option.id, modelId);
    await session.chose({ setting: "model", id: modelId }, by);
  });
}

/** Changes a config option of a session. The option may stand for the mode or the model. */
export async function chooseOption(
  session: Session,
  id: string,
  value: unknown,
  by?: SessionClient,
): Promise<void> {
  const options = session.settings.configOptions ?? [];
  const option = options.find((one) => one.id === id);
  if (option === undefined) {
    const ids = options.map((one) => String(one.id));
    throw new TrunklineError("usage", `Cannot set '${id}': no such option. ${listOf(ids)}`);
  }
  if (option.type === "boolean" && typeof value !== "boolean") {
    throw new TrunklineError(
      "usage",
      `Cannot set '${id}' to ${show(value)}: it must be true or false.`,
    );
  }
  if (option.type === "select") {
    mustBeOne(
      `'${id}'`,
      value,
      choicesOf(option).map((choice) => choice.value),
    );
  }
  const isOwn = session.agent.settings.configOptions?.some((one) => one.id === id) ?? false;
  if (!isOwn && id === "mode") return chooseMode(session, String(value), by);
  if (!isOwn && id === "model") return chooseModel(session, String(value), by);
  return session.inOrder(async () => {
    await session.agent.setConfigOption?.(id, value);
    await session.chose({ setting: "option", id, value }, by);
  });
}

function mustBeOne(what: string, value: unknown, known: readonly string[]): void {
  if (typeof value === "string" && known.includes(value)) return;
  const problem = `Cannot set ${what} to ${show(value)}: no such value. ${listOf(known)}`;
  throw new TrunklineError("usage", problem);
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? "Nothing is available." : `Available: ${names.join(", ")}.`;
}

function show(value: unknown): string {
  return typeof value === "string" ? `'${value.slice(0, 64)}'` : typeof value;
}
