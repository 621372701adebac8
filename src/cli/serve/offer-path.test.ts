import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, readlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { missingLink, offerPath } from "./offer-path.ts";

const { signal } = new AbortController();

describe("missingLink()", () => {
  it("takes the folder that the shell looks into, and says where it looks into none", () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "trunkline-home-"));
    const linkFor = (...folders: string[]) =>
      missingLink({ HOME: home.path, PATH: folders.join(":") }, "/clone/scripts/trunkline");
    const local = join(home.path, ".local/bin");
    const own = join(home.path, "bin");
    assert.deepEqual(linkFor("/usr/bin", own, local), {
      ...{ folder: local, file: join(local, "trunkline"), isInPath: true },
      to: "/clone/scripts/trunkline",
    });
    assert.equal(linkFor(own)?.folder, own);
    const outside = linkFor("/usr/bin");
    assert.deepEqual([outside?.folder, outside?.isInPath], [local, false]);
    mkdirSync(own);
    writeFileSync(join(own, "trunkline"), "", { mode: 0o755 });
    assert.equal(linkFor(local, own), undefined, "it is in PATH already");
    assert.equal(missingLink({ HOME: home.path, PATH: "" }, undefined), undefined, "a package");
  });
});

describe("offerPath()", () => {
  it("says a line that works where nobody can be asked, and asks nothing", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "trunkline home-"));
    const env = { HOME: home.path, PATH: "/usr/bin:/bin" };
    const clone = join(home.path, "my clone");
    writeFileSync(clone, "#!/bin/sh\necho found it\n", { mode: 0o755 });
    let said = "";
    const invocation = { env, isTerminal: false, out: (text: string) => void (said += text) };
    await offerPath(invocation, { data: home.path, signal }, missingLink(env, clone));
    const [says, line = ""] = said.trimEnd().split("\n");
    assert.match(says ?? "", /^To type `trunkline`/);
    const out = execFileSync("sh", ["-c", `${line} && trunkline`], { env, encoding: "utf8" });
    assert.equal(out, "found it\n");
    assert.equal(readlinkSync(join(home.path, ".local/bin/trunkline")), clone);
  });
});
