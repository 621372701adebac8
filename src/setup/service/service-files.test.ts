import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { keptOptions, plistText, taskCommand, UNIT, unitText } from "./service.ts";

const kept = ["--port", "4190", "--host", "::1"];
const words = {
  command: [process.execPath, "/opt/a b/$HOME/50%/trunkline.js", "serve", ...kept],
  path: '/usr/bin:/opt/"odd"\\dir:/50%',
  kept,
};

describe("unitText()", () => {
  it("is a unit that systemd accepts without a warning", (context) => {
    if (spawnSync("systemd-analyze", ["--version"]).status !== 0) {
      context.skip("systemd-analyze is missing: install the package systemd");
      return;
    }
    const folder = mkdtempSync(join(tmpdir(), "trunkline-unit-"));
    try {
      const file = join(folder, UNIT);
      writeFileSync(file, unitText({ ...words, command: [process.execPath, "a", "serve"] }));
      const env = { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: folder };
      const run = spawnSync("systemd-analyze", ["--user", "verify", file], {
        env,
        encoding: "utf8",
      });
      assert.deepEqual([run.status, run.stderr, run.stdout], [0, "", ""]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("escapes what systemd would replace in words", () => {
    const text = unitText(words);
    assert.match(text, /^ExecStart=".+" "\/opt\/a b\/\$\$HOME\/50%%\/trunkline.js" "serve"/m);
    assert.match(text, /^Environment="PATH=\/usr\/bin:\/opt\/\\"odd\\"\\\\dir:\/50%%"$/m);
  });

  it("has what keeps a service of agents running, and nothing that keeps agents from working", () => {
    const text = unitText(words);
    for (const line of ["Type=exec", "Restart=on-failure", "KillMode=mixed", "UMask=0077"]) {
      assert.match(text, new RegExp(`^${line}$`, "m"));
    }
    assert.doesNotMatch(text, /MemoryDenyWriteExecute|ProtectHome|PrivateTmp|ProtectSystem/);
  });
});

describe("keptOptions()", () => {
  it("reads back the options of an installed service, and survives any other text", () => {
    assert.deepEqual(keptOptions(unitText(words)), kept);
    assert.deepEqual(keptOptions(plistText(words, "/Users/ada")), kept);
    assert.deepEqual(keptOptions("X-Trunkline-Options={broken"), []);
    assert.deepEqual(keptOptions('X-Trunkline-Options={"a":1}'), []);
    assert.deepEqual(keptOptions(""), []);
  });
});

describe("plistText()", () => {
  it("is well-formed, with absolute words and the path of programs", (context) => {
    if (spawnSync("python3", ["--version"]).status !== 0) {
      context.skip("python3 is missing, which reads the file here");
      return;
    }
    const text = plistText({ ...words, command: ["/a & b/<node>", "serve"] }, "/Users/ada");
    const read =
      "import plistlib, sys, json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
    const plist = JSON.parse(
      execFileSync("python3", ["-c", read], { input: text, encoding: "utf8" }),
    ) as Record<string, unknown>;
    assert.deepEqual(plist.ProgramArguments, ["/a & b/<node>", "serve"]);
    assert.deepEqual(plist.KeepAlive, { SuccessfulExit: false });
    assert.deepEqual(plist.EnvironmentVariables, { PATH: words.path });
    assert.equal(plist.RunAtLoad, true);
    assert.equal(plist.StandardErrorPath, "/Users/ada/Library/Logs/trunkline.log");
  });
});

describe("taskCommand()", () => {
  it("starts the gateway at login, with quoted words", () => {
    const text = taskCommand({ command: [String.raw`C:\Program Files\node.exe`, "serve"] });
    assert.match(text, /\/SC ONLOGON .*\/TR "\\"C:\\Program Files\\node.exe\\" \\"serve\\""$/);
  });
});
