import { TrunklineError } from "../../base/errors.ts";
import { ownAcpChannel, remoteAcpChannel } from "../../app/door/acp-channel.ts";
import type { AppContext } from "../../gateway/app-context.ts";
import { ownerTokenFor } from "../../server/http/local-gateway.ts";
import { readForeignId } from "../../session/foreign/foreign-id.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";

/**
 * A channel to the gateway at a URL, or to a door in this process, which reaches sessions that
 * another process holds. A gateway with the same data folder gets the owner's token.
 */
export async function openChannel(
  app: AppContext,
  opened: AsyncDisposableStack,
  url: string | undefined,
  { TRUNKLINE_TOKEN: token }: NodeJS.ProcessEnv,
): Promise<ReturnType<typeof ownAcpChannel>> {
  if (url === undefined) return ownAcpChannel(app, opened);
  if (token !== undefined) return remoteAcpChannel(url, token);
  const own = await ownerTokenFor(app.config.data, url);
  return remoteAcpChannel(own?.url ?? url, own?.token);
}

/**
 * The session with this id. One that only a gateway elsewhere knows, or an agent that began it itself, is
 * passed on as it is.
 */
export async function findSession(
  app: AppContext,
  id: string,
  isElsewhere: boolean,
  cwd: string,
): Promise<{ sessionId: string; cwd: string; agent?: string }> {
  await using commands = await SessionCommands.open(app.config.data);
  try {
    const { id: sessionId, cwd: folder, agent } = await commands.find(id);
    return { sessionId, cwd: folder, agent };
  } catch (error) {
    const isKnown = isElsewhere || readForeignId(id) !== undefined;
    if (isKnown && error instanceof TrunklineError) return { sessionId: id, cwd };
    throw error;
  }
}
