import assert from "node:assert/strict";
import { test } from "node:test";

import { globalOptions } from "./open-app.ts";

test("globalOptions() repeats the options so that they mean the same files in any folder", () => {
  const env = { HOME: "/home/ada" };
  const values = {
    config: "a.jsonc",
    data: "~/state",
    set: ["log.level=debug", "x=./y"],
    port: "1",
  };
  assert.deepEqual(globalOptions({ values, cwd: "/home/ada/app", env }), [
    "--config=/home/ada/app/a.jsonc",
    "--data=/home/ada/state",
    "--set=log.level=debug",
    "--set=x=./y",
  ]);
  assert.deepEqual(globalOptions({ values: {}, cwd: "/home/ada/app", env }), []);
});
