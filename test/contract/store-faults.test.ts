import { describe, it } from "node:test";

import { FAULT_RIGS, GATEWAY_FAULT_RIGS } from "./fault-rigs/fault-rigs.ts";
import { coldFaultContract, storeFaultContract } from "./store-fault-contract.ts";

/** Each call to the disk in turn takes many minutes; `npm run test:interop` has the time for it. */
const MOST = 3;
const MOST_OF_A_GATEWAY = 1;

describe("every door, if any operation of its stores fails", { timeout: 600_000 }, () => {
  for (const [name, open] of Object.entries(FAULT_RIGS)) {
    it(`answers with a message and recovers: ${name}`, async (test) => {
      await using rig = await open();
      await storeFaultContract(rig, { most: MOST, report: (line) => test.diagnostic(line) });
    });

    it(`also while it is being opened: ${name}`, () => coldFaultContract(open));
  }

  for (const [name, open] of Object.entries(GATEWAY_FAULT_RIGS)) {
    it(`answers with a message and recovers: ${name}`, async (test) => {
      await using rig = await open();
      const report = (line: string): void => test.diagnostic(line);
      await storeFaultContract(rig, { most: MOST_OF_A_GATEWAY, report });
    });
  }
});
