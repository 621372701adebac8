import { TrunklineError } from "../../base/errors.ts";
import type { Route } from "../../rpc/route.ts";
import type { ContentBlock } from "../../session/agent.ts";
import { type AcpConnection, ours } from "./connection.ts";
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
        const { whileRunning: wish } = ours(meta);
        const whileRunning = wish === "steer" || wish === "queue" ? wish : undefined;
        const end = session.prompt({ prompt, client, meta, whileRunning });
        const stopped = (reason: Error): void => {
          // The client gave it up. A connection that is lost calls nothing off.
          if (reason instanceof TrunklineError && reason.code === "cancelled") session.cancel();
        };
        // One that only joins a turn does not end it.
        if (whileRunning === undefined) call.add({ stopped });
        return end;
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
