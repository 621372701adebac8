import type { Peer } from "../../../../rpc/peer.ts";
import type { Route } from "../../../../rpc/route.ts";
import type { Connection } from "../connection.ts";
import type { McpDoor } from "../door.ts";
import { EVENTS, METHODS } from "../../methods.ts";

/** Most clients have no tasks. */
const load = () => import("./answer-tasks.ts");

/** Tasks, as 2025-11-25 has them and as the extension of 2026-07-28 does. */
export function serveTasks(door: McpDoor): Route<Connection>[] {
  const { routes } = door;
  return [
    routes.serve(METHODS.getTask, async (request) => {
      const task = await (await load()).findTask(door, request);
      return request.client.codec.shapeTask(task);
    }),
    routes.serve(METHODS.cancelTask, async (request) => {
      return request.client.codec.cancelTask(await (await load()).findTask(door, request));
    }),
    routes.serve(METHODS.updateTask, async (request) => {
      (await (await load()).findTask(door, request)).give(request.params.inputResponses);
      return {};
    }),
    routes.serve(METHODS.listTasks, async (request) => (await load()).listTasks(door, request)),
    routes.serve(METHODS.taskResult, async (request) => (await load()).taskResult(door, request)),
  ];
}

/**
 * Tells the client of a session when the status of a task changes that it began there. Clients
 * without sessions listen for that (`subscriptions/listen`). Returns how to stop it.
 */
export function tellOfTasks(
  door: McpDoor,
  connection: Connection,
  peer: Peer<Connection>,
): () => void {
  return door.tasks.onChange((task) => {
    if (!connection.tasks.has(task.id)) return;
    peer.notify(EVENTS.taskStatus, connection.client.codec.shapeTask(task));
  });
}
