import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

const SRC = join(import.meta.dirname, "../../src");

/** What opens a file by its path, and may wait for a pipe, follow a link or read without an end. */
const READERS =
  /\b(?:readFile|readFileSync|createReadStream|open|openSync|copyFile|copyFileSync|cp|cpSync|openAsBlob)\b/;
const IMPORTS =
  /import\s+(?!type)([^;]*?)\s+from\s+"(?:node:)?fs(?:\/promises)?"|const\s+([^;=]*?)=\s*(?:await\s+import|process\.getBuiltinModule)\("(?:node:)?fs(?:\/promises)?"\)/g;

/** Files that read by themselves, and why they may. A folder ends in a slash. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  "It is the one reader, or what writes in its manner: without following links, without waiting.": [
    "base/file/read-regular-file.ts",
    "base/file/overwrite.ts",
    "plugin/storage/markdown-storage.ts",
    "git/shadow/receive-objects.ts",
    "git/shadow/shadow-git.ts",
    "git/shadow/take-over.ts",
    "plugin/plugin/pin.ts",
    "run/deliver.ts",
    "run/environment/environments.ts",
    "run/open-below.ts",
    "run/run.ts",
    "sandbox/file-view.ts",
  ],
  "It looks whether it is a file, and git, which reads the same one, waits for 30 seconds only.": [
    "git/copy-index.ts",
    "git/shadow/shadow-folder.ts",
    "worktree/worktrees.ts",
  ],
  "It reads what we have written, in folders that no project and no sandbox writes: the data folder.":
    [
      "agent/files/journal.ts",
      "agent/known-agents.ts",
      "agent/models/models.ts",
      "authorship/work-history.ts",
      "base/file/file-change.ts",
      "cli/chat/prompt-history.ts",
      "fleet/",
      "git/config/edit-config.ts",
      "identity/switch/journal.ts",
      "identity/tokens/encrypted-file.ts",
      "identity/tools/security-mode.ts",
      "plugin/open/examine-certificates.ts",
      "plugin/running-buses.ts",
      "protocol/bus/certificates/certificate-files.ts",
      "run/environment/layers.ts",
      "run/repository-cache.ts",
      "run/workspace/",
      "sandbox/bubblewrap.ts",
      "server/access/browser-logins.ts",
      "server/dashboard/view/runs.ts",
      "server/http/move-routes.ts",
      "session/open/move/bundle.ts",
      "session/open/move/host-key.ts",
      "session/open/move/other-side.ts",
      "session/open/process-socket.ts",
      "setup/doctor/state-checks.ts",
      "store/",
      "upstream/catalogue.ts",
    ],
  "It reads our own program.": ["plugin/scaffold/", "server/dashboard/web-files.ts"],
  "It reads what the kernel and the system say.": [
    "agent/external-foreign.ts",
    "base/process/process-table.ts",
    "run/open/open-runs.ts",
    "sandbox/cgroup.ts",
    "sandbox/own-network.ts",
    "sandbox/remedy.ts",
    "sandbox/system-files.ts",
  ],
  "It reads what the person has in the home folder or has just named, which no project can.": [
    "agent/installed-agents.ts",
    "cli/shell/ask.ts",
    "identity/signing/commit-signer.ts",
    "identity/tools/setup-tools.ts",
    "protocol/bus/plugins-file/plugins-file.ts",
    "run/open/find-program.ts",
    "sandbox/open/local-sandbox.ts",
    "server/http/tls-files.ts",
    "setup/service/service.ts",
  ],
};

describe("files of projects", () => {
  const excused = Object.values(MAY).flat();
  const files = globSync("**/*.ts", { cwd: SRC }).filter((file) => {
    if (file.endsWith(".test.ts") || file.startsWith("web/")) return false;
    const found = readFileSync(join(SRC, file), "utf8").matchAll(IMPORTS);
    return Array.from(found).some(([, names = "", later = names]) => {
      return READERS.test(later) || !later.includes("{");
    });
  });

  it("are read through readRegularFile(), but for files whose reason is here", () => {
    const others = files.filter((file) => !excused.some((each) => file.startsWith(each)));
    assert.deepEqual(others, [], "use base/file/read-regular-file.ts");
  });

  it("have no exception that is not needed", () => {
    const unused = excused.filter((each) => !files.some((file) => file.startsWith(each)));
    assert.deepEqual(unused, []);
  });
});
