import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bits, identifier, integer, octets, readValues, sequence, tagged, time } from "./issue.ts";

describe("DER", () => {
  it("has the length of a value in as few bytes as it takes", () => {
    const headOf = (length: number): string =>
      octets(Buffer.alloc(length)).subarray(0, -length).toString("hex");
    assert.equal(headOf(127), "047f");
    assert.equal(headOf(128), "048180");
    assert.equal(headOf(255), "0481ff");
    assert.equal(headOf(256), "04820100");
    assert.equal(headOf(65_536), "0483010000");
  });

  it("has values as X.690 has them", () => {
    const values = {
      // 8.19.5 has an example with several bytes to a number.
      "0603883703": identifier("2.999.3"),
      "06082a8648ce3d040302": identifier("1.2.840.10045.4.3.2"),
      "0202407f": integer(Buffer.of(0x40, 0x7f)),
      "03020106": bits(Buffer.of(0x06), 1),
      "0500": tagged(0x05),
      "30050500300102": sequence(tagged(0x05), Buffer.of(0x30, 0x01, 0x02)),
    };
    for (const [hex, value] of Object.entries(values)) assert.equal(value.toString("hex"), hex);
  });

  it("has two digits of the year until 2049, and four from then on", () => {
    const textOf = (date: string): string => time(Date.parse(date)).toString("latin1");
    assert.equal(textOf("2049-12-31T23:59:59.999Z"), "\x17\x0d491231235959Z");
    assert.equal(textOf("2050-01-01T00:00:00Z"), "\x18\x0f20500101000000Z");
  });

  it("is read as it was written", () => {
    const long = octets(Buffer.alloc(70_000, 7));
    const values = readValues(Buffer.concat([integer(Buffer.of(5)), sequence(long)]));
    assert.deepEqual(
      values.map(({ tag, content }) => [tag, content.length]),
      [
        [0x02, 1],
        [0x30, long.length],
      ],
    );
    assert.ok(readValues(values[1]?.content ?? Buffer.of())[0]?.whole.equals(long));
  });
});
