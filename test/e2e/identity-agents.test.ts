import { describe, it } from "node:test";

import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { runTwoAgents } from "../support/git-rig/two-agents.ts";

describe("two agents with two identities", { timeout: 120_000, skip: WITHOUT_SSHD }, () => {
  it("commit and push at the same moment from one clone, each as itself", async () => {
    await runTwoAgents(3);
  });
});
