import { TrunklineError } from "../../../base/errors.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import { serveStorage } from "../../storage/serve-storage.ts";
import { EXPECT_ANYTHING, type Storage } from "../../storage/storage.ts";
import type { StorageProvider } from "../definition.ts";
import type { ToolService } from "./serve-tools.ts";
import { thrown } from "../returned.ts";

/** Answers what is asked of the storage that a plugin provides, of one or several kinds. */
export function serveProviders(
  providers: ReadonlyMap<string, StorageProvider>,
  { log }: Pick<ToolService, "log">,
): BusHandlers {
  if (providers.size === 0) return {};
  return serveStorage({
    storageFor: (type) => {
      const provider = providers.get(type);
      if (provider !== undefined) return asStorage(provider);
      const known = [...providers.keys()].join(", ");
      const message = `There is no storage '${type}' here, only: ${known}`;
      throw new TrunklineError("unavailable", message);
    },
    report: (event, fields) => log.warn(event, fields),
  });
}

function asStorage(provider: StorageProvider): Storage {
  return {
    read: (path) =>
      withReason(async () => {
        const found = await provider.read(path);
        if (found === undefined) return undefined;
        const { content } = found;
        return { ...found, content: typeof content === "string" ? Buffer.from(content) : content };
      }),
    write: (path, { content, metadata }, expected) => {
      const options = {
        ...(expected === EXPECT_ANYTHING ? {} : { version: expected }),
        ...(metadata === undefined ? {} : { metadata }),
      };
      return withReason(() => provider.write(path, content, options));
    },
    delete: (path) => withReason(() => provider.delete(path)),
    list: (folder, pattern = "") =>
      withReason(async () => [...(await provider.list(folder, pattern))]),
  };
}

/** Whatever a provider throws is told to the caller. */
async function withReason<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    throw new TrunklineError("unavailable", thrown(error).message, { cause: error });
  }
}
