import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SharedRuns } from "./open-identities.ts";

describe("Together", () => {
  it("answers those who ask while work runs with the next work, once for all", async () => {
    const works: PromiseWithResolvers<number>[] = [];
    const together = new SharedRuns<number>();
    const ask = (key = "a"): Promise<number> =>
      together.ask(key, () => {
        works.push(Promise.withResolvers());
        return works.at(-1)!.promise;
      });
    const [first, second, third] = [ask(), ask(), ask()];
    assert.equal(works.length, 1, "the others wait");
    const other = ask("b");
    assert.equal(works.length, 2, "another key does not");
    works[0]?.resolve(1);
    works[1]?.resolve(2);
    assert.deepEqual([await first, await other], [1, 2]);
    works[2]?.resolve(3);
    assert.deepEqual([await second, await third], [3, 3]);
    assert.equal(works.length, 3);
    const later = ask();
    works[3]?.resolve(4);
    assert.equal(await later, 4, "an answer is not kept");
  });

  it("works again after a failure", async () => {
    const together = new SharedRuns<string>();
    const failed = together.ask("a", () => Promise.reject(new Error("no")));
    const next = together.ask("a", () => Promise.resolve("yes"));
    await assert.rejects(failed, /no/);
    assert.equal(await next, "yes");
  });
});
