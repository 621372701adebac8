import { answered, demand, type Probe, type Rule, type Rules, skip } from "../probe.ts";

const TEXT = "conformance";

interface DocumentRule extends Pick<Rule, "says"> {
  /** Checks with a document of our own, which is deleted in any case. */
  readonly check: (document: ReturnType<typeof documentIn>) => Promise<void>;
}

const RULES: Readonly<Record<string, DocumentRule>> = {
  "storage.missing": {
    says: "What is not there is read as empty, at version 0, and deleting it says so",
    check: async (document) => {
      const { content, version } = await document.read();
      demand(version === 0n, `its version is ${version}`);
      demand(content.length === 0, `it has ${content.length} bytes`);
      demand(!(await document.delete()), "it says that it deleted it");
    },
  },
  "storage.create": {
    says: "Version 0 creates a document, which is then read with its version",
    check: async (document) => {
      const { success, newVersion, error } = await document.write(TEXT, 0n);
      demand(success, `it was not written: ${error}`);
      demand(newVersion > 0n, `its version is ${newVersion}`);
      const { content, version } = await document.read();
      demand(version === newVersion, `version ${newVersion} was written, ${version} is read`);
      const text = Buffer.from(content).toString();
      demand(text.trim() === TEXT, `it holds '${text.slice(0, 50)}'`);
    },
  },
  "storage.version": {
    says: "A write on top of another version than the expected one is refused, and changes nothing",
    check: async (document) => {
      const { newVersion } = await document.write(TEXT, 0n);
      const second = await document.write(`${TEXT} again`, newVersion);
      demand(second.success, `the expected version was refused: ${second.error}`);
      for (const expected of [newVersion, 0n]) {
        const stale = await document.write("stale", expected);
        demand(!stale.success, `version ${expected} was accepted on ${second.newVersion}`);
        demand(stale.error !== "", "the refusal has no error");
      }
      const { version } = await document.read();
      demand(version === second.newVersion, `the version is ${version} afterwards`);
    },
  },
  "storage.list": {
    says: "A list by prefix has the document with its version",
    check: async (document) => {
      const { newVersion } = await document.write(TEXT, 0n);
      const entries = await document.list();
      const entry = entries.find(({ path }) => path === document.path);
      demand(entry !== undefined, `it is not among ${entries.length} entries`);
      demand(entry.version === newVersion, `its version is ${entry.version} there`);
    },
  },
  "storage.delete": {
    says: "A document that was deleted is gone",
    check: async (document) => {
      await document.write(TEXT, 0n);
      demand(await document.delete(), "it says that there was none");
      const { version } = await document.read();
      demand(version === 0n, `it is still read, at version ${version}`);
    },
  },
};

/** Rules of storage: of every orchestrator, and of plugins that provide some. */
export const STORAGE_RULES: Rules = Object.fromEntries(
  Object.entries(RULES).map(([id, { says, check }]) => [
    id,
    { section: "Orchestra: storage", says, check: (probe) => withDocument(probe, check) },
  ]),
);

async function withDocument(probe: Probe, check: DocumentRule["check"]): Promise<void> {
  const document = documentIn(probe, await storageOf(probe));
  try {
    await check(document);
  } finally {
    await document.delete().catch(() => {});
  }
}

/** An orchestrator has storage in any case; a plugin has what it registered with. */
async function storageOf({ subject }: Probe): Promise<string> {
  if (subject.role === "orchestrator") return "";
  if (subject.started === undefined) skip("only a plugin that was started says what it provides");
  const [type] = (await subject.started.registered).providesStorage;
  return type ?? skip("the plugin provides no storage");
}

/** A document of one storage, as it is asked for on the bus. */
function documentIn(probe: Probe, storageType: string) {
  const path = `conformance/${crypto.randomUUID()}.md`;
  const which = { path, storageType };
  return {
    path,
    async read() {
      return answered(await probe.ask({ case: "storageRead", value: which }), "storageRead");
    },
    async write(text: string, expectedVersion: bigint) {
      const value = { ...which, content: Buffer.from(text), expectedVersion };
      return answered(await probe.ask({ case: "storageWrite", value }), "storageWrite");
    },
    async delete(): Promise<boolean> {
      const response = await probe.ask({ case: "storageDelete", value: which });
      return answered(response, "storageDelete").success;
    },
    async list() {
      const value = { prefix: "conformance/", pattern: "", storageType };
      return answered(await probe.ask({ case: "storageList", value }), "storageList").entries;
    },
  };
}
