import { describe, it } from "node:test";

import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { runTwoAgents } from "../support/git-rig/two-agents.ts";

describe("two agents with two identities", { timeout: 900_000, skip: WITHOUT_SSHD }, () => {
  it("are right 200 times of 200, pushing 100 times at the same moment", async () => {
    await runTwoAgents(100);
  });
});
