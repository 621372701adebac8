// Long: two programs and a run for each set of privileges.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { noOverlay } from "../support/no-overlay.ts";
import { NOBODY, noOtherUser } from "../support/other-user.ts";
import { Program } from "../support/program.ts";
import { SharedProgram } from "../support/shared-program.ts";

/** What Docker leaves to root by default: no CAP_SYS_ADMIN among it. */
const OF_DOCKER = [
  ...["chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"],
  ...["net_bind_service", "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap"],
];
const NONE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
const NO_NEW = [...NONE, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
const COVER = 'mount --bind /dev/null /proc/swaps && exec "$@"';
const COVERED = ["unshare", "--mount", "sh", "-c", COVER, "sh"];

interface Works {
  readonly users: boolean;
  readonly workspaces: string;
  /** Whether commands of local sessions have a sandbox. They always run as who runs Trunkline. */
  readonly commands: boolean;
}

interface Privileges {
  readonly name: string;
  readonly within: readonly string[];
  readonly uid: number;
  /** What `doctor` has to say. Undefined where no run begins. */
  readonly works: Works | undefined;
  /** What it advises where no run begins. */
  readonly next?: RegExp;
}

const WHOLE = { users: true, workspaces: "overlay mounts", commands: true };

const SETS: readonly Privileges[] = [
  { name: "root", within: [], uid: 0, works: WHOLE },
  {
    name: "root with a covered /proc",
    within: COVERED,
    uid: 0,
    works: { ...WHOLE, commands: false },
  },
  {
    name: "root with what Docker leaves it",
    within: ["setpriv", `--bounding-set=-all,+${OF_DOCKER.join(",+")}`, "--inh-caps=-all"],
    uid: 0,
    works: { users: false, workspaces: "copies", commands: true },
  },
  {
    name: "root of a user namespace",
    within: ["unshare", "--user", "--map-root-user"],
    uid: 0,
    works: { users: false, workspaces: "copies", commands: true },
  },
  {
    name: "a plain user that can gain no rights",
    within: [...NO_NEW, "--no-new-privs"],
    uid: NOBODY,
    works: { users: false, workspaces: "copies", commands: true },
  },
  {
    name: "root without any capability",
    within: NONE,
    uid: 0,
    works: undefined,
    next: /as another user than root/,
  },
  {
    name: "a plain user with a covered /proc",
    within: [...COVERED, ...NO_NEW],
    uid: NOBODY,
    works: undefined,
    next: /Something covers parts of \/proc|systempaths=unconfined|unmask=ALL/,
  },
];

interface Finding {
  readonly what: string;
  readonly state: string;
  readonly says: string;
  readonly next?: string;
}

describe("a remote run, with each set of privileges", { skip: noOtherUser || noOverlay }, () => {
  let program: SharedProgram;
  let agent: string;

  before(() => {
    program = new SharedProgram();
    agent = program.at("acp-agent.mjs");
    cpSync(join(import.meta.dirname, "../support/acp-agent.mjs"), agent);
    chmodSync(agent, 0o644);
  });

  after(() => program[Symbol.dispose]());

  /** A repository of the user of such privileges, and a home. */
  function repositoryOf({ uid }: Privileges, at: number): { home: string; repository: string } {
    const home = program.at(`home-${at}`);
    const repository = join(home, "app");
    mkdirSync(repository, { recursive: true });
    writeFileSync(join(repository, "file.txt"), "first\n");
    const git = (...args: string[]): void => {
      const who = ["-c", "user.name=Ida", "-c", "user.email=ida@example.com"];
      execFileSync("git", ["-C", repository, ...who, ...args]);
    };
    git("init", "--quiet", "--initial-branch=main");
    git("add", ".");
    git("commit", "--quiet", "--message", "First");
    execFileSync("chown", ["-R", `${uid}:${uid}`, home]);
    chownSync(home, uid, uid);
    return { home, repository };
  }

  for (const [at, set] of SETS.entries()) {
    const { name, within, works, next } = set;
    it(`${works === undefined ? "refuses" : "works"} as ${name}, as doctor says`, async () => {
      const { home, repository } = repositoryOf(set, at);
      const { built, node } = program;
      const options = { env: { HOME: home, TMPDIR: home }, cwd: repository, built, node, within };
      await using doctor = new Program(["doctor", "--json"], options);
      doctor.child.stdin.end();
      await doctor.exit;
      const report = JSON.parse(doctor.lines.join("\n")) as { findings: Finding[] };
      const found = (text: string): Finding | undefined =>
        report.findings.find(({ says }) => says.includes(text));
      const command = JSON.stringify({ command: node, args: [agent] });
      const args = [
        "run",
        ".",
        "put new.txt|new|0",
        "--agent",
        "s",
        "--set",
        `agents.s=${command}`,
      ];
      await using run = new Program(args, options);
      const exit = await run.exit;
      const commands = report.findings.find(({ what }) => what === "Sandbox of commands");
      const told = `${run.stderr}${JSON.stringify(report.findings, undefined, 1)}`;
      assert.equal(commands?.state, works?.commands === true ? "ok" : "warn", told);
      if (works === undefined) {
        assert.equal(exit, 1, told);
        assert.match(run.stderr, /Cannot run agents in a sandbox: .*bwrap does not work here/);
        const finding = found("bubblewrap: ");
        assert.equal(finding?.state, "warn", told);
        assert.match(`${finding?.next}`, next ?? /./);
        assert.match(run.stderr, next ?? /./);
        return;
      }
      assert.equal(exit, 0, told);
      const shown = execFileSync(
        "git",
        ["-c", "safe.directory=*", "-C", repository, "show", `${run.lines.at(-1)}:new.txt`],
        { encoding: "utf8" },
      );
      assert.equal(shown, "new\n");
      assert.equal(found("bubblewrap: ")?.state, "ok", told);
      assert.equal(found("users: ")?.state, works.users ? "ok" : "warn", told);
      assert.ok(found("workspaces are ")?.says.includes(works.workspaces), told);
    });
  }
});
