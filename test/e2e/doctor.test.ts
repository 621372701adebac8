import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chownSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AS_OTHER_USER, NOBODY, noOtherUser } from "../support/other-user.ts";
import { processesWhere } from "../support/processes.ts";
import { Program, type ProgramOptions } from "../support/program.ts";
import { TestCa } from "../support/quic-certificates.ts";
import { SharedProgram } from "../support/shared-program.ts";
import { until } from "../support/until.ts";

const STUBBORN = join(import.meta.dirname, "../support/stubborn-server.mjs");

interface Report {
  readonly ok: boolean;
  readonly milliseconds: number;
  readonly findings: readonly {
    readonly state: string;
    readonly what: string;
    readonly says: string;
    readonly next?: string;
    readonly command?: string;
  }[];
  readonly fixed?: readonly { readonly outcome: string }[];
}

/**
 * What it reports when each check had the time it needs: on a busy machine that may take several runs.
 * The usual port may be somebody's who works on this machine.
 */
async function doctor(
  args: readonly string[],
  options: ProgramOptions,
): Promise<Report & { readonly code: unknown }> {
  const fixed: { readonly outcome: string }[] = [];
  for (;;) {
    const env = { ...options.env, TRUNKLINE_SERVE_PORT: "0" };
    await using program = new Program(["doctor", "--json", ...args], { ...options, env });
    program.child.stdin.end();
    const code = await program.exit;
    assert.equal(program.stderr, "");
    const report = JSON.parse(program.lines.join("\n")) as Report;
    fixed.push(...(report.fixed ?? []));
    const isLate = report.findings.some(({ says }) => says.startsWith("gave no answer within"));
    // What it fixes is what it found at a first look, for which it may have had no time either.
    const isSettled = report.fixed?.some(({ outcome }) => outcome === "done") !== true;
    if (!isLate && isSettled) return { code, ...report, fixed };
  }
}

function isRunning(pid: number): boolean {
  return processesWhere(({ command }) => command.includes(STUBBORN)).some(
    (each) => each.pid === pid,
  );
}

/** The findings that are not ok, as "state what". */
function problems({ findings }: Report): string[] {
  return findings
    .filter(({ state }) => state !== "ok")
    .map(({ state, what }) => `${state} ${what}`);
}

describe("trunkline doctor", { timeout: 600_000 }, () => {
  it("finds everything that is broken at once, beside a server that hangs, with what to do about each", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const at = (name: string): string => join(folder.path, name);
    const expired = await (await TestCa.make()).issue("gate", { from: -9, to: -1 });
    writeFileSync(at("cert.pem"), expired.cert ?? "");
    writeFileSync(at("key.pem"), expired.key ?? "");
    const config = {
      mcpServers: { hangs: { command: process.execPath, args: [STUBBORN, at("pids")] } },
      agent: "claude",
      agents: { claude: { command: "/nowhere/claude-agent-acp" } },
      serve: { tls: { certFile: at("cert.pem"), keyFile: at("key.pem") } },
    };
    writeFileSync(at("config.jsonc"), JSON.stringify(config));
    const files = ["sessions.sqlite", "reviews.db", "approvals.json", "access-tokens.json"];
    mkdirSync(at("data"), { mode: 0o755 });
    for (const file of files) writeFileSync(join(at("data"), file), "damaged ".repeat(200));
    execFileSync("git", ["init", "--quiet"], { cwd: folder.path });
    const options = { cwd: folder.path };
    const args = ["--data", at("data"), "--config", at("config.jsonc")];
    {
      await using program = new Program(["identity", "guard", "install", ...args], options);
      assert.equal(await program.exit, 0, program.stderr);
    }
    const hook = at(".git/hooks/pre-commit");
    const script = readFileSync(hook, "utf8");
    writeFileSync(hook, script.replaceAll("trunkline.js'", "moved.js'"));

    const report = await doctor(args, options);
    assert.equal(report.code, 1);
    const found = problems(report);
    for (const what of ["TLS", "Agent 'claude'", "Guard"])
      assert.ok(found.includes(`fail ${what}`));
    assert.equal(found.filter((each) => each === "fail Data files").length, files.length);
    assert.ok(found.includes("warn Data folder"));
    for (const { state, what, next } of report.findings) {
      if (state !== "ok") assert.ok(next, `${what} has no remedy`);
    }

    // Without consent only what is safe is done, and what it has started is gone.
    const fixed = await doctor([...args, "--fix"], options);
    assert.deepEqual(
      new Set(fixed.fixed?.map(({ outcome }) => outcome)),
      new Set(["done", "declined"]),
    );
    assert.ok(!problems(fixed).some((each) => /Guard|Data folder/.test(each)));
    assert.equal(readFileSync(hook, "utf8"), script);
    const repaired = await doctor([...args, "--fix", "--yes"], options);
    assert.ok(!problems(repaired).includes("fail Data files"));
    const names = readdirSync(at("data"));
    for (const file of files) assert.ok(names.some((name) => name.startsWith(`${file}.damaged-`)));
    // Only the stubborn server and what a person has to install or renew is left.
    const left = problems(repaired).filter((each) => each.startsWith("fail"));
    assert.deepEqual(left, ["fail TLS", "fail Agent 'claude'"]);
    const pids = readFileSync(at("pids"), "utf8").trim().split("\n").map(Number);
    await until(() => !pids.some(isRunning));
  });

  it("does not crash on a data folder that it may not read", { skip: noOtherUser }, async () => {
    using program = new SharedProgram();
    const { built, node } = program;
    const home = program.at("home");
    const data = program.at("data");
    mkdirSync(home);
    chownSync(home, NOBODY, NOBODY);
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(join(data, "trust.json"), '{"files":{}}');
    writeFileSync(join(home, ".trunkline.jsonc"), "{}");
    const env = { HOME: home, TMPDIR: home };
    const options = { built, node, within: AS_OTHER_USER, cwd: home, env };
    const report = await doctor(["--data", data], options);
    assert.equal(report.code, 1);
    const found = report.findings.find(
      ({ what, state }) => what === "Data folder" && state === "fail",
    );
    assert.match(found?.says ?? "", /cannot use .*permission denied/);
    assert.equal(found?.command, `sudo chown -R ${NOBODY} '${data}'`);
    const crashed = report.findings.filter(({ says }) => says.includes("could not be checked"));
    assert.deepEqual(crashed, []);
    execFileSync("sh", ["-c", (found?.command ?? "").replace("sudo ", "")]);
    const after = await doctor(["--data", data], options);
    assert.equal(after.code, 0, JSON.stringify(after.findings));
  });
});
