import { describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { FAULT_RIGS, GATEWAY_FAULT_RIGS } from "./fault-rigs/fault-rigs.ts";
import { COLD_CALLS, coldFaultContract, storeFaultContract } from "./store-fault-contract.ts";

/** Of the calls to the disk, how many fail in each way. Each of them in turn takes many minutes. */
const MOST = rounds({ few: 1, all: Infinity });
/** How many of the calls while stores are opened: in `npm test` each door has another one. */
const COLD = rounds({ few: 1, all: COLD_CALLS.length });

describe("every door, if any operation of its stores fails", { timeout: 3_600_000 }, () => {
  for (const [name, open] of Object.entries({ ...FAULT_RIGS, ...GATEWAY_FAULT_RIGS })) {
    it(`answers with a message and recovers: ${name}`, async (test) => {
      await using rig = await open();
      await storeFaultContract(rig, { most: MOST, report: (line) => test.diagnostic(line) });
    });
  }

  for (const [number, [name, open]] of Object.entries(FAULT_RIGS).entries()) {
    it(`also while it is being opened: ${name}`, async () => {
      for (let tried = 0; tried < COLD; tried++) {
        await coldFaultContract(open, COLD_CALLS[(number + tried) % COLD_CALLS.length]!);
      }
    });
  }
});
