import { STANDARD } from "../../rpc/codes.ts";
import { type Route, route } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { AcpConnection } from "./connection.ts";
import type { AcpDoor } from "./door.ts";
import { METHODS } from "./methods.ts";

/** Getting to know each other. */
export function serveConnection(door: AcpDoor): Route<AcpConnection>[] {
  const { maxSize, timeout } = door.serve(METHODS.initialize, () => {});
  return [
    // Not asynchronous: what is answered first is what an editor waits for when it starts.
    route(METHODS.initialize, (params, call) => call.state.introduce(params).hello(door.info), {
      ...(maxSize === undefined ? {} : { maxSize }),
      ...(timeout === undefined ? {} : { timeout }),
    }),
    door.serve(METHODS.authenticate, ({ methodId }) => {
      const why = `'params.methodId' is '${methodId}', but no authentication is asked for`;
      throw RpcError.of(STANDARD.invalidParams, why);
    }),
    door.serve(METHODS.logout, () => ({})),
  ];
}
