import assert from "node:assert/strict";
import { it } from "node:test";

import { accepts } from "./accepts.ts";

it("accepts() takes a type by its name, its group or any", () => {
  const yes = ["text/event-stream", "a/b, TEXT/Event-Stream;q=0.1", "text/*", "*/*;q=0.8"];
  for (const header of yes) assert.ok(accepts(header, "text/event-stream"), header);
  for (const header of [undefined, "", "application/json", "text/event-streams", "application/*"]) {
    assert.ok(!accepts(header, "text/event-stream"), header ?? "none");
  }
});
