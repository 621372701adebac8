import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readJob, readOffer } from "./job-queue.ts";

const GATEWAY = { id: "1-a", name: "g" };

describe("Jobs and offers", () => {
  it("are read if nodes can be reached under their addresses", () => {
    const job = { id: "1", labels: {}, gateway: GATEWAY };
    assert.deepEqual(readJob(JSON.stringify(job)), job);
    assert.deepEqual(readOffer(JSON.stringify({ worker: GATEWAY })), { worker: GATEWAY });
  });

  it("are nothing else", () => {
    for (const text of ["", "null", "7", "[]", "{}", '{"id":"1"}', '{"id":"1","gateway":null}']) {
      assert.equal(readJob(text), undefined, text);
      assert.equal(readOffer(text), undefined, text);
    }
    for (const id of ["*", ">", "a.b", "a b", "", 7, { toString: 1 }]) {
      const address = { ...GATEWAY, id };
      assert.equal(readOffer(JSON.stringify({ worker: address })), undefined);
      assert.equal(readJob(JSON.stringify({ id: "1", gateway: address })), undefined);
      assert.equal(readJob(JSON.stringify({ id, gateway: GATEWAY })), undefined);
    }
  });
});
