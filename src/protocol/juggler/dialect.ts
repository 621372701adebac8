import { ACP } from "../../rpc/codes.ts";
import type { Dialect } from "../../rpc/peer-options.ts";

/** RemoteJuggler's "Agent Communication Protocol", which the JetBrains IDEs call actions by. */
export const jugglerDialect: Dialect = {
  name: "juggler",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "$/cancel_request", answer: ACP.cancelled },
  methodNotFound: () => "Method not found",
};
