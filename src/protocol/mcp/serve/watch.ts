import { background } from "../../../base/background.ts";
import { personOf, type Principal } from "../../../base/principal.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { mayHave } from "../../../tool/policy.ts";
import type { JsonObject } from "../json-object.ts";
import type { McpDoor, McpRequest } from "./door.ts";
import { EVENTS, LISTS } from "../methods.ts";
import { META } from "../meta.ts";
import type { ListenParams } from "../schema.gen.ts";
import { keptTask, requireTasks } from "./task/answer-tasks.ts";
import type { KnownTask } from "./task/known-task.ts";

type Filter = ListenParams["notifications"];

/** MCP 2025-11-25, server/resources § Subscriptions. */
export async function subscribe(
  door: McpDoor,
  { params: { uri }, client, call }: McpRequest<{ readonly uri: string }>,
): Promise<JsonObject> {
  const { watches, principal } = call.state;
  if (!mayWatch(principal)) {
    throw RpcError.of(STANDARD.invalidParams, "this token may not read resources");
  }
  if (!(await isShown(door, uri, { client, call }))) {
    throw new RpcError(client.codec.resourceNotFound.code, `Resource not found: ${uri}`, { uri });
  }
  // A client that has gone meanwhile would be told for ever.
  if (!watches.has(uri) && !call.aborted) {
    const tell = ifShown(door, uri, { client, call }, () => {
      call.peer.notify(EVENTS.resourceUpdated, { uri });
    });
    watches.set(uri, door.offer.resources.watch(uri, tell));
  }
  return {};
}

/**
 * MCP 2026-07-28, basic/patterns/subscriptions: the acknowledgment comes first, then only what the
 * client asked for, each with the id of this request. It lasts until it is cancelled.
 */
export async function listen(
  door: McpDoor,
  { client, params, call }: McpRequest<ListenParams>,
): Promise<JsonObject> {
  const { offer, tasks } = door;
  const { principal } = call.state;
  const owner = principal.id;
  const person = personOf(principal);
  const { resourceSubscriptions = [], ...others } = params.notifications;
  const shown = await Promise.all(
    resourceSubscriptions.map(async (uri) => {
      return (await isShown(door, uri, { client, call })) ? [uri] : [];
    }),
  );
  const wanted = mayWatch(principal) ? { ...others, resourceSubscriptions: shown.flat() } : others;
  if (wanted.taskIds !== undefined) requireTasks(client);
  const known = await Promise.all((wanted.taskIds ?? []).map((id) => keptTask(door, id, owner)));
  const followed = known.filter((task) => task !== undefined);
  const honoured = honour(wanted, new Set(followed.map(({ id }) => id)));
  const tag = { _meta: { [META.subscriptionId]: JSON.parse(String(call.id)) as unknown } };
  using stops = new DisposableStack();
  call.notify(EVENTS.acknowledged, { notifications: honoured, ...tag });
  const tellOf = (event: (typeof EVENTS)[keyof typeof EVENTS], about: JsonObject = {}) => {
    return (): void => {
      call.notify(event, { ...about, ...tag });
    };
  };
  for (const [kind, part, event] of LISTS) {
    if (honoured[kind] === true) stops.defer(offer[part].onChange(tellOf(event), person));
  }
  for (const uri of honoured.resourceSubscriptions ?? []) {
    const tell = tellOf(EVENTS.resourceUpdated, { uri });
    stops.defer(offer.resources.watch(uri, ifShown(door, uri, { client, call }, tell)));
  }
  const ids = new Set(honoured.taskIds);
  if (ids.size > 0) {
    const tell = (task: KnownTask): void => tellOf(EVENTS.task, client.codec.shapeTask(task))();
    stops.defer(
      tasks.onChange((task) => {
        if (ids.has(task.id)) tell(task);
      }),
    );
    // The present state is sent as well, so that the client need not poll.
    for (const task of followed) tell(task);
  }
  await door.untilEnd(call);
  return tag;
}

type Watcher = Pick<McpRequest<unknown>, "client" | "call">;

/** Whether the client's profile shows the resource, as the profile is now. */
async function isShown(door: McpDoor, uri: string, { client, call }: Watcher): Promise<boolean> {
  const profile = door.profileOf(client, call.state);
  if (profile === undefined) return true;
  return door.offer.resources.isShown(uri, call.state.principal, profile);
}

/** Tells of an update only while the client may see the resource. */
function ifShown(door: McpDoor, uri: string, watcher: Watcher, tell: () => void): () => void {
  return () => {
    if (door.profileOf(watcher.client, watcher.call.state) === undefined) return tell();
    const told = isShown(door, uri, watcher).then((is) => {
      if (is) tell();
    });
    background(told, "Telling of a changed resource");
  };
}

/** Whether there is any resource that a principal might read. */
function mayWatch(principal: Principal): boolean {
  return mayHave(principal, "tools") || mayHave(principal, "review");
}

/** The part of the filter that we can serve. */
function honour(wanted: Filter, tasks: ReadonlySet<string>): Filter {
  const { resourceSubscriptions = [], taskIds = [] } = wanted;
  const kinds = LISTS.filter(([kind]) => wanted[kind] === true);
  return {
    ...(Object.fromEntries(kinds.map(([kind]) => [kind, true])) as Filter),
    ...(resourceSubscriptions.length > 0 ? { resourceSubscriptions } : {}),
    ...(taskIds.length > 0 ? { taskIds: taskIds.filter((id) => tasks.has(id)) } : {}),
  };
}
