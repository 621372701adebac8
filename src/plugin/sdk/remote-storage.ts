import { timestampDate } from "@bufbuild/protobuf/wkt";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { StorageReadResponse } from "../../protocol/bus/plugin.gen.ts";
import { EXPECT_ANYTHING } from "../storage/storage.ts";
import type { PluginStorage, StoredDocument } from "./context.ts";
import { ToolError } from "./tool-error.ts";

const STORAGE = "The storage";

/** The storage of a type that an orchestrator leads to; the default one where the type is empty. */
export function remoteStorage(
  client: Pick<BusClient, "ask">,
  storageType = "",
  signal?: AbortSignal,
): PluginStorage {
  return {
    of: (type) => remoteStorage(client, type, signal),
    read: async (path) => {
      const request = { case: "storageRead", value: { path, storageType } } as const;
      const answer = await client.ask(request, { signal, again: true });
      return documentOf(answerOf(STORAGE, answer, "storageRead"));
    },
    write: async (path, content, { version = EXPECT_ANYTHING, metadata } = {}) => {
      const value = {
        path,
        content: typeof content === "string" ? Buffer.from(content) : content,
        expectedVersion: BigInt(version),
        storageType,
        ...(metadata === undefined ? {} : { metadata: toStruct(metadata, "metadata") }),
      };
      const answer = await client.ask({ case: "storageWrite", value }, { signal });
      const { success, newVersion, error } = answerOf(STORAGE, answer, "storageWrite");
      if (!success) throw new ToolError("storage_error", error || `Cannot write '${path}'`);
      return Number(newVersion);
    },
    delete: async (path) => {
      const request = { case: "storageDelete", value: { path, storageType } } as const;
      return answerOf(STORAGE, await client.ask(request, { signal }), "storageDelete").success;
    },
    list: async (prefix = "", pattern = "") => {
      const value = { prefix, pattern, storageType };
      const answer = await client.ask({ case: "storageList", value }, { signal, again: true });
      return answerOf(STORAGE, answer, "storageList").entries.map((entry) => ({
        path: entry.path,
        size: Number(entry.size),
        version: Number(entry.version),
        modifiedAt: entry.modifiedAt === undefined ? new Date(0) : timestampDate(entry.modifiedAt),
      }));
    },
  };
}

/** On the bus, an empty answer means that there is no document. */
function documentOf(response: StorageReadResponse): StoredDocument | undefined {
  const { content, metadata, version } = response;
  if (version === 0n && content.length === 0 && metadata === undefined) return undefined;
  return {
    content,
    get text() {
      return new TextDecoder().decode(content);
    },
    metadata: metadata ?? {},
    version: Number(version),
  };
}
