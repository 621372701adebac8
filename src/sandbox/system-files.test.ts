import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { BECOME_OTHER_USER, noOtherUser, sharedFolder } from "../../test/support/other-user.ts";

describe("namedFiles()", () => {
  it("leaves out folders of PATH that are closed to us", () => {
    using folder = sharedFolder();
    const [closed, open] = [join(folder.path, "closed"), join(folder.path, "open")];
    for (const path of [closed, open]) mkdirSync(join(path, "bin"), { recursive: true });
    chmodSync(closed, 0o000);
    const script = `
      import { namedFiles } from ${JSON.stringify(import.meta.resolve("./system-files.ts"))};
      ${noOtherUser === false ? BECOME_OTHER_USER : ""}
      const PATH = ${JSON.stringify(`${closed}/bin:${open}/bin`)};
      console.log(JSON.stringify(namedFiles({ PATH }, "/home/x").map(({ at }) => at)));`;
    const args = ["--input-type=module", "-e", script];
    const said = execFileSync(process.execPath, args, { encoding: "utf8" });
    chmodSync(closed, 0o700);
    assert.deepEqual(JSON.parse(said), [`${open}/bin`]);
  });
});
