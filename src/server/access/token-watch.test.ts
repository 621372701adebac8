import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";

import { TokenWatch } from "./admission.ts";

describe("TokenWatch", { timeout: 60_000 }, () => {
  it("ends what was opened with a token that is no longer valid", async () => {
    using watch = new TokenWatch();
    const [kept, revoked, unsure] = [new PassThrough(), new PassThrough(), new PassThrough()];
    let isLive = true;
    watch.add(kept, { key: "kept", isLive: () => true });
    watch.add(revoked, { key: "revoked", isLive: () => isLive });
    const isSure = () => {
      if (!isLive) throw new Error("The file cannot be read");
      return true;
    };
    watch.add(unsure, { key: "unsure", isLive: isSure });
    isLive = false;
    // Looking keeps no process alive.
    const alive = setInterval(() => {}, 1000);
    await Promise.all([once(revoked, "close"), once(unsure, "close")]);
    clearInterval(alive);
    assert.equal(kept.destroyed, false);
    kept.destroy();
  });

  it("checks a token once for many connections", async () => {
    using watch = new TokenWatch();
    let looks = 0;
    const looked = Promise.withResolvers<void>();
    const isLive = () => {
      looks++;
      setImmediate(looked.resolve);
      return true;
    };
    const streams = Array.from({ length: 10 }, () => new PassThrough());
    for (const stream of streams) watch.add(stream, { key: "same", isLive });
    const alive = setInterval(() => {}, 1000);
    await looked.promise;
    clearInterval(alive);
    assert.equal(looks, 1);
    for (const stream of streams) stream.destroy();
  });

  it("reports that a principal's last token has ended, not that the first has", async () => {
    using watch = new TokenWatch();
    const [first, last] = [{ isLive: true }, { isLive: true }];
    const over = Promise.withResolvers<boolean>();
    const gone = new PassThrough().destroy();
    const end = () => over.resolve(last.isLive);
    watch.add(gone, undefined, { key: "ann", isLive: () => last.isLive, until: 2 }, end);
    watch.add(gone, undefined, { key: "ann", isLive: () => first.isLive, until: 1 }, end);
    first.isLive = false;
    const alive = setTimeout(() => (last.isLive = false), 600);
    assert.equal(await over.promise, false);
    clearTimeout(alive);
  });
});
