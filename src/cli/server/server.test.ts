import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const SUPPORT = join(import.meta.dirname, "../../../test/support");
const NOTES = join(SUPPORT, "notes-server.mjs");

async function configured(line: SampleCommandLine): Promise<Record<string, unknown>> {
  return (await line.home.load()).config.mcpServers;
}

describe("trunkline server add", () => {
  it("adds a program with its arguments, variables and folder", async () => {
    await using line = await SampleCommandLine.create();
    const args = ["--env", "LEVEL=1", "--cwd", "src", "--", process.execPath, "-y", "--port=1"];
    const { code, out, err } = await line.run("server", "add", "notes", ...args);
    assert.equal(code, 0, err);
    const tested = "Test it with `trunkline server test notes`.";
    assert.equal(out, `Added server 'notes' to ${line.home.userFile}.\n${tested}\n`);
    assert.deepEqual(await configured(line), {
      notes: {
        command: process.execPath,
        args: ["-y", "--port=1"],
        env: { LEVEL: "1" },
        cwd: join(line.home.project, "src"),
      },
    });
  });

  it("adds a URL with headers in both usual forms", async () => {
    await using line = await SampleCommandLine.create();
    const headers = ["--header", "X-A=b=c", "--header", "X-B: d"];
    await line.run("server", "add", "web", "https://example.com/mcp", ...headers);
    assert.deepEqual(await configured(line), {
      web: { url: "https://example.com/mcp", headers: { "X-A": "b=c", "X-B": "d" } },
    });
  });

  it("replaces a server only if asked, and refuses options that do not fit", async () => {
    await using line = await SampleCommandLine.create({ mcpServers: { a: { command: "a" } } });
    const again = await line.run("server", "add", "a", "https://example.com/");
    assert.equal(again.code, 1);
    assert.match(again.err, /Cannot add server 'a': .* --replace replaces it\.\n$/);
    await line.run("server", "add", "a", "https://example.com/", "--replace");
    assert.deepEqual(await configured(line), { a: { url: "https://example.com/" } });
    const before = await readFile(line.home.userFile, "utf8");
    for (const args of [
      ["b", "https://example.com/", "--env", "A=1"],
      ["b", "ftp://example.com/"],
      ["b", "http:/example.com"],
      ["b", "--header", "A=1", "--", "node"],
      ["b"],
      ["__proto__", "--", "node"],
    ]) {
      const { code } = await line.run("server", "add", ...args);
      assert.notEqual(code, 0, args.join(" "));
    }
    assert.equal(await readFile(line.home.userFile, "utf8"), before);
  });

  it("writes a relative program as what it means, and notes one that is not there", async () => {
    await using line = await SampleCommandLine.create();
    await mkdir(join(line.home.project, "bin"));
    await writeFile(join(line.home.project, "bin/s"), "", { mode: 0o755 });
    assert.equal((await line.run("server", "add", "a", "--", "./bin/s")).err, "");
    const { err } = await line.run("server", "add", "b", "--", "no-such-program");
    assert.match(err, /^note: There is no program 'no-such-program' here/);
    const again = await line.run("server", "add", "b", "--", "no-such-program");
    assert.match(
      again.err,
      /^trunkline: Cannot add server 'b': there is one/,
      "what is wrong is first",
    );
    assert.doesNotMatch(again.err, /no program/);
    const path = join(line.home.project, "bin/s");
    assert.deepEqual((await configured(line)).a, { command: path });
    await line.run("server", "add", "c", "--project", "--", "./bin/s");
    const text = await readFile(line.home.projectFile, "utf8");
    assert.deepEqual(JSON.parse(text), { mcpServers: { c: { command: "./bin/s" } } });
    assert.deepEqual((await configured(line)).c, { command: path });
  });
});

describe("trunkline server remove", () => {
  it("keeps the comments beside the server, and the file as it first was", async () => {
    await using line = await SampleCommandLine.create();
    const server = (name: string): string => `"${name}": { "command": "${name}" }`;
    const text =
      `{\n  // all of mine\n  "mcpServers": {\n    // about a\n    ${server("a")}, // first\n` +
      `    // about b\n    ${server("b")} // second\n    // the end\n  }\n}\n`;
    await line.home.write(line.home.userFile, text);
    assert.equal((await line.run("server", "remove", "b")).code, 0);
    const after = readFileSync(line.home.userFile, "utf8");
    assert.equal(
      after,
      text.replace(`${server("b")} //`, "//").replace("}, // first", "} // first"),
    );
    for (let count = 0; count < 12; count++) {
      await line.run("server", "add", `s${count}`, "--", "x");
    }
    const folder = join((await line.home.load()).config.data, "config-backups");
    const kept = readdirSync(folder).toSorted();
    assert.equal(kept.length, 10);
    assert.equal(readFileSync(join(folder, kept[0] ?? ""), "utf8"), text);
  });

  it("removes one, and says where one is that it cannot find", async () => {
    await using line = await SampleCommandLine.create({ mcpServers: { a: { command: "a" } } });
    await line.run("server", "add", "b", "--project", "--", "b");
    assert.match((await line.run("server", "remove", "b")).err, /--project removes it/);
    assert.match((await line.run("server", "remove", "aa")).err, /Did you mean 'a'\?/);
    assert.equal((await line.run("server", "remove", "a")).code, 0);
    assert.equal((await line.run("server", "remove", "b", "--project")).code, 0);
    assert.deepEqual(await configured(line), {});
  });
});

describe("trunkline server list and test", () => {
  it("list tools of a server that works, and count those that were seen", async () => {
    const notes = { command: process.execPath, args: [NOTES] };
    await using line = await SampleCommandLine.create({ mcpServers: { notes } });
    assert.match(
      (await line.run("server", "list")).out,
      /notes +not seen yet +shared +your file +\S/,
    );
    const { code, out, err } = await line.run("server", "test", "notes");
    assert.equal(code, 0, err);
    assert.match(
      out,
      /^'notes' works: 2 tools after \d+ ms, MCP \S+\.\n {2}read_note {2}Reads a note\n/,
    );
    assert.match((await line.run("server", "list")).out, /notes +2 +shared +your file/);
  });

  it("says why a server does not work, with what it wrote", async () => {
    const script = "console.error('one'); console.error('no key \\u001b[31m'); process.exit(3)";
    await using line = await SampleCommandLine.create({
      mcpServers: {
        bad: { command: process.execPath, args: ["-e", script] },
        absent: { command: "no-such-program" },
      },
    });
    const bad = await line.run("server", "test", "bad");
    assert.equal(bad.code, 1);
    const says = "'bad' does not work: It exited with code 3, after saying: ";
    assert.equal(
      bad.err.replace("one | ", ""),
      `${says}no key \\u001b[31m\nIts last output:\n  one\n`,
    );
    const absent = await line.run("server", "test", "absent");
    assert.match(absent.err, /^'absent' does not work: .*no-such-program/);
    assert.match((await line.run("server", "test", "bda")).err, /Did you mean 'bad'\?/);
  });

  it("mask secrets", async () => {
    const url = "https://example.com/mcp?token=abcdefghijklmnop";
    await using line = await SampleCommandLine.create({ mcpServers: { web: { url } } });
    for (const args of [[], ["--json"]]) {
      assert.doesNotMatch((await line.run("server", "list", ...args)).out, /abcdefgh/);
    }
  });
});
