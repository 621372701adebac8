import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ProjectHomes } from "./local-sandbox.ts";

describe("ProjectHomes", () => {
  it("has one home for each project, and the same one in the next session", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "homes-"));
    const one = new ProjectHomes(folder.path).of("/srv/one");
    assert.equal(new ProjectHomes(folder.path).of("/srv/one"), one);
    assert.notEqual(new ProjectHomes(folder.path).of("/srv/two"), one);
  });

  it("follows the links of a person, and none that a command may have made", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "homes-"));
    const top = realpathSync(folder.path);
    const homes = new ProjectHomes(join(top, "data"));
    const work = join(top, "work");
    mkdirSync(join(work, "project"), { recursive: true });
    symlinkSync("work/project", join(top, "short"));
    assert.equal(homes.real(join(top, "short")), join(work, "project"));
    homes.note([work]);
    assert.equal(homes.real(join(top, "short")), join(work, "project"));
    symlinkSync(join(top, "data"), join(work, "planted"));
    symlinkSync("work/planted", join(top, "chain"));
    for (const path of [join(work, "planted"), join(top, "chain"), join(top, "chain/sandbox")]) {
      assert.throws(() => homes.real(path), /'.*planted' is a link that a command may have made/);
      assert.equal(homes.follow(path), undefined);
    }
    symlinkSync("loop", join(top, "loop"));
    assert.throws(() => homes.real(join(top, "loop")), /is not used/);
  });
});
