// Long: it kills two programs that move a session, again and again.
import { describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { StruckMoves } from "../support/struck-moves.ts";

describe("a session that is moved back and forth", () => {
  const count = rounds({ few: 4, all: 50 });

  it(`is whole on exactly one side after ${count} kills and cuts at any point`, async (t) => {
    const seed = Number(process.env["TRUNKLINE_MOVE_SEED"] ?? Date.now() % 1_000_000);
    t.diagnostic(`TRUNKLINE_MOVE_SEED=${seed}`);
    await using moves = await StruckMoves.begin(seed);
    await moves.note();
    await moves.move();
    for (let round = 1; round <= count; round++) await moves.struck(round);
  });
});
