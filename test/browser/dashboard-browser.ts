import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import assert from "node:assert/strict";

import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

import type { GuardedGateway } from "../support/guarded-gateway.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
/** Chromium's own requests to its maker would be taken for ours. */
const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
];

/** Waits end with their condition; this only ends a test that has failed. */
const GIVE_UP = 60_000;

/** The browser of the system, which `npm test` installs where it can; undefined where there is none. */
export function chromiumPath(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export const NO_CHROMIUM = "Chromium is missing. Install it with: sudo apt-get install chromium";

/** One browser for the tests of a file. */
export class DashboardBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<DashboardBrowser> {
    const executablePath = chromiumPath();
    assert.ok(executablePath !== undefined, NO_CHROMIUM);
    return new DashboardBrowser(await chromium.launch({ executablePath, args: FLAGS }));
  }

  /** A window of its own, without the cookies of others. */
  async open(options: Parameters<Browser["newContext"]>[0] = {}): Promise<WatchedPage> {
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: "reduce",
      ...options,
    });
    context.setDefaultTimeout(GIVE_UP);
    return new WatchedPage(context, await context.newPage());
  }

  /** Opens the page as a person does: by the link that works once. */
  async enter(gateway: GuardedGateway): Promise<WatchedPage> {
    const watched = await this.open();
    await watched.page.goto(gateway.ready.login);
    await watched.page.getByRole("status").filter({ hasText: "live" }).waitFor();
    return watched;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** Waits for something that no locator can tell. */
export async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + GIVE_UP;
  while (!(await isSo())) {
    assert.ok(performance.now() < end, `It did not become so: ${String(isSo)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A page that notes everything that must not happen on it. */
export class WatchedPage implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  /** Errors, violations of the Content Security Policy, and requests to elsewhere. */
  readonly complaints: string[] = [];

  constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        this.complaints.push(message.text());
      }
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("request", (request) => {
      const url = new URL(request.url());
      const isOwn = url.hostname === "127.0.0.1" || url.protocol === "data:";
      if (!isOwn) this.complaints.push(`request to ${url.href}`);
    });
  }

  /** Fails if anything was complained about; `except` are those that the test has caused. */
  expectClean(except?: RegExp): void {
    const left = this.complaints.filter((text) => except === undefined || !except.test(text));
    assert.deepEqual(left, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
