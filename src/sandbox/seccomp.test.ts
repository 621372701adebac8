import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { seccompFilter } from "./seccomp.ts";

const X64 = 0xc000003e;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (number: number): number => 0x00050000 | number;

/** Runs a filter as the kernel would, on a call with these arguments. */
function judge(filter: Buffer, arch: number, number: number, ...args: number[]): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [index, arg] of args.entries()) data.writeUInt32LE(arg >>> 0, 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const code = filter.readUInt16LE(at * 8);
    const operand = filter.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean): void => {
      at += filter.readUInt8(at * 8 + (isTrue ? 2 : 3));
    };
    if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x15) jump(accumulator === operand);
    else if (code === 0x35) jump(accumulator >= operand);
    else if (code === 0x45) jump((accumulator & operand) !== 0);
    else if (code === 0x06) return operand;
    else assert.fail(`unknown instruction ${code}`);
  }
  return assert.fail("the filter has no end");
}

describe("seccompFilter()", () => {
  const filter = seccompFilter("x64");
  const call = (number: number, ...args: number[]): number => judge(filter, X64, number, ...args);

  it("allows ordinary calls", () => {
    // read, openat, execve, mmap, and ptrace of own children
    for (const number of [0, 257, 59, 9, 101]) assert.equal(call(number), ALLOW);
  });

  it("refuses mounts, modules, keys, io_uring, bpf and new namespaces", () => {
    for (const number of [165, 166, 175, 250, 425, 321, 272, 308, 442, 304]) {
      assert.equal(call(number), errno(1), String(number));
    }
  });

  it("allows new processes, but not with new namespaces", () => {
    assert.equal(call(56, 17), ALLOW);
    assert.equal(call(56, 0x10000000 | 17), errno(1));
    assert.equal(call(56, 0x00020000 | 17), errno(1));
    // glibc falls back to clone if clone3 fails with ENOSYS.
    assert.equal(call(435), errno(38));
  });

  it("allows reading terminal settings, but not inserting input", () => {
    assert.equal(call(16, 1, 0x5413), ALLOW);
    assert.equal(call(16, 1, 0x5412), errno(1));
    assert.equal(call(16, 1, 0x541c), errno(1));
  });

  it("allows only sockets of the usual families", () => {
    for (const family of [1, 2, 10, 16]) assert.equal(call(41, family), ALLOW);
    for (const family of [17, 40, 38]) assert.equal(call(41, family), errno(97));
  });

  it("kills a program that uses another calling convention", () => {
    assert.equal(judge(filter, 0x40000003, 0), KILL);
    assert.equal(call(0x40000000 + 165), errno(38));
  });

  it("knows the numbers of another architecture", () => {
    const arm = seccompFilter("arm64");
    assert.equal(judge(arm, 0xc00000b7, 40), errno(1));
    assert.equal(judge(arm, 0xc00000b7, 63), ALLOW);
    assert.equal(judge(arm, X64, 63), KILL);
  });

  it("reports an unknown architecture", () => {
    assert.throws(() => seccompFilter("s390x"), /'s390x' are not known/);
  });
});
