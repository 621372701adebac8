// Long: every door on a disk that fails at each operation.
import { describe, it } from "node:test";

import { seeded } from "../fuzz/fuzz-run.ts";
import { oneIn, rounds } from "../support/full-run.ts";
import { FAULT_RIGS, GATEWAY_FAULT_RIGS } from "./fault-rigs/fault-rigs.ts";
import { COLD_CALLS, coldFaultContract, storeFaultContract } from "./store-fault-contract.ts";

/** Of the calls to the disk, how many fail in each way. Each of them in turn takes many minutes. */
const MOST = rounds({ few: 1, all: Infinity });
/** Of the ways to fail one in so many, in `npm test`: others for each door, and each day. */
const PART = 8;
/** How many of the calls while stores are opened: in `npm test` each door has another one. */
const COLD = rounds({ few: 1, all: COLD_CALLS.length });
/** Of the doors while their stores are opened one in so many, in `npm test`: others each day. */
const COLD_PART = 6;

describe("every door, if any operation of its stores fails", () => {
  const all = Object.entries({ ...FAULT_RIGS, ...GATEWAY_FAULT_RIGS });
  for (const [number, [name, open]] of all.entries()) {
    it(`answers with a message and recovers: ${name}`, async (test) => {
      await using rig = await open();
      const isTried = oneIn(PART, seeded(test, number));
      const report = (line: string): void => test.diagnostic(line);
      await storeFaultContract(rig, { most: MOST, isTried, report });
    });
  }

  it("answers with a message and recovers also while its stores are being opened", async (test) => {
    const isTried = oneIn(COLD_PART, seeded(test, all.length));
    for (const [number, [name, open]] of Object.entries(FAULT_RIGS).entries()) {
      if (!isTried(number)) continue;
      test.diagnostic(name);
      for (let tried = 0; tried < COLD; tried++) {
        await coldFaultContract(open, COLD_CALLS[(number + tried) % COLD_CALLS.length]!);
      }
    }
  });
});
