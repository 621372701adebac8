import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";

import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { gone } from "../../support/running-at.ts";
import { ScreenRecording } from "../../support/screen-recording.ts";
import { Tmux, withoutTmux } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

const ROOT = join(import.meta.dirname, "../../..");
const run = promisify(execFile);
const npm = dirname(execFileSync("which", ["npm"], { encoding: "utf8" }));

const noFfmpeg =
  spawnSync("ffmpeg", ["-version"]).error === undefined
    ? undefined
    : "ffmpeg is missing. Install it with: sudo apt-get install ffmpeg";
const missing = withoutTmux() ?? (chromiumPath() === undefined ? NO_CHROMIUM : noFfmpeg);

/** A clone in which `npm run build` has run. The packages are those of this checkout. */
async function builtClone(folder: string): Promise<string> {
  const clone = join(folder, "trunkline");
  await run("git", ["clone", "--quiet", ROOT, clone]);
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
  await run("npm", ["run", "build"], { cwd: clone });
  return clone;
}

/** It stands for the person's browser, which Chromium becomes. */
function linkOpener(folder: string): { link: () => Promise<string>; bin: string } {
  const bin = join(folder, "bin");
  const opened = join(folder, "opened");
  mkdirSync(bin);
  const script = `#!/bin/sh\necho "$1" >'${opened}.part'\nmv '${opened}.part' '${opened}'\n`;
  writeFileSync(join(bin, "xdg-open"), script);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const link = async (): Promise<string> => {
    await until(() => existsSync(opened));
    return readFileSync(opened, "utf8").trim();
  };
  return { link, bin };
}

/** The picture of the README is made here: TRUNKLINE_SCREENSHOTS names the folder that gets it. */
it(
  "goes in Chromium from a built clone to an answered permission by `npm start` and `y`, in a film of a minute",
  { timeout: 1_200_000, skip: missing ?? false },
  async (t) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-minute-"));
    const home = folder.path;
    const clone = await builtClone(home);
    const { link, bin } = linkOpener(home);
    const recording = new ScreenRecording();
    await using browser = await DashboardBrowser.launch();
    await using watched = await browser.open({ viewport: recording.size });
    const { page } = watched;
    await using terminal = new Tmux({
      command: ["sh"],
      cwd: clone,
      env: {
        ...{ HOME: home, TMPDIR: home, DISPLAY: ":0", PS1: "$ " },
        // The port of Trunkline may be taken on this machine.
        ...{ TRUNKLINE_SERVE_PORT: "0", npm_config_loglevel: "silent" },
        PATH: [bin, join(home, ".local/bin"), npm, process.env["PATH"]].join(":"),
      },
      columns: 160,
      rows: 36,
    });
    await terminal.shows(/^\$/m);
    recording.caption = "In a clone: `npm start`";
    const stopTerminal = recording.terminal(terminal, home);
    for (const key of "npm start") {
      terminal.type(key);
      await terminal.shows(new RegExp(`${key === " " ? "" : key}$`, "m"));
    }
    const begun = performance.now();
    terminal.press("Enter");
    const address = await link();
    await terminal.shows(/A demo works in your browser/);
    stopTerminal();
    recording.caption = "Your browser opens: an agent works, and asks";
    const stopPage = await recording.page(page);
    await page.goto(address);
    const asked = page.getByRole("region", { name: "Waiting for you" });
    await asked.getByText("sh test.sh").first().waitFor();
    recording.caption = "Answer it: `y`";
    await recording.read(page);
    await page.keyboard.press("y");
    await asked.waitFor({ state: "detached" });
    await page.getByText("I wait for it").waitFor();
    await page.getByText("ok: greets the world").first().waitFor({ state: "attached" });
    const seconds = (performance.now() - begun) / 1000;
    await stopPage();
    recording.caption = "It goes on, and waits for your comments";
    await recording.read(page);
    watched.expectClean();
    terminal.press("C-c");
    await until(() => terminal.screen.trimEnd().endsWith("$"));
    terminal.press("C-d");
    await terminal.ended();
    await gone(home);
    t.diagnostic(`${seconds.toFixed(1)} s from Enter to the answered permission`);

    const { video, picture } = await recording.write(page.context(), join(folder.path, "film"));
    const probe = ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", video];
    const length = Number(execFileSync("ffprobe", probe, { encoding: "utf8" }));
    t.diagnostic(`The film takes ${length} s, the picture ${statSync(picture).size} bytes`);
    assert.ok(length > 3 && length <= 60, `the film takes ${length} s`);
    assert.ok(statSync(picture).size < 1_500_000, "the picture is too large for a README");
    const { TRUNKLINE_SCREENSHOTS: images = "" } = process.env;
    if (images === "") return;
    copyFileSync(picture, join(images, "first-minute.webp"));
    copyFileSync(video, join(ROOT, ".cache/first-minute.mp4"));
  },
);
