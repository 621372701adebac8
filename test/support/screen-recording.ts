import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { BrowserContext, Page } from "playwright-core";

import { screenPicture } from "./screen-picture.ts";
import type { Tmux } from "./tmux.ts";

const WIDTH = 1100;
const HEIGHT = 700;
/** Seconds of a picture that is to be read, and the most of any other: nobody waits for a slow machine. */
const STILL = { read: 2.5, longest: 1.5 };
const TERMINAL_MS = 100;

interface Frame {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly image: string;
  readonly caption: string;
  readonly isRead: boolean;
}

/** What a person sees of a terminal and then of a page, as a film. */
export class ScreenRecording {
  readonly size = { width: WIDTH, height: HEIGHT };
  /** What is written below the pictures from now on. */
  caption = "";
  readonly #frames: Frame[] = [];

  /** Records a terminal until the function that is returned is called. `home` stands there as `/home/ada`. */
  terminal(terminal: Tmux, home: string): () => void {
    let last = "";
    const look = (): void => {
      const shown = terminal.colored.replaceAll(home, "/home/ada");
      if (shown === last || shown.trim() === "") return;
      last = shown;
      this.#add(Date.now(), `data:image/svg+xml,${encodeURIComponent(screenPicture(shown))}`);
    };
    const timer = setInterval(look, TERMINAL_MS);
    return () => {
      clearInterval(timer);
      last = "";
      look();
      this.#frames.push({ ...this.#frames.pop()!, isRead: true });
    };
  }

  /** Records a page until the function that is returned is called. */
  async page(page: Page): Promise<() => Promise<void>> {
    const session = await page.context().newCDPSession(page);
    session.on("Page.screencastFrame", ({ data, metadata, sessionId }) => {
      this.#add((metadata.timestamp ?? 0) * 1000, `data:image/png;base64,${data}`);
      // It has gone where the recording has ended.
      session.send("Page.screencastFrameAck", { sessionId }).catch(() => {});
    });
    await session.send("Page.startScreencast", { format: "png" });
    return async () => {
      await session.send("Page.stopScreencast");
      await session.detach();
    };
  }

  /** Shows a page as it is long enough to read it. */
  async read(page: Page): Promise<void> {
    const shot = await page.screenshot();
    this.#add(Date.now(), `data:image/png;base64,${shot.toString("base64")}`, true);
  }

  /** Writes the film, and the same as a moving picture for the documents. Needs ffmpeg. */
  async write(
    context: BrowserContext,
    folder: string,
  ): Promise<{ video: string; picture: string }> {
    mkdirSync(folder, { recursive: true });
    const page = await context.newPage();
    await page.setViewportSize({ width: WIDTH, height: HEIGHT + 48 });
    const list: string[] = [];
    for (const [at, frame] of this.#frames.entries()) {
      const path = join(folder, `${at}.png`);
      await page.setContent(sheet(frame));
      writeFileSync(path, await page.screenshot());
      const next = this.#frames[at + 1]?.at ?? frame.at;
      const shown = Math.min(STILL.longest, Math.max(0, (next - frame.at) / 1000));
      list.push(`file '${path}'`, `duration ${(frame.isRead ? STILL.read : shown).toFixed(3)}`);
    }
    // Its duration is not heeded.
    list.push(`file '${join(folder, `${this.#frames.length - 1}.png`)}'`);
    await page.close();
    const frames = join(folder, "frames.txt");
    writeFileSync(frames, `ffconcat version 1.0\n${list.join("\n")}\n`);
    const make = (name: string, ...options: string[]): string => {
      const file = join(folder, name);
      const input = ["-loglevel", "error", "-y", "-safe", "0", "-i", frames];
      execFileSync("ffmpeg", [...input, ...options, file], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      return file;
    };
    const video = make(
      "first-minute.mp4",
      ...["-vf", "fps=15", "-c:v", "libx264", "-pix_fmt", "yuv420p"],
    );
    const picture = make(
      "first-minute.webp",
      ...["-vf", "fps=5,scale=880:-1:flags=lanczos", "-c:v", "libwebp_anim", "-loop", "0"],
      ...["-quality", "60", "-compression_level", "6"],
    );
    return { video, picture };
  }

  #add(at: number, image: string, isRead = false): void {
    this.#frames.push({ at, image, caption: this.caption, isRead });
  }
}

/** A picture with what the person does below it. */
function sheet({ image, caption }: Frame): string {
  const said = caption.replaceAll(/`(.+?)`/g, "<kbd>$1</kbd>");
  return `<style>
    body { margin: 0; background: #16181d; font: 20px system-ui, sans-serif; color: #d8dee9 }
    div { width: ${WIDTH}px; height: ${HEIGHT}px; overflow: hidden }
    img { display: block; max-width: 100% }
    p { margin: 0; line-height: 48px; text-align: center; background: #2b303b }
    kbd { font: bold 18px ui-monospace, monospace; padding: 3px 9px; border-radius: 5px; color: #16181d; background: #e6c07b }
  </style><div><img src="${image}"></div><p>${said}</p>`;
}
