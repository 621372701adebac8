import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ANYONE, OWNER, type Principal, type PrincipalLimits } from "../../base/principal.ts";
import { AcpDoor } from "./door.ts";
import { refuseFolders, refusePrograms } from "./refuse-setup.ts";

const limited = (limits: PrincipalLimits): Principal => ({ id: "token ci", name: "ci", limits });
const DENIED = { problem: "permission-denied" };

describe("refusePrograms()", () => {
  const program = [{ name: "shell", command: "sh", args: [], env: [] }];

  it("refuses programs to principals that may not start any", () => {
    assert.throws(() => refusePrograms(program, ANYONE), {
      ...DENIED,
      message: /MCP server 'shell'\) needs the scope 'programs'/,
    });
    refusePrograms(program, OWNER);
    refusePrograms(program, { id: "token ci", scopes: ["sessions", "programs"] });
  });

  it("allows servers that are reached by URL", () => {
    refusePrograms([{ name: "web", type: "http", url: "http://h", headers: [] }], ANYONE);
  });
});

describe("refuseFolders()", () => {
  const setup = (cwd: string, ...additionalDirectories: string[]) => ({
    cwd,
    additionalDirectories,
    mcpServers: [],
  });
  const door = (addresses: readonly string[] = []) =>
    new AcpDoor({
      sessions: () => assert.fail("no session is opened"),
      addressesOf: async () => addresses,
    });

  it("restricts a principal to its folders, after links are resolved", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-setup-"));
    const root = realpathSync(folder.path);
    const [mine, theirs] = [join(root, "mine"), join(root, "theirs")];
    mkdirSync(join(mine, "sub"), { recursive: true });
    mkdirSync(theirs);
    symlinkSync(theirs, join(mine, "link"));
    const principal = limited({ folders: [mine] });
    await refuseFolders(door(), setup(mine, join(mine, "sub")), principal);
    for (const outside of [setup(theirs), setup(mine, theirs), setup(join(mine, "link"))]) {
      await assert.rejects(refuseFolders(door(), outside, principal), DENIED);
    }
    await refuseFolders(door(), setup(theirs), OWNER);
  });

  it("restricts a principal to its repositories, and refuses folders outside of any", async () => {
    const principal = limited({ repositories: ["https://example.org/team/*"] });
    await refuseFolders(door(["https://example.org/team/app"]), setup("/"), principal);
    await assert.rejects(
      refuseFolders(door(["https://example.org/other/app"]), setup("/"), principal),
      { ...DENIED, message: /the repository 'https:\/\/example.org\/other\/app'/ },
    );
    await assert.rejects(refuseFolders(door(), setup("/"), principal), {
      ...DENIED,
      message: /in no repository with an address.*--repo ADDRESS/,
    });
  });
});
