import { TrunklineError } from "../../base/errors.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import type { BusRequest } from "../../protocol/bus/connect.ts";
import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import { type Guest, nameOf } from "../guests.ts";
import { SHARED, approving } from "../plugin/permissions.ts";
import type { AskedPlugin } from "../plugin/plugin.ts";
import { DEFAULT_STORAGE } from "./serve-storage.ts";
import { storageFolder, storagePath } from "./storage.ts";

/** Routes requests for storage to the plugin that provides its kind, or to our own storage. */
export function routeStorage(
  providerOf: (type: string) => AskedPlugin | undefined,
  isNested: (call: BusCall) => boolean,
  own: BusHandlers,
): BusHandlers {
  // Once a change was sent, nobody knows whether it was made: its caller has versions to find out.
  const reads: readonly string[] = ["storageRead", "storageList"];
  const route = (kind: keyof BusHandlers) => async (value: TypedRequest, call: BusCall) => {
    const plugin = providerOf(value.storageType || DEFAULT_STORAGE);
    if (plugin === undefined) return (own[kind] as Handler | undefined)?.(value as never, call);
    const asking = reads.includes(kind) ? { signal: call.signal, again: true } : {};
    const request = { case: kind, value } as BusRequest;
    const link = await plugin.link();
    const { response } = await link.ask(request, { ...asking, isNested: isNested(call) });
    if (response.case === undefined) throw new Error("The plugin gave an empty answer");
    return response;
  };
  const kinds = ["storageRead", "storageWrite", "storageDelete", "storageList"] as const;
  return Object.fromEntries(kinds.map((kind) => [kind, route(kind)]));
}

interface TypedRequest {
  readonly storageType: string;
}

/** Requests of one guest to our own storage that run at once; more wait. */
const AT_ONCE = 4;

type Handler = (value: never, call: BusCall) => unknown;

/**
 * Keeps one guest from using the disk alone. Waiting cannot deadlock: our own storage calls nobody.
 */
export function limitStorage(handlers: BusHandlers): BusHandlers {
  const slots = new Semaphore({ runningEach: AT_ONCE });
  const limited = Object.entries(handlers as Record<string, Handler>).map(([kind, handle]) => {
    const inTurn = (value: never, call: BusCall): Promise<unknown> =>
      slots.run(() => handle(value, call), { key: nameOf(call.connection), signal: call.signal });
    return [kind, inTurn];
  });
  return Object.fromEntries(limited) as BusHandlers;
}

/** Where the documents of namespaces are, each in a folder of its name. */
const NAMESPACES = ".plugins";

/**
 * Keeps each guest to the documents of its namespace, whoever stores them. It names them as if there
 * were no others: a path leads into the folder of its namespace, and a list has paths of that folder.
 */
export function namespacedStorage(
  handlers: BusHandlers,
  guestOf: (call: BusCall) => Pick<Guest, "name" | "namespace">,
): BusHandlers {
  const { storageRead, storageWrite, storageDelete, storageList } = handlers;
  const within = (call: BusCall, path: string): string => {
    const inside = storagePath(path);
    const folder = folderOf(guestOf(call));
    if (folder === "") refuseForeign(inside);
    return folder + inside;
  };
  return {
    storageRead: (value, call) => storageRead?.({ ...value, path: within(call, value.path) }, call),
    storageWrite: (value, call) => {
      let path: string;
      try {
        path = within(call, value.path);
      } catch (error) {
        // The answer to a write has a field for the reason.
        if (!(error instanceof TrunklineError)) throw error;
        return { case: "storageWrite", value: { success: false, error: error.message } };
      }
      return storageWrite?.({ ...value, path }, call);
    },
    storageDelete: (value, call) =>
      storageDelete?.({ ...value, path: within(call, value.path) }, call),
    storageList: async (value, call) => {
      const folder = folderOf(guestOf(call));
      const inside = storageFolder(value.prefix);
      if (folder === "") refuseForeign(inside);
      // Providers may take it for the beginning of a path, as it is.
      const end = inside !== "" && value.prefix.endsWith("/") ? "/" : "";
      const prefix = folder === "" ? value.prefix : folder + inside + end;
      const answer = await storageList?.({ ...value, prefix }, call);
      if (answer?.case !== "storageList") return answer;
      const entries = (answer.value.entries ?? [])
        .filter(({ path = "" }) => (folder === "" ? !isForeign(path) : path.startsWith(folder)))
        .map((entry) => ({ ...entry, path: (entry.path ?? "").slice(folder.length) }));
      return { ...answer, value: { ...answer.value, entries } as typeof answer.value };
    },
  };
}

/** The folder of a guest's documents, with a slash; empty for those that are shared. */
function folderOf({ name, namespace }: Pick<Guest, "name" | "namespace">): string {
  if (namespace === SHARED) return "";
  if (namespace !== undefined) {
    // Where the file system does not tell small letters from large ones, ids do.
    const folder = storagePath(namespace).replace(/[A-Z]/g, "^$&");
    return `${NAMESPACES}/${folder}/`;
  }
  const why = "nobody was asked whether it may use the documents of before, which plugins share";
  throw new TrunklineError(
    "untrusted",
    `'${name}' may not use storage: ${why}. ${approving(name)}`,
  );
}

function isForeign(path: string): boolean {
  return (
    path
      .toLowerCase()
      .split("/")
      .find((part) => part !== "" && part !== ".") === NAMESPACES
  );
}

function refuseForeign(path: string): void {
  if (!isForeign(path)) return;
  const why = `'${NAMESPACES}' holds the documents of single plugins`;
  throw new TrunklineError("untrusted", `Cannot use the path '${path}': ${why}`);
}
