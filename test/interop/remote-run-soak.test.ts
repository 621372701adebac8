import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { soak } from "../support/remote-run/soak.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

const number = (name: string, usual: number): number => Number(process.env[name] ?? usual);

describe("a server of remote runs", { skip: WITHOUT_SSHD || noSandbox, timeout: 1_800_000 }, () => {
  it("loses and duplicates no turn while it is killed and clients reconnect", async (t) => {
    const options = {
      sessions: number("TRUNKLINE_SOAK_SESSIONS", 100),
      repositories: number("TRUNKLINE_SOAK_REPOSITORIES", 10),
      turns: number("TRUNKLINE_SOAK_TURNS", 4),
      kills: number("TRUNKLINE_SOAK_KILLS", 3),
      seed: number("TRUNKLINE_SOAK_SEED", Date.now() % 2 ** 31),
    };
    t.diagnostic(`TRUNKLINE_SOAK_SEED=${options.seed}`);
    t.diagnostic(JSON.stringify(await soak(options)));
  });
});
