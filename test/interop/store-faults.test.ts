import { describe, it } from "node:test";

import { FAULT_RIGS } from "../contract/fault-rigs/fault-rigs.ts";
import { storeFaultContract } from "../contract/store-fault-contract.ts";

describe(
  "every door, if each operation of its stores fails in turn",
  { timeout: 3_600_000 },
  () => {
    for (const [name, open] of Object.entries(FAULT_RIGS)) {
      it(`answers with a message and recovers: ${name}`, async (test) => {
        await using rig = await open();
        await storeFaultContract(rig, { report: (line) => test.diagnostic(line) });
      });
    }
  },
);
