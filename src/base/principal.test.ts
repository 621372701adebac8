import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { mayUseAgent, mayUseFolder, mayUseRepository, mayUseTool, OWNER } from "./principal.ts";

describe("the limits of a principal", () => {
  it("do not limit what they do not name", () => {
    const limited = { id: "token 1", limits: { tools: ["review_*"] } };
    assert.equal(mayUseTool(limited, "review_list"), true);
    assert.equal(mayUseTool(limited, "juggler_switch"), false);
    assert.equal(mayUseAgent(limited, "trunkline"), true);
    assert.equal(mayUseTool(OWNER, "juggler_switch"), true);
    assert.equal(mayUseFolder(OWNER, "/"), true);
  });

  it("allow nothing if the list is empty", () => {
    const limits = { agents: [], tools: [], folders: [], repositories: [] };
    const nobody = { id: "token 1", limits };
    assert.equal(mayUseTool(nobody, "x"), false);
    assert.equal(mayUseAgent(nobody, "x"), false);
    assert.equal(mayUseFolder(nobody, "/"), false);
    assert.equal(mayUseRepository(nobody, ["https://example.com/a.git"]), false);
  });

  it("match a repository by any of its remotes, and never one without remotes", () => {
    const limited = { id: "token 1", limits: { repositories: ["https://example.com/team/*"] } };
    assert.equal(
      mayUseRepository(limited, ["git@other:x", "https://example.com/team/a.git"]),
      true,
    );
    assert.equal(mayUseRepository(limited, ["https://example.com/teams/a.git"]), false);
    assert.equal(mayUseRepository(limited, []), false);
    const below = { id: "token 1", limits: { repositories: ["https://*.example.com/team/*"] } };
    assert.equal(mayUseRepository(below, ["https://git.example.com/team/x"]), true);
    assert.equal(mayUseRepository(below, ["https://evil.com/git.example.com/team/x"]), false);
  });

  it("compare paths after links are resolved", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-limits-"));
    const inside = join(folder.path, "inside");
    mkdirSync(join(inside, "deep"), { recursive: true });
    mkdirSync(join(folder.path, "inside-not"));
    symlinkSync(folder.path, join(inside, "out"));
    symlinkSync(inside, join(folder.path, "alias"));
    const limited = { id: "token 1", limits: { folders: [join(folder.path, "alias")] } };
    for (const path of [inside, join(inside, "deep"), join(folder.path, "alias/deep/new")]) {
      assert.equal(mayUseFolder(limited, path), true, path);
    }
    for (const path of [
      folder.path,
      join(folder.path, "inside-not"),
      join(inside, "out"),
      join(inside, "out/new"),
      `${inside}/../inside-not`,
    ]) {
      assert.equal(mayUseFolder(limited, path), false, path);
    }
  });
});
