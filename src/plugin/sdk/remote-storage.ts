import { timestampDate } from "@bufbuild/protobuf/wkt";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { Asked, BusClient } from "../../protocol/bus/connect.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { PluginResponse, StorageReadResponse } from "../../protocol/bus/plugin.gen.ts";
import { EXPECT_ANYTHING } from "../storage/storage.ts";
import type { PluginStorage, StoredDocument, StoredEntry, WriteOptions } from "./context.ts";
import { ToolError } from "./tool-error.ts";

const STORAGE = "The storage";

/** The storage that an orchestrator leads to. */
export class RemoteStorage implements PluginStorage {
  readonly #client: Pick<BusClient, "ask">;
  readonly #signal: AbortSignal | undefined;
  readonly #storageType: string;

  constructor(
    client: Pick<BusClient, "ask">,
    signal: AbortSignal | undefined,
    storageType: string,
  ) {
    this.#client = client;
    this.#signal = signal;
    this.#storageType = storageType;
  }

  of(type: string): PluginStorage {
    return new RemoteStorage(this.#client, this.#signal, type);
  }

  async read(path: string): Promise<StoredDocument | undefined> {
    const value = { path, storageType: this.#storageType };
    const answer = await this.#ask({ case: "storageRead", value }, true);
    return documentOf(answerOf(STORAGE, answer, "storageRead"));
  }

  async write(
    path: string,
    content: string | Uint8Array,
    { version = EXPECT_ANYTHING, metadata }: WriteOptions = {},
  ): Promise<number> {
    const value = {
      path,
      content: typeof content === "string" ? Buffer.from(content) : content,
      expectedVersion: BigInt(version),
      storageType: this.#storageType,
      ...(metadata === undefined ? {} : { metadata: toStruct(metadata, "metadata") }),
    };
    const answer = await this.#ask({ case: "storageWrite", value }, false);
    const { success, newVersion, error } = answerOf(STORAGE, answer, "storageWrite");
    if (!success) throw new ToolError("storage_error", error || `Cannot write '${path}'`);
    return Number(newVersion);
  }

  async delete(path: string): Promise<boolean> {
    const value = { path, storageType: this.#storageType };
    const answer = await this.#ask({ case: "storageDelete", value }, false);
    return answerOf(STORAGE, answer, "storageDelete").success;
  }

  async list(prefix = "", pattern = ""): Promise<StoredEntry[]> {
    const value = { prefix, pattern, storageType: this.#storageType };
    const answer = await this.#ask({ case: "storageList", value }, true);
    return answerOf(STORAGE, answer, "storageList").entries.map((entry) => ({
      path: entry.path,
      size: Number(entry.size),
      version: Number(entry.version),
      modifiedAt: entry.modifiedAt === undefined ? new Date(0) : timestampDate(entry.modifiedAt),
    }));
  }

  #ask(request: Asked, again: boolean): Promise<PluginResponse> {
    return this.#client.ask(request, { signal: this.#signal, again });
  }
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
