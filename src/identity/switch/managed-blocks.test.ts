import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { sampleConfig } from "../../../test/samples/sample-config.ts";
import { blockLines, withBlock, withoutBlock } from "./managed-blocks.ts";
import { sampleSshConfig } from "../../../test/samples/sample-ssh-config.ts";

const START = { lines: ["Host a", "  User Zoë"], position: "start" } as const;
const END = { lines: ["[a]", "\tb = c"], position: "end" } as const;

describe("withBlock()", () => {
  it("leaves every other byte unchanged, and can be removed again", () => {
    const files = [
      "",
      "one line without an end",
      "unix\nlines\n",
      "dos\r\nlines\r\n",
      "dos\r\nwithout an end",
      "\ufeffwith a mark\n",
      "\n\n\n",
      "mixed\r\nline\nends",
    ].map((text) => Buffer.from(text));
    const binary = Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x80, 0xc3]);
    for (const bytes of [...files, binary]) {
      for (const block of [START, END]) {
        const written = withBlock(bytes, block);
        assert.deepEqual(blockLines(written), block.lines);
        assert.ok(written.includes(bytes.subarray(3)), JSON.stringify(bytes.toString()));
        assert.deepEqual(withBlock(written, block), written, "twice is as once");
        assert.deepEqual(withoutBlock(written), bytes, JSON.stringify(bytes.toString()));
      }
    }
  });

  it("does so with 300 realistic files", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const chance = new SeededRandom(seed);
      const bytes = chance.once(2) ? sampleConfig(chance) : sampleSshConfig(chance);
      const block = chance.pick([START, END]);
      assert.deepEqual(withoutBlock(withBlock(bytes, block)), bytes, `seed ${seed}`);
    }
  });

  it("creates a file, and removes a file that contains nothing else", () => {
    const made = withBlock(undefined, END);
    assert.equal(withoutBlock(made), undefined);
    const used = Buffer.concat([made, Buffer.from("[mine]\n")]);
    assert.equal(withoutBlock(used)?.toString(), "[mine]\n");
    assert.equal(withoutBlock(undefined), undefined);
  });

  it("replaces its own lines in place, and keeps what was added around them", () => {
    const first = withBlock(Buffer.from("before"), END);
    const more = Buffer.concat([first, Buffer.from("after\n")]);
    const second = withBlock(more, { ...END, lines: ["[other]"] });
    assert.match(second.toString(), /^before\n# BEGIN .*\n\[other\]\n# END .*\nafter\n$/);
    assert.equal(withoutBlock(second)?.toString(), "before\nafter\n");
  });

  it("changes nothing if its markers are out of order", () => {
    const begin = "# BEGIN TRUNKLINE MANAGED\n";
    const end = "# END TRUNKLINE MANAGED\n";
    for (const text of [begin, `x\n${end}`, `x\n${end}${begin}`, begin + begin + end]) {
      assert.throws(() => withBlock(Buffer.from(text), END), { code: "config" }, text);
      assert.throws(() => withoutBlock(Buffer.from(text)), { code: "config" }, text);
    }
    // Words like it in somebody's comment are none of ours.
    const comment = Buffer.from(`## see BEGIN TRUNKLINE MANAGED\n`);
    assert.deepEqual(withoutBlock(comment), comment);
  });
});
