import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

const PROGRAM = join(import.meta.dirname, "../../dist/trunkline.js");
const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

function has(command: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;
}

const skip =
  !(has("dbus-run-session") && has("gnome-keyring-daemon")) &&
  "a keychain is missing: apt-get install dbus gnome-keyring";

describe("tokens in a real keychain", { timeout: 60_000, skip }, () => {
  it("are stored by the Secret Service, found by the next process, and cleared", () => {
    const home = mkdtempSync(join(tmpdir(), "trunkline-keychain-"));
    try {
      const identity = { provider: "other", host: "git.test", user: "ada", email: "a@b.test" };
      writeFileSync(join(home, "config.jsonc"), JSON.stringify({ identities: { work: identity } }));
      const script = `
        printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
        t() { '${process.execPath}' '${PROGRAM}' identity token "$@"; }
        printf '%s' '${TOKEN}' | t set work && t get work --json && t verify work && t clear work && t get work`;
      const { stdout, stderr } = spawnSync("dbus-run-session", ["--", "sh", "-c", script], {
        env: {
          PATH: process.env.PATH,
          HOME: home,
          TRUNKLINE_CONFIG: join(home, "config.jsonc"),
          TRUNKLINE_DATA: join(home, "data"),
          TRUNKLINE_TOKEN_STORE: "keychain",
        },
        encoding: "utf8",
      });
      assert.match(stdout, /Stored ghp_•+6789 for 'work' in the system's keychain/, stderr);
      assert.match(stdout, /"where": "the system's keychain \(Secret Service\)"/);
      assert.match(stdout, /Deleted the token of 'work'/);
      assert.match(stderr, /No token is stored for 'work'/);
      assert.ok(!readdirSync(join(home, "data/identity")).includes("tokens.enc"));
      const { status } = spawnSync("grep", ["-rqa", TOKEN, home]);
      assert.equal(status, 1, "no file holds it in clear");
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it("are refused if there is no keychain and one was explicitly requested", () => {
    const home = mkdtempSync(join(tmpdir(), "trunkline-keychain-"));
    try {
      const identity = { provider: "other", host: "git.test", user: "ada", email: "a@b.test" };
      writeFileSync(join(home, "config.jsonc"), JSON.stringify({ identities: { work: identity } }));
      const { status, stderr } = spawnSync(
        process.execPath,
        [PROGRAM, "identity", "token", "set", "work"],
        {
          env: {
            PATH: process.env.PATH,
            HOME: home,
            TRUNKLINE_CONFIG: join(home, "config.jsonc"),
            TRUNKLINE_DATA: join(home, "data"),
            TRUNKLINE_TOKEN_STORE: "keychain",
          },
          input: TOKEN,
          encoding: "utf8",
        },
      );
      assert.equal(status, 1);
      assert.match(stderr, /keychain/);
      assert.ok(!readFileSync(join(home, "config.jsonc"), "utf8").includes(TOKEN));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
