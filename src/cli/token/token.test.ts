import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SharedBase } from "../../fleet/replication/shared-base.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SessionUsage } from "../../store/session/session-usage.ts";
import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly limits?: Readonly<Record<string, unknown>>;
  readonly created: string;
  readonly expires?: string;
}

describe("trunkline token create", () => {
  it("prints only the token to stdout, and allows only `tools` by default", async () => {
    await using line = await SampleCommandLine.create();
    const { code, out, err } = await line.run("token", "create", "laptop");
    assert.equal(code, 0);
    assert.match(out, /^\S+\n$/);
    assert.match(
      err,
      /^Created token 'laptop' \(\S+\)\. It is not shown again\.\nIt allows: tools\.\n/,
    );
    const listed = await line.run("token", "list");
    assert.doesNotMatch(listed.out, new RegExp(out.trim()));
    assert.match(listed.out, /^NAME .* ALLOWS\nlaptop .* never +never +tools\n$/);
  });

  it("stores limits, with folders as absolute paths, and each scope once", async () => {
    await using line = await SampleCommandLine.create();
    const created = await line.json<Listed>(
      ...["token", "create", "editor", "--scope", "sessions", "--scope", "review"],
      ...["--scope", "sessions", "--folder", "src", "--folder", "~/work", "--agent", "a*"],
    );
    assert.deepEqual(created.scopes, ["sessions", "review"]);
    assert.deepEqual(created.limits, {
      agents: ["a*"],
      folders: [join(line.home.project, "src"), join(line.home.path, "work")],
    });
  });

  it("limits what may be used in a day, and lists how much of that is used", async () => {
    await using line = await SampleCommandLine.create();
    const { id, limits } = await line.json<Listed>(
      ...["token", "create", "guest", "--budget-tokens", "2M", "--budget-cost", "2.5"],
      ...["--concurrent", "3"],
    );
    assert.deepEqual(limits, { budget: { tokens: 2_000_000, cost: 2.5 }, concurrent: 3 });
    const day = new Date().toISOString().slice(0, 10);
    const amounts = { tokens: 1_500, cost: 0.25, steps: 0, time: 0 };
    {
      await using log = await SessionLog.open(line.home.data);
      const turn = { turn: "t", session: "s", day, reportedCost: undefined, ...amounts };
      await new SessionUsage(log.database).note({ ...turn, principal: `token ${id}` });
    }
    const { tokens } = await line.json<{ tokens: object[] }>("token", "list");
    assert.deepEqual((tokens[0] as { usedToday: object }).usedToday, amounts);
    assert.match(
      (await line.run("token", "list")).out,
      /tools; 2,000,000 tokens, \$2\.50 a day; 3 sessions at once; used today: 1,500 of 2,000,000 tokens, \$0\.25 of \$2\.50\n/,
    );
    const { code, err } = await line.run("token", "create", "x", "--budget-tokens", "lots");
    assert.equal(code, 2);
    assert.match(err, /Cannot use 'lots' for --budget-tokens: give a whole number/);
  });

  it("expires after the time that is given", async () => {
    await using line = await SampleCommandLine.create();
    const made = await line.json<Listed>("token", "create", "ci", "--expires", "2w");
    const days = (Date.parse(made.expires ?? "") - Date.now()) / 86_400_000;
    assert.ok(days > 13.9 && days <= 14, String(days));
  });

  for (const time of ["0d", "30", "1.5h", "-1d", "101y", "1 d", "99999999d", "d"]) {
    it(`refuses to expire in '${time}'`, async () => {
      await using line = await SampleCommandLine.create();
      const { code, out, err } = await line.run("token", "create", "ci", `--expires=${time}`);
      assert.deepEqual([code, out], [2, ""]);
      assert.ok(err.includes(`Cannot create a token that expires in '${time}'`), err);
      assert.deepEqual(await line.json("token", "list"), { tokens: [], devices: [] });
    });
  }
});

describe("trunkline token revoke", () => {
  it("accepts a name or an id, and refuses anything else", async () => {
    await using line = await SampleCommandLine.create();
    const { id } = await line.json<Listed>("token", "create", "one");
    await line.run("token", "create", "two");
    assert.equal((await line.run("token", "revoke", id)).out, `Revoked 'one' (${id}).\n`);
    assert.equal((await line.run("token", "revoke", "two")).code, 0);
    const { code, err } = await line.run("token", "revoke", "two");
    assert.equal(code, 1);
    assert.match(err, /'two'/);
    assert.match((await line.run("token", "list")).err, /^There are no tokens\./);
  });
});

describe("trunkline token revoke in a fleet", () => {
  it("fails in words while the other gateways cannot be told", async () => {
    await using line = await SampleCommandLine.create();
    await line.run("token", "create", "ci");
    const [token] = new AccessTokens(line.home.data).list();
    const entry = { seq: 1, local: "known to all" };
    {
      using base = await SharedBase.open(line.home.data, "tokens");
      await base.note(new Map([["token", new Map([[token?.id ?? "", entry]])]]));
    }
    const revoked = await line.run("token", "revoke", "ci");
    assert.equal(revoked.code, 1);
    assert.match(revoked.out, /^Revoked 'ci'/);
    assert.match(revoked.err, /still accept it\. They are told when this node runs/);
  });
});

describe("trunkline token rotate", () => {
  it("replaces the owner's token, and keeps the others", async () => {
    await using line = await SampleCommandLine.create();
    await line.run("token", "create", "laptop");
    const { tokenFile } = await line.json<{ tokenFile: string }>("token", "rotate");
    const before = readFileSync(tokenFile, "utf8");
    assert.match((await line.run("token", "rotate")).out, /^Replaced the owner's token in '/);
    assert.notEqual(readFileSync(tokenFile, "utf8"), before);
    assert.match((await line.run("token", "list")).out, /^laptop /m);
  });
});
