import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { checkerFor, errorsIn } from "./diagnostics.ts";

/** What programs print, and what is read of it. */
const PRINTED: Readonly<Record<string, readonly [output: string, errors: readonly string[]]>> = {
  "cargo check": [
    "src/main.rs:6:25: error[E0308]: mismatched types: expected `u32`\nsrc/a.rs:1:5: warning: unused\nerror: could not compile",
    ["src/main.rs:6:25 error[E0308]: mismatched types: expected `u32`"],
  ],
  "go vet": [
    '# example.org/sum\nvet: ./main.go:6:20: cannot use "two"\n./sub/b.go:3:1: undefined: x',
    ['main.go:6:20 cannot use "two"', "sub/b.go:3:1 undefined: x"],
  ],
  tsc: [
    "src/a.ts(1,14): error TS2322: Type 'string' is not assignable\n  more about it",
    ["src/a.ts:1:14 error TS2322: Type 'string' is not assignable"],
  ],
  mypy: [
    'main.py:3: error: Argument 1 has incompatible type "str"  [arg-type]\nmain.py:3: note: See it',
    ['main.py:3:1 Argument 1 has incompatible type "str"  [arg-type]'],
  ],
  ruff: [
    "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.",
    ["a.py:1:8 F401 [*] `os` imported but unused"],
  ],
  Python: [
    'Traceback (most recent call last):\n  File "<frozen runpy>", line 198, in _run\n  File "./a.py", line 2\n    x = (\n        ^\nSyntaxError: \'(\' was never closed',
    ["a.py:2:1 SyntaxError: '(' was never closed"],
  ],
  ESLint: [
    "\n/project/src/a.js\n  1:7   error    'x' is unused  no-unused-vars\n  2:1   warning  other\n\n\u001b[31m✖ 2 problems\u001b[0m",
    ["src/a.js:1:7 'x' is unused  no-unused-vars"],
  ],
  "nothing of the project": [
    "/etc/passwd.txt:1:1: error\n../x.ts(1,1): error\n12:30:15: began\nhttp://a.example:80: x",
    [],
  ],
};

describe("errorsIn()", () => {
  for (const [program, [output, errors]] of Object.entries(PRINTED)) {
    it(`reads what ${program} prints`, () => {
      const found = errorsIn(output, "/project");
      assert.deepEqual(
        found.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`),
        errors,
      );
    });
  }

  it("reads long hostile lines in little time", () => {
    const output = [
      "a.".repeat(15_000),
      `${" ".repeat(20_000)}1:1`,
      `a.b${":1".repeat(10_000)}`,
    ].join("\n");
    assert.deepEqual(errorsIn(output, "/project"), []);
  });
});

describe("checkerFor()", () => {
  const lineFor = (rig: AgentRig, name: string): string | undefined =>
    checkerFor(name, rig.cwd)?.(["FILE"]);

  it("takes the first script that checks and changes nothing, or else the compiler of the project", async () => {
    await using rig = new AgentRig({ files: { "tsconfig.json": "{}" } });
    assert.equal(lineFor(rig, "a.ts"), undefined);
    rig.write("node_modules/.bin/tsc", "#!/bin/sh\n");
    chmodSync(join(rig.cwd, "node_modules/.bin/tsc"), 0o755);
    assert.equal(lineFor(rig, "a.ts"), "node_modules/.bin/tsc --noEmit --pretty false");
    for (const [scripts, line] of [
      [{ lint: "eslint .", check: "tsc" }, "npm run --silent check"],
      [{ lint: "eslint .", types: "tsc -w" }, "npm run --silent lint"],
      [{ lint: "eslint --fix .", test: "x" }, "node_modules/.bin/tsc --noEmit --pretty false"],
    ] as const) {
      rig.write("package.json", JSON.stringify({ scripts }));
      assert.equal(lineFor(rig, "a.ts"), line);
    }
    assert.equal(lineFor(rig, "a.txt"), undefined);
  });

  it("takes a tool of Python only if the project configures it", async () => {
    await using rig = new AgentRig();
    rig.write(".venv/bin/ruff", "#!/bin/sh\n");
    rig.write(".venv/bin/python3", "#!/bin/sh\n");
    for (const name of ["ruff", "python3"]) chmodSync(join(rig.cwd, ".venv/bin", name), 0o755);
    assert.equal(lineFor(rig, "a.py"), ".venv/bin/python3 -I -m ast FILE > /dev/null");
    rig.write("pyproject.toml", "[tool.ruff]\nline-length = 99\n");
    assert.equal(
      lineFor(rig, "a.py"),
      ".venv/bin/ruff check --no-fix --output-format concise FILE",
    );
    const line = checkerFor("a.py", rig.cwd);
    assert.match(line?.(["./-x y.py"]) ?? "", / '\.\/-x y\.py'$/);
  });
});
