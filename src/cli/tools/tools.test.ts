import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { SDK } from "../../../test/support/plugin-sdk.ts";
import { until } from "../../../test/support/until.ts";

const SERVER = join(import.meta.dirname, "../../../test/support/notes-server.mjs");

/** A configuration with a server that has the tools `read_note` and `fail`. */
const setUp = (policy: object = {}): Promise<SampleCommandLine> => {
  const notes = { command: process.execPath, args: [SERVER] };
  return SampleCommandLine.create({ mcpServers: { notes }, ...policy });
};

describe("trunkline tool list", () => {
  it("lists our tools by purpose and others by server, with the first line of their description", async () => {
    await using line = await setUp();
    const { out } = await line.run("tool", "list");
    assert.match(out, /^notes:\n {2}read_note +Reads a note\n {2}fail +Always fails$/m);
    assert.match(out, /^Git identities:\n(?: {2}.*\n)* {2}juggler_status +Show the current git/m);
  });

  it("marks tools that the policy denies to a person at the terminal", async () => {
    const policy = { tools: { rules: [{ tool: "fail", decision: "deny" }] } };
    await using line = await setUp({ policy });
    assert.match((await line.run("tool", "list")).out, /^ {2}fail +\(denied\) Always fails$/m);
  });
});

describe("trunkline tool list --profile", () => {
  const profiles = {
    reading: {
      servers: { allow: ["notes"] },
      tools: { deny: ["fail"], rename: { read_note: "read" } },
    },
    searching: { search: true },
  };

  it("lists what a client with the profile gets", async () => {
    await using line = await setUp({ profiles });
    const { out } = await line.run("tool", "list", "--profile", "reading");
    assert.equal(out, "notes:\n  read  Reads a note\n");
    const wrong = await line.run("tool", "list", "--profile", "writing");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /There is no profile 'writing'\. Profiles .*: reading, searching\./);
  });
});

describe("trunkline tool call", () => {
  it("waits for the plugin that has the tool", async () => {
    await using line = await SampleCommandLine.create();
    const file = join(line.home.path, "plugin.mjs");
    const tools = '{ hello: { description: "Greets", call: () => "Hello" } }';
    const plugin = `{ id: "tools.hello", version: "1.0.0", tools: ${tools} }`;
    const program = `import { definePlugin } from ${JSON.stringify(SDK)};\ndefinePlugin(${plugin});\n`;
    await line.home.write(file, program);
    const bus = { sandbox: "off", plugins: { "tools.hello": { module: file } } };
    await line.home.write(line.home.userFile, JSON.stringify({ bus }));
    // It waits for some seconds, in which a busy machine may start no plugin.
    let out = "";
    await until(async () => ({ out } = await line.run("tool", "call", "hello")).code === 0);
    assert.equal(out, "Hello\n");
  });

  it("prints the tool's answer, and exits with 1 if it fails", async () => {
    await using line = await setUp();
    const { code, out } = await line.run("tool", "call", "read_note", "--args", '{"name":"x"}');
    assert.deepEqual([code, out], [0, "The note x: \u001b[31mred\u001b[0m\n"]);
    const failed = await line.run("tool", "call", "fail");
    assert.deepEqual([failed.code, failed.out], [1, ""]);
    // A server that takes long to start is told of before.
    assert.match(failed.err, /^It cannot be done\n$/m);
  });

  it("suggests similar names for an unknown tool, and otherwise how to list them", async () => {
    await using line = await setUp();
    const near = await line.run("tool", "call", "read_notes");
    assert.equal(near.code, 1);
    assert.match(near.err, /There is no tool 'read_notes'\. Did you mean 'read_note'\?/);
    const far = await line.run("tool", "call", "x".repeat(30));
    assert.match(far.err, /`trunkline tool list` lists them/);
  });

  it("says in whole sentences which servers did not start, if the tool is unknown", async () => {
    await using line = await SampleCommandLine.create();
    const mcpServers = { dead: { command: "no-such-program" }, gone: { command: "nor-this" } };
    await line.home.write(line.home.userFile, JSON.stringify({ mcpServers }));
    const { code, err } = await line.run("tool", "call", "greet");
    assert.equal(code, 1);
    assert.match(
      err,
      /'dead' could not be started\. .* install it\. MCP server 'gone' .* install it\.\n$/,
    );
  });

  it("refuses arguments that the tool's schema does not allow", async () => {
    await using line = await setUp();
    const { code, err } = await line.run("tool", "call", "read_note");
    assert.equal(code, 1);
    assert.match(err, /name/);
  });
});
