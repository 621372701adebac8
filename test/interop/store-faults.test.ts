import { describe, it } from "node:test";

import {
  FAULT_RIGS,
  GATEWAY_FAULT_RIGS,
  SLOW_FAULT_RIGS,
} from "../contract/fault-rigs/fault-rigs.ts";
import { coldFaultContract, storeFaultContract } from "../contract/store-fault-contract.ts";

/** Operations of which each fails in turn, in each way, where a round takes seconds. */
const MOST = 20;

describe(
  "every door, if each operation of its stores fails in turn",
  { timeout: 3_600_000 },
  () => {
    for (const [name, open] of Object.entries({ ...FAULT_RIGS, ...GATEWAY_FAULT_RIGS })) {
      it(`answers with a message and recovers: ${name}`, async (test) => {
        await using rig = await open();
        await storeFaultContract(rig, { report: (line) => test.diagnostic(line) });
      });
    }

    for (const [name, open] of Object.entries(SLOW_FAULT_RIGS)) {
      it(`answers with a message and recovers: ${name}`, async (test) => {
        await using rig = await open();
        await storeFaultContract(rig, { most: MOST, report: (line) => test.diagnostic(line) });
      });
    }

    for (const [name, open] of Object.entries({ ...GATEWAY_FAULT_RIGS, ...SLOW_FAULT_RIGS })) {
      it(`also while it is being opened: ${name}`, () => coldFaultContract(open));
    }
  },
);
