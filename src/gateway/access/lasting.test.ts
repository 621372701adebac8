import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";

import { Lasting } from "./lasting.ts";

describe("Lasting", { timeout: 10_000 }, () => {
  it("ends what was opened with a token that is no longer good", async () => {
    using lasting = new Lasting();
    const [kept, revoked, unsure] = [new PassThrough(), new PassThrough(), new PassThrough()];
    let isLive = true;
    lasting.add(kept, () => true);
    lasting.add(revoked, () => isLive);
    lasting.add(unsure, () => {
      if (!isLive) throw new Error("The file cannot be read");
      return true;
    });
    isLive = false;
    // Looking keeps no process alive.
    const alive = setInterval(() => {}, 1000);
    await Promise.all([once(revoked, "close"), once(unsure, "close")]);
    clearInterval(alive);
    assert.equal(kept.destroyed, false);
    kept.destroy();
  });
});
