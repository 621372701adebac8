import { TrunklineError } from "../../base/errors.ts";
import { ACP } from "../../rpc/codes.ts";
import type { Route } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { ContentBlock } from "../../session/agent.ts";
import type { AcpConnection } from "./connection.ts";
import { ours } from "./json-object.ts";
import type { AcpDoor } from "./door.ts";
import { METHODS } from "./methods.ts";
import { checkPrompt } from "./prompt-content.ts";

/** Having an agent work, and calling it off. */
export function servePrompts(door: AcpDoor): Route<AcpConnection>[] {
  return [
    door.serve(
      METHODS.prompt,
      async (params, call) => {
        const prompt = params.prompt as readonly ContentBlock[];
        checkPrompt(prompt);
        const found = door.session(params.sessionId, call.state);
        const session = found instanceof Promise ? await found : found;
        const client = call.state;
        if (!session.isAttached(client)) session.attach(client);
        const meta = params._meta ?? undefined;
        const whileRunning = wishOf(meta) ?? (client.isEchoed ? "queue" : undefined);
        const taken = Promise.withResolvers<unknown>();
        let isWanted = true;
        let isTaken = false;
        const end = session.prompt({
          prompt,
          client,
          meta,
          whileRunning,
          inserted: (messageId) => {
            isTaken = true;
            taken.resolve({ messageId });
          },
          isWanted: () => isWanted,
        });
        const stopped = (reason: Error): void => {
          // The client gave it up. A connection that is lost calls nothing off.
          if (!(reason instanceof TrunklineError) || reason.code !== "cancelled") return;
          isWanted = false;
          // One that waits for a turn, or only joins it, does not end it.
          if (isTaken && whileRunning !== "steer") session.cancel();
        };
        call.add({ stopped });
        if (!client.isEchoed) return end;
        // Once it is taken, what becomes of it is told by what is shown.
        end.then(() => taken.reject(RpcError.of(ACP.cancelled)), taken.reject);
        return taken.promise;
      },
      // The session counts the time without progress, which goes on when the connection does not.
      { isPatient: true },
    ),
    door.serve(METHODS.cancel, ({ sessionId }, { state }) => {
      const session = door.opened?.get(sessionId);
      if (session !== undefined && state.mayUse(session.notes.owner)) session.cancel();
    }),
  ];
}

function wishOf(meta: unknown): "steer" | "queue" | undefined {
  const { whileRunning: wish } = ours(meta);
  return wish === "steer" || wish === "queue" ? wish : undefined;
}
