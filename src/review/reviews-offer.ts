import { statSync } from "node:fs";
import { join } from "node:path";

import { background } from "../base/background.ts";
import type { OfferOptions } from "../base/capability/capability.ts";
import { TrunklineError } from "../base/errors.ts";
import { Lazy } from "../base/lazy.ts";
import type { Log } from "../base/log.ts";
import { findRepository } from "./repository.ts";
import type { ReviewCommands } from "./review-commands.ts";
import type { ReviewSettings, ReviewTools } from "./review-tools.ts";
import { MESSAGES, NO_MESSAGES, PROJECT_USES, REVIEW_TOOLS } from "./tool-definitions.ts";
import { watchReviews } from "./inbox/watch-reviews.ts";
import { REVIEWS_FILE } from "../store/store-files.ts";
import type { Offer } from "../tool/offer/offer.ts";
import type { Report } from "../tool/offer/resources.ts";
import type { ResourceProvider, Arguments } from "../tool/tool.ts";
import type { DropFiles } from "./inbox/drop-files.ts";

/** Milliseconds after the start: the client waits for its first answer until then. */
const AFTER_START = 200;

/** Milliseconds by which the time of a file may be behind the clock. */
const CLOCK_STEP = 20;

/** What reviews use of the running program. */
export interface ReviewsApp {
  readonly config: {
    readonly data: string;
    readonly review: ReviewSettings & { readonly dropFiles: boolean };
  };
  readonly log: Log;
  readonly report: Report;
}

/**
 * The tools, resources and notices of reviews. A start loads their definitions only; the code is
 * loaded with the first call, or with the first comment that somebody leaves.
 */
export class ReviewsOffer implements AsyncDisposable {
  readonly #app: ReviewsApp;
  readonly #offer: Offer;
  readonly #options: OfferOptions;
  readonly #started = Date.now();
  readonly #ends: (() => void)[] = [];
  readonly #commands: Lazy<ReviewCommands>;
  readonly #tools = new Lazy(() => this.#loadTools());
  #dropFiles: DropFiles | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasBegun = false;
  #isOver = false;
  /** The last event that was announced. */
  #told: number | undefined;
  #telling: Promise<void> = Promise.resolve();

  constructor(app: ReviewsApp, offer: Offer, options: OfferOptions = {}) {
    this.#app = app;
    this.#offer = offer;
    this.#options = options;
    this.#commands = new Lazy(async () => {
      const { ReviewCommands } = await import("./review-commands.ts");
      // The root folder is in no repository, so these commands see all of them.
      return ReviewCommands.open(app.config.data, options.folder ?? "/");
    });
    for (const definition of REVIEW_TOOLS) {
      const { name } = definition;
      offer.tools.add({
        definition,
        purpose: "Review",
        scope: "review",
        project: { ...PROJECT_USES[name], find: (args) => this.#repositoryOf(args) },
        call: async (args, context) => (await this.#open()).call(name, args, context),
      });
    }
    offer.resources.add(this.#provider());
    // A client that asks for a list, or subscribes to notices, stays connected: start watching.
    offer.waitFor({
      known: () => {
        this.#beginSoon();
        return undefined;
      },
    });
    offer.notices.whenHeard(() => this.#beginSoon());
    this.#ends.push(offer.clients.onGone((client) => this.#gone(client)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const end of this.#ends) end();
    await this.#dropFiles?.[Symbol.asyncDispose]();
    await this.#telling;
    // It closes the commands too.
    const hasTools = (await this.#tools.opened()) !== undefined;
    await (hasTools ? this.#tools : this.#commands)[Symbol.asyncDispose]();
  }

  #provider(): ResourceProvider {
    return {
      scope: "review",
      list: () => {
        this.#beginSoon();
        return [MESSAGES];
      },
      read: async (uri, context) => {
        if (uri !== MESSAGES.uri) return undefined;
        // A reader of its own: what was read here is still given to a model that calls the tool.
        const reader = `${context.caller.name} (resource)`;
        const project = await this.#offer.tools.projectOf(context);
        if (project.refusal !== undefined) throw new TrunklineError("untrusted", project.refusal);
        const found = await (await this.#open()).messages(reader, project, context);
        const text = found?.text ?? NO_MESSAGES;
        return { contents: [{ uri, mimeType: MESSAGES.mimeType, text }] };
      },
      watch: (uri) => {
        if (uri === MESSAGES.uri) this.#beginSoon();
      },
    };
  }

  /** Opens the reviews on first use. */
  #open(): Promise<ReviewTools> {
    this.#beginSoon();
    return this.#tools.get();
  }

  async #loadTools(): Promise<ReviewTools> {
    const commands = await this.#commands.get();
    const { ReviewTools } = await import("./review-tools.ts");
    const { log, config } = this.#app;
    const report = (error: unknown): void => log.warn("review.failed", { error });
    return new ReviewTools(commands, config.review, report);
  }

  /** The repository of a thread that is named by its id. */
  async #repositoryOf({ id }: Arguments): Promise<string | undefined> {
    if (typeof id !== "string") return undefined;
    const { repository } = await (await this.#commands.get()).reviews.get(id);
    return repository.root;
  }

  /** Releases what a client has claimed. */
  #gone(client: string): void {
    if (this.#isOver) return;
    const released = this.#tools.opened().then((tools) => tools?.gone(client));
    released.catch((error: unknown) => this.#app.log.warn("review.not-released", { error }));
  }

  #beginSoon(): void {
    if (this.#hasBegun || this.#isOver) return;
    this.#hasBegun = true;
    this.#timer = setTimeout(
      () => background(this.#begin(), "Watching for comments"),
      AFTER_START,
    ).unref();
  }

  async #begin(): Promise<void> {
    const { data, review } = this.#app.config;
    try {
      this.#ends.push(watchReviews(data, () => this.#tell()));
      if (this.#hasChanged(data)) this.#tell();
      if (review.dropFiles) await this.#watchDropFiles();
    } catch (error) {
      this.#app.log.warn("review.not-watched", { error });
    }
  }

  /** The last process that closes the database removes the file beside it. */
  #hasChanged(data: string): boolean {
    return [REVIEWS_FILE, `${REVIEWS_FILE}-wal`].some((name) => {
      const stats = statSync(join(data, name), { throwIfNoEntry: false });
      return (stats?.mtimeMs ?? 0) >= this.#started - CLOCK_STEP;
    });
  }

  async #watchDropFiles(): Promise<void> {
    const { DropFiles, dropPlaces } = await import("./inbox/drop-files.ts");
    if (this.#isOver) return;
    const { env = process.env, folder = process.cwd() } = this.#options;
    this.#dropFiles = new DropFiles({
      ...dropPlaces(this.#app.config.data, env),
      folder,
      open: async () => (await this.#commands.get()).reviews,
      report: this.#app.report,
    });
    this.#dropFiles.begin();
  }

  /** Sends a notice for each comment since the last one. */
  #tell(): void {
    this.#telling = this.#telling
      .then(() => (this.#isOver ? undefined : this.#tellNow()))
      .catch((error: unknown) => this.#app.log.warn("review.not-told", { error }));
  }

  async #tellNow(): Promise<void> {
    const { reviews, repository } = await this.#commands.get();
    this.#told ??= await reviews.lastSeq(this.#started);
    const messages = await reviews.messagesAfter(this.#told, repository?.gitDir);
    const last = messages.at(-1);
    if (last === undefined) return;
    this.#told = last.seq;
    this.#offer.resources.updated(MESSAGES.uri);
    for (const { thread, anchor, repository: its } of messages) {
      const { path: file, line } = anchor;
      const message = "New message from lazygit";
      // Clients that go by MCP's own schema, which has no `message`, show `data` alone.
      const data = { file, line, thread, message };
      this.#offer.notices.post({
        level: "info",
        logger: "lazygit",
        message,
        data,
        isNews: true,
        scope: "review",
        concerns: (folder) => (findRepository(folder) ?? its).gitDir === its.gitDir,
      });
    }
  }
}
