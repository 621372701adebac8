import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { TrunklineError } from "../../base/errors.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import type { Storage } from "./storage.ts";

/** The kind of storage that is meant when none is named. */
export const DEFAULT_STORAGE = "markdown";

export interface StorageService {
  /** The storage of a kind. Throws if there is none. */
  readonly storageFor: (type: string) => Storage | Promise<Storage>;
  /** Told why something could not be deleted: the answer has no room for it. */
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
      throw inWords(error, kind);
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
        const value = { success: false, error: reasonOf(error) };
        return { case: "storageWrite", value };
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

/** A disk that is full, or a folder that may not be written: whoever asks can do something about it. */
function inWords(error: unknown, kind: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof TrunklineError) return error;
  const says = `Cannot open the storage '${kind}': ${message}`;
  return new TrunklineError("unavailable", says, { cause: error });
}

/** A fault of the program is not for plugins: it is thrown on. */
function reasonOf(error: unknown): string {
  if (error instanceof TrunklineError) return error.message;
  throw error;
}
