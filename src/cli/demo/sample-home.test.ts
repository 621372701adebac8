import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";

import { sampleHome } from "./sample-home.ts";

async function sample() {
  const stop = new AbortController();
  const home = await sampleHome(stop.signal);
  return { home, stop };
}

describe("SampleHome", () => {
  it("fails with what a command said if it fails", async () => {
    const { home } = await sample();
    await using _ = home;
    await home.run(["sh", "-c", "touch made"]);
    assert.ok(existsSync(home.path("app", "made")));
    const words = ["sh", "-c", "echo why >&2; exit 3"];
    await assert.rejects(home.run(words), { message: /ended with 3: why$/ });
  });

  it("gives the lines of a program that goes on, and ends it with itself", async () => {
    const { home } = await sample();
    const cat = await home.start(["cat"]);
    cat.send("hello");
    assert.equal(await cat.line(), "hello");
    const { folder } = home;
    assert.ok(existsSync(folder));
    await home[Symbol.asyncDispose]();
    assert.ok(!existsSync(folder));
    await assert.rejects(cat.line(), { message: /'cat' ended early/ });
  });

  it("starts nothing after it was stopped", async () => {
    const { home, stop } = await sample();
    await using _ = home;
    stop.abort(new Error("stopped"));
    await assert.rejects(home.run(["true"]), { message: "stopped" });
  });

  it("says where no folder can be made", async () => {
    const { TMPDIR } = process.env;
    process.env["TMPDIR"] = "/no/such";
    const made = sample().finally(() => {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
    });
    await assert.rejects(made, { message: /in '\/no\/such': no such.*TMPDIR/ });
  });
});
