import type { Route } from "../../../rpc/route.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { METHODS } from "../methods.ts";

/** Hearing of changes: by `resources/subscribe` in sessions, by `subscriptions/listen` without. */
export function serveWatching(door: McpDoor): Route<Connection>[] {
  const { routes } = door;
  return [
    routes.serve(METHODS.subscribe, async (request) => {
      const { subscribe } = await import("./watch.ts");
      return subscribe(door, request);
    }),
    routes.serve(METHODS.unsubscribe, ({ params: { uri }, call }) => {
      call.state.watches.get(uri)?.();
      call.state.watches.delete(uri);
      return {};
    }),
    routes.serve(METHODS.listen, async (request) => {
      const { listen } = await import("./watch.ts");
      return listen(door, request);
    }),
  ];
}
