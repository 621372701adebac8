import { describe, it } from "node:test";

import { GATEWAY_FAULT_RIGS, SLOW_FAULT_RIGS } from "../contract/fault-rigs/fault-rigs.ts";
import {
  COLD_CALLS,
  coldFaultContract,
  storeFaultContract,
} from "../contract/store-fault-contract.ts";

// What `test/contract/store-faults.test.ts` leaves out: it fails each operation of the other doors.

/** Operations of which each fails in turn, in each way, where a round takes seconds. */
const MOST = 20;

describe("every door, if operations of its stores fail in turn", () => {
  for (const [name, open] of Object.entries(SLOW_FAULT_RIGS)) {
    it(`answers with a message and recovers: ${name}`, async (test) => {
      await using rig = await open();
      const report = (line: string): void => test.diagnostic(line);
      await storeFaultContract(rig, { most: MOST, isTried: () => true, report });
    });
  }

  for (const [name, open] of Object.entries({ ...GATEWAY_FAULT_RIGS, ...SLOW_FAULT_RIGS })) {
    it(`also while it is being opened: ${name}`, async () => {
      for (const call of COLD_CALLS) await coldFaultContract(open, call);
    });
  }
});
