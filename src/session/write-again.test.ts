import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { WriteAgain } from "./write-again.ts";

describe("WriteAgain", () => {
  it("repeats a refused write until it succeeds, and not after the end", () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    let writes = 0;
    using again = new WriteAgain(async () => {
      if (++writes < 3) again.failed();
      else again.succeeded();
    });
    again.failed();
    for (let round = 0; round < 10; round++) mock.timers.tick(60_000);
    assert.equal(writes, 3);
    again.failed();
    again[Symbol.dispose]();
    again.failed();
    mock.timers.tick(600_000);
    assert.equal(writes, 3);
    mock.timers.reset();
  });
});
