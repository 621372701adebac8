import type { Route } from "../../rpc/route.ts";
import { chooseMode, chooseModel, chooseOption } from "../../session/choose.ts";
import type { AcpConnection } from "./connection.ts";
import type { AcpDoor } from "./door.ts";
import { METHODS } from "./methods.ts";

/** Choosing how a session works, in the message specification's form and in today's. */
export function serveSettings(door: AcpDoor): Route<AcpConnection>[] {
  const need = async (id: string, client: AcpConnection) => door.session(id, client);
  return [
    door.serve(METHODS.setMode, async ({ sessionId, modeId }, { state }) => {
      await chooseMode(await need(sessionId, state), modeId, state);
      return {};
    }),
    door.serve(METHODS.setModel, async ({ sessionId, modelId }, { state }) => {
      await chooseModel(await need(sessionId, state), modelId, state);
      return {};
    }),
    door.serve(METHODS.setConfigOption, async ({ sessionId, configId, value }, { state }) => {
      const session = await need(sessionId, state);
      await chooseOption(session, configId, value, state);
      return { configOptions: session.settings.configOptions ?? [] };
    }),
  ];
}
