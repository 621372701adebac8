import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { approve } from "./approve.ts";

const WANTS = {
  id: "tools.x",
  needs_tools: ["echo"],
  permissions: {
    read: ["/etc/motd"],
    write: ["/tmp/x"],
    run: true,
    hosts: ["api.example.org", "localhost:5432"],
  },
};

const inForce = async () => ({ state: "ok", says: "in force" }) as const;

/** Standard input of a test is no terminal. */
function open(isApproved = false) {
  const said: string[] = [];
  return { values: { approve: isApproved }, err: (text: string) => void said.push(text), said };
}

describe("approve()", () => {
  it("refuses what nobody has approved, and names all of it", async () => {
    const message =
      /call the tool 'echo'\n {2}read \/etc\/motd\n {2}read and write \/tmp\/x\n {2}reach api\.example\.org\n {2}reach localhost:5432\n {2}start programs/;
    await assert.rejects(approve(open(), WANTS, inForce), { code: "untrusted", message });
    await assert.rejects(approve(open(), WANTS, inForce), /--approve if you agree/);
  });

  it("takes exactly what was asked for", async () => {
    const { permissions, needs_tools: tools } = WANTS;
    assert.deepEqual(await approve(open(true), WANTS, inForce), {
      permissions: { tools, ...permissions },
    });
    assert.deepEqual(await approve(open(), { id: "tools.y", permissions: {} }, inForce), {
      permissions: {},
    });
  });

  it("refuses hosts that cannot be limited to", async () => {
    const permissions = { hosts: ["localhost"] };
    const approving = approve(open(true), { id: "tools.y", permissions }, inForce);
    await assert.rejects(
      approving,
      /'localhost': it is this machine\. Write it as `localhost:PORT`/,
    );
  });

  it("says before it asks that hosts are not limited here", async () => {
    const line = open(true);
    const none = { state: "warn", says: "none, so it is open: no bwrap.", next: "Run: x" } as const;
    await approve(line, WANTS, async () => none);
    assert.deepEqual(line.said, [
      "note: sandbox of plugins: none, so it is open: no bwrap. Run: x\n",
    ]);
  });

  it("says that a plugin which declares nothing has all rights", async () => {
    const line = open();
    assert.deepEqual(await approve(line, { id: "tools.z" }, inForce), { approvedTools: [] });
    assert.deepEqual(line.said, [
      "note: 'tools.z' declares no permissions: it runs with all of yours.\n",
    ]);
    await approve({ ...line, values: { id: "tools.z" } }, { id: "tools.z" }, inForce);
    assert.match(
      line.said[1] ?? "",
      /'tools\.z' was not asked, because of --id, for its permissions: .* may call no tools of others/,
    );
  });

  it("asks about the tools of others, whether a plugin declares permissions or not", async () => {
    const wants = { id: "tools.z", needs_tools: ["*", "echo"] };
    const message = /'tools\.z' asks for:\n {2}call every tool\n {2}call the tool 'echo'\n/;
    await assert.rejects(approve(open(), wants, inForce), { code: "untrusted", message });
    assert.deepEqual(await approve(open(true), wants, inForce), { approvedTools: ["*", "echo"] });
  });
});
