import { relative } from "node:path";
import { after, beforeEach, type TestContext } from "node:test";
import { isMainThread } from "node:worker_threads";

import { endInSpiteOfLeftovers, Leftovers } from "./leftovers.ts";

// Loaded ahead of every test file by `npm test` and `npm run test:interop` (scripts/task.mjs). The
// file fails if, when its last test is over, a process, socket, timer or temporary folder is left.
// Files that share a process are watched one by one (test-together.ts).

// Threads and forks of a test load it, too.
const isTestFile = isMainThread && process.env["NODE_TEST_CONTEXT"] === "child-v8";
const [, entry = ""] = process.argv;
if (isTestFile && /\.test\.m?[jt]s$/.test(entry)) {
  const leftovers = new Leftovers(relative(process.cwd(), entry));
  beforeEach((test) => leftovers.note((test as TestContext).fullName));
  after(async () => {
    try {
      await leftovers.expectNone();
    } catch (error) {
      endInSpiteOfLeftovers();
      throw error;
    }
  });
}
