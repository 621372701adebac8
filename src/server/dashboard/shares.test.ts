import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Shares } from "./shares.ts";

const [ann, bob] = [{ id: "token a" }, { id: "token b" }];

describe("Shares", () => {
  it("let nobody wait for what others have, and everybody for their own", async () => {
    const shares = new Shares({ what: "searches", most: 2, waiting: 1 });
    const [first] = [await shares.take(ann), await shares.take(ann)];
    let isIn = false;
    const third = shares.take(ann).then((taken) => {
      isIn = true;
      return taken;
    });
    await assert.rejects(shares.take(ann), {
      code: "limit",
      message: /searches of this token .* may have 2/,
    });
    (await shares.take(bob))[Symbol.dispose]();
    assert.equal(isIn, false);
    first[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    (await shares.take(ann))[Symbol.dispose]();
  });
});
