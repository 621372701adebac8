import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

interface Progress {
  readonly countPackages: (root: string, packages: object) => { present: number; expected: number };
  readonly withProgress: <T>(
    describe: (seconds: number) => string,
    work: () => Promise<T>,
    options: { readonly out: Output; readonly everyMs?: number },
  ) => Promise<T>;
}

// Plain JavaScript, which has no types.
const { countPackages, withProgress } = (await import(
  new URL("progress.mjs", import.meta.url).href
)) as Progress;

class Output {
  readonly isTTY: boolean;
  text = "";
  readonly #heard: ((text: string) => void)[] = [];

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.text += text;
    for (const heard of this.#heard) heard(this.text);
  }

  /** Resolves once it holds something. */
  until(pattern: RegExp): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heard.push((text) => (pattern.test(text) ? resolve() : undefined));
    return promise;
  }
}

describe("withProgress()", () => {
  it("writes a line each time that there is more to say", async () => {
    const out = new Output(false);
    const asked = Promise.withResolvers<void>();
    let count = 0;
    const lines = (): string => {
      // The third line is asked for again and again, and written once.
      if (++count === 6) asked.resolve();
      return `${Math.min(count, 3)} of 3`;
    };
    const result = await withProgress(
      lines,
      async () => {
        await asked.promise;
        return "done";
      },
      { out, everyMs: 1 },
    );
    assert.equal(result, "done");
    assert.equal(out.text, "1 of 3\n2 of 3\n3 of 3\n");
  });

  it("writes over its line in a terminal, and leaves none there, also where the work fails", async () => {
    const out = new Output(true);
    const fails = async (): Promise<never> => {
      await out.until(/half/);
      throw new Error("broken");
    };
    await assert.rejects(
      withProgress(() => "half", fails, { out, everyMs: 1 }),
      /broken/,
    );
    assert.equal(out.text, "\r\u001b[Khalf\r\u001b[K");
  });

  it("says nothing of what is done at once", async () => {
    const out = new Output(false);
    await withProgress(
      () => "never",
      async () => {},
      { out },
    );
    assert.equal(out.text, "");
  });
});

describe("countPackages()", () => {
  it("counts those that are there, of those that are for this machine", () => {
    using root = mkdtempDisposableSync(join(tmpdir(), "progress-"));
    const there = join(root.path, "node_modules/there");
    mkdirSync(there, { recursive: true });
    writeFileSync(join(there, "package.json"), "{}");
    // npm makes the folders of all packages before it fills them.
    mkdirSync(join(root.path, "node_modules/empty"));
    const packages = {
      "": {},
      "node_modules/there": { os: [process.platform], cpu: [process.arch] },
      "node_modules/empty": {},
      "node_modules/elsewhere": { os: ["none"] },
      "node_modules/other-processor": { cpu: ["none"] },
      "node_modules/other-library": { libc: ["none"] },
    };
    assert.deepEqual(countPackages(root.path, packages), { present: 1, expected: 2 });
  });
});
