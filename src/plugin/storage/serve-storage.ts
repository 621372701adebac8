import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import type { Storage } from "./storage.ts";

/** Orchestra's routing: the storage of a request that names none. */
export const DEFAULT_STORAGE = "markdown";

export interface StorageService {
  /** The storage of a kind. Throws if there is none. */
  readonly storageFor: (type: string) => Storage | Promise<Storage>;
  /** Reports why something could not be deleted: the answer has no field for it. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/**
 * Answers requests for documents. What is not there is an empty document at version 0; what cannot be
 * read or listed is answered with the failure that stands for any answer.
 */
export function serveStorage({ storageFor, report }: StorageService): BusHandlers {
  const open = async (type: string): Promise<Storage> => {
    const kind = type || DEFAULT_STORAGE;
    try {
      return await storageFor(kind);
    } catch (error) {
      throw explained(error, kind);
    }
  };
  return {
    storageRead: async ({ path, storageType }) => {
      const found = await (await open(storageType)).read(path);
      if (found === undefined) return { case: "storageRead", value: {} };
      const { content, metadata, version } = found;
      const struct = metadata === undefined ? {} : { metadata: toStruct(metadata, "metadata") };
      return { case: "storageRead", value: { content, ...struct, version: BigInt(version) } };
    },
    storageWrite: async ({ path, content, metadata, expectedVersion, storageType }) => {
      try {
        const storage = await open(storageType);
        const document = metadata === undefined ? { content } : { content, metadata };
        const version = await storage.write(path, document, Number(expectedVersion));
        return { case: "storageWrite", value: { success: true, newVersion: BigInt(version) } };
      } catch (error) {
        return { case: "storageWrite", value: { success: false, error: reasonOf(error) } };
      }
    },
    storageDelete: async ({ path, storageType }) => {
      try {
        const success = await (await open(storageType)).delete(path);
        return { case: "storageDelete", value: { success } };
      } catch (error) {
        report("bus.not-deleted", { path, reason: reasonOf(error) });
        return { case: "storageDelete", value: { success: false } };
      }
    },
    storageList: async ({ prefix, pattern, storageType }) => {
      const storage = await open(storageType);
      const found = await storage.list(prefix, pattern === "" ? undefined : pattern);
      const entries = found.map(({ path, size, version, modifiedAt }) => ({
        path,
        size: BigInt(size),
        version: BigInt(version),
        modifiedAt: timestampFromDate(modifiedAt),
      }));
      return { case: "storageList", value: { entries } };
    },
  };
}

/** A failure of the system, such as a full disk, is told to the caller, who can do something about it. */
function explained(error: unknown, kind: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof TrunklineError) return error;
  const says = `Cannot open the storage '${kind}': ${fileWords(error)}`;
  return new TrunklineError("unavailable", says, { cause: error });
}

/** The words of a failure. A fault of our own is thrown on: plugins do not learn of its inside. */
function reasonOf(error: unknown): string {
  if (error instanceof TrunklineError) return error.message;
  throw error;
}
