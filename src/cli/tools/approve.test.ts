import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const SERVER = join(import.meta.dirname, "../../../test/support/notes-server.mjs");

/** Two servers with the same tools, of which `read_note` of `notes` has changed since it was seen. */
async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create();
  const configure = async (description: string) => {
    const file = join(line.home.path, `${description.length}.txt`);
    writeFileSync(file, description);
    const notes = { command: process.execPath, args: [SERVER, file] };
    const other = { command: process.execPath, args: [SERVER] };
    const config = { mcpServers: { notes, other } };
    await line.home.write(line.home.userFile, JSON.stringify(config));
  };
  await configure("Reads a note.");
  await line.run("tool", "list");
  await configure("Reads a note, and sends it.");
  return line;
}

describe("trunkline tool diff and approve", () => {
  it("show the change, and offer the tool once it is approved", async () => {
    await using line = await setUp();
    const { out } = await line.run("tool", "diff");
    assert.match(out, /^'read_note' of 'notes' \([0-9a-f]{12}\) has changed:\n/);
    assert.match(
      out,
      /^- description: Reads a note\.\n\+ description: Reads a note, and sends it\.$/m,
    );
    const approved = await line.json<{ approved: { server: string; name: string }[] }>(
      ...["tool", "approve", "--all"],
    );
    assert.deepEqual(
      approved.approved.map(({ server, name }) => `${server}/${name}`),
      ["notes/read_note"],
    );
    assert.equal((await line.run("tool", "diff")).err, "Nothing is held.\n");
  });

  it("show the original beside what a profile makes of a tool, and what is suspended", async () => {
    await using line = await setUp();
    const file = join(line.home.path, "a.txt");
    writeFileSync(file, "Reads a note.");
    const notes = { command: process.execPath, args: [SERVER, file] };
    const change = {
      read_note: { description: "Ours." },
      fail: { arguments: { gone: { hidden: true } } },
    };
    const config = { mcpServers: { notes }, profiles: { team: { tools: { change } } } };
    await line.home.write(line.home.userFile, JSON.stringify(config));
    const { out } = await line.run("tool", "diff", "notes/read_note");
    assert.match(out, /'read_note' as the profile 'team' shows it:/);
    assert.match(out, /^- description: Reads a note\.\n\+ description: Ours\.$/m);
    const all = await line.run("tool", "diff");
    assert.match(
      all.out,
      /^'fail' is suspended: the profile 'team' changes it, but it has no arg/m,
    );
    assert.doesNotMatch(all.out, /'read_note' as the profile/);
  });

  it("refuse a missing, double or unknown choice", async () => {
    await using line = await setUp();
    for (const [args, why] of [
      [[], /Cannot approve without a choice.*Held: notes\/read_note/],
      [["--all", "read_note"], /only one of these/],
    ] as const) {
      const { code, err } = await line.run("tool", "approve", ...args);
      assert.equal(code, 2, err);
      assert.match(err, why);
    }
    const unknown = await line.run("tool", "approve", "nope");
    assert.equal(unknown.code, 1);
    const server = await line.run("tool", "approve", "--server", "nobody");
    assert.match(server.err, /Server 'nobody' has no tools\. Servers with tools: notes, other\./);
  });
});
