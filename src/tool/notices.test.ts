import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Notices } from "./notices.ts";

describe("Notices", () => {
  it("reach listeners, until those stop", () => {
    const notices = new Notices();
    const heard: unknown[] = [];
    notices.on(() => {
      throw new Error("a listener that fails");
    });
    const stop = notices.on(({ data }) => heard.push(data));
    notices.post({ level: "info", logger: "a", data: 1 });
    stop();
    notices.post({ level: "info", logger: "a", data: 2 });
    assert.deepEqual(heard, [1]);
  });
});
