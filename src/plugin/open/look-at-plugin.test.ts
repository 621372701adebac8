import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdir, mkdtempDisposable, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { findPlugin } from "../installed-plugin.ts";
import { defaultConfig } from "../../config/config.ts";
import { pluginSandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";
import { lookAtPlugin } from "./look-at-plugin.ts";

const inForce = await pluginSandboxStatus(defaultConfig("/nowhere"));
const skip = inForce.state === "ok" ? false : `No sandbox can be had here: ${inForce.says}`;
const NONE = { state: "warn", says: "none: bwrap is not installed" } as const;
const PRINTS = `console.log('{ "id": "tools.x" }')`;

/** A home folder with a plugin in it, and what is not the plugin's business. */
async function open(files: Readonly<Record<string, string>>) {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-look-test-"));
  const at = (name: string): string => join(home.path, name);
  for (const folder of ["plugin", "data"]) await mkdir(at(folder));
  await writeFile(at(".bashrc"), "mine");
  await writeFile(at("data/token"), "secret");
  await writeFile(at("plugin/package.json"), "{}");
  for (const [name, text] of Object.entries(files)) await writeFile(at(`plugin/${name}`), text);
  await symlink(at("plugin"), at("link"));
  const look = (name: string, limits = inForce, folder = "plugin") =>
    lookAtPlugin(findPlugin(`./${folder}/${name}`, home.path), at("data"), limits);
  return { at, look, [Symbol.asyncDispose]: () => home.remove() };
}

describe("looking at a plugin", { skip, timeout: 600_000 }, () => {
  it("runs its code where it can write nothing, see nothing and reach nobody", async () => {
    let visits = 0;
    await using site = createServer((_, response) => response.end(String((visits += 1))));
    await once(site.listen(0, "127.0.0.1"), "listening");
    await using rig = await open({});
    const { port } = site.address() as AddressInfo;
    // What it could do, as the name of a tool that it needs.
    const script = `
      import { execFileSync } from "node:child_process";
      import { readFileSync, writeFileSync } from "node:fs";
      const can = [];
      const tries = async (name, what) => { try { await what(); can.push(name); } catch {} };
      await tries("own", () => writeFileSync(${JSON.stringify(rig.at("plugin/own"))}, "evil"));
      await tries("read", () => readFileSync(${JSON.stringify(rig.at(".bashrc"))}));
      await tries("token", () => readFileSync(${JSON.stringify(rig.at("data/token"))}));
      await tries("fetch", () => fetch("http://127.0.0.1:${port}/"));
      await tries("web", async () => (await fetch("http://example.org/")).ok || raise());
      await tries("signal", () => process.kill(${process.pid}, 0));
      // What it writes elsewhere is in a folder of the sandbox's own.
      await tries("", () => writeFileSync(${JSON.stringify(rig.at(".bashrc"))}, "evil"));
      await tries("", () => execFileSync("/bin/sh", ["-c", "echo evil >> ${rig.at(".bashrc")}"]));
      console.log(JSON.stringify({ id: "tools.x", needs_tools: can.filter(Boolean) }));`;
    await writeFile(rig.at("plugin/plugin.mjs"), script);
    const { needs_tools: could } = await rig.look("plugin.mjs");
    assert.deepEqual(could, []);
    assert.equal(visits, 0);
    assert.equal(await readFile(rig.at(".bashrc"), "utf8"), "mine");
    assert.deepEqual(readdirSync(rig.at("plugin")).toSorted(), ["package.json", "plugin.mjs"]);
  });

  it("runs an executable in there, too, whatever it is", async () => {
    await using rig = await open({});
    const evil = rig.at(".bashrc");
    const program = `#!/bin/sh\necho evil >> ${evil}\necho evil >> ${rig.at("plugin/own")}\necho '{ "id": "tools.sh" }'\n`;
    await writeFile(rig.at("plugin/run"), program);
    await chmod(rig.at("plugin/run"), 0o755);
    assert.equal((await rig.look("run")).id, "tools.sh");
    assert.equal(await readFile(evil, "utf8"), "mine");
    assert.equal(existsSync(rig.at("plugin/own")), false);
  });

  it("lets V8 write its traces nowhere, which Node's own permission model does not see", async () => {
    await using rig = await open({});
    const flags = [
      ...["--allow-natives-syntax", "--trace-turbo", `--trace-turbo-path=${rig.at("plugin")}`],
      `--trace-turbo-cfg-file=${rig.at(".bashrc")}`,
    ];
    const optimize =
      "%PrepareFunctionForOptimization(f); f(1); %OptimizeFunctionOnNextCall(f); f(2);";
    const script = `
      import { setFlagsFromString } from "node:v8";
      for (const flag of ${JSON.stringify(flags)}) setFlagsFromString(flag);
      new Function("f", ${JSON.stringify(optimize)})(new Function("a", "return a + 1"));
      ${PRINTS}`;
    await writeFile(rig.at("plugin/plugin.mjs"), script);
    assert.equal((await rig.look("plugin.mjs")).id, "tools.x");
    assert.equal(await readFile(rig.at(".bashrc"), "utf8"), "mine");
    assert.deepEqual(readdirSync(rig.at("plugin")).toSorted(), ["package.json", "plugin.mjs"]);
  });

  it("says why a plugin cannot be asked, and how to go on", async () => {
    await using rig = await open({
      "loud.mjs": `console.log("hello");\n${PRINTS}`,
      "bad.mjs": 'console.error("no such flag"); process.exit(2)',
      "lone.mjs": 'import "no-such-package"',
      "odd.mjs": 'console.log("hello")',
      "endless.mjs": 'import { writeSync } from "node:fs"; for (;;) writeSync(1, "x".repeat(4096))',
    });
    assert.equal((await rig.look("loud.mjs", inForce, "link")).id, "tools.x");
    await assert.rejects(rig.look("bad.mjs"), /: no such flag\. Give it .* its id with --id\.$/);
    await assert.rejects(
      rig.look("lone.mjs"),
      /: Cannot find package 'no-such-package'.*\. Run `npm install` in its folder first\.$/,
    );
    await assert.rejects(rig.look("odd.mjs"), /malformed or has no id\. Give it .* --id\.$/);
    await assert.rejects(rig.look("endless.mjs"), /prints too much|maxBuffer/);
  });
});

describe("looking at a plugin without a sandbox", () => {
  it("reads its manifest, and runs nothing of it", async () => {
    await using rig = await open({ "plugin.mjs": "" });
    const evil = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(rig.at("ran"))}, "");${PRINTS}`;
    await writeFile(rig.at("plugin/plugin.mjs"), evil);
    await assert.rejects(rig.look("plugin.mjs", NONE), {
      code: "config",
      message: /it has no trunkline\.plugin\.json, and it is asked .* only in a sandbox\..*--id/,
    });
    await writeFile(rig.at("plugin/trunkline.plugin.json"), '{ "id": "tools.file" }');
    for (const limits of [NONE, inForce]) {
      assert.equal((await rig.look("plugin.mjs", limits)).id, "tools.file");
    }
    assert.equal(existsSync(rig.at("ran")), false);
  });

  it("asks nothing instead of a manifest that cannot be read", async () => {
    await using rig = await open({ "plugin.mjs": PRINTS });
    await symlink("/etc/shadow", rig.at("plugin/trunkline.plugin.json"));
    await assert.rejects(rig.look("plugin.mjs"), /it is a link\.$/);
    execFileSync("rm", [rig.at("plugin/trunkline.plugin.json")]);
    execFileSync("mkfifo", [rig.at("plugin/trunkline.plugin.json")]);
    await assert.rejects(rig.look("plugin.mjs"), /it is not a regular file\.$/);
  });
});
