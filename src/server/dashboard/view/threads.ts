import { basename, dirname } from "node:path";
import { userInfo } from "node:os";

import { defined } from "../../../base/defined.ts";
import { TrunklineError } from "../../../base/errors.ts";
import {
  hasScope,
  limitRefusal,
  mayUseFolder,
  mayUseRepository,
  mayUseTool,
  type Principal,
} from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import { addComment } from "../../../review/add-comment.ts";
import { openRepository } from "../../../review/repository.ts";
import { ReviewCommands } from "../../../review/review-commands.ts";
import { workingFolder } from "../../../session/workplace.ts";
import type { Thread } from "../../../store/review/review-thread.ts";
import { Reviews, type ThreadMessage } from "../../../store/review/reviews.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import { repositoryAddresses } from "../../../git/repository-addresses.ts";
import type { Page, ThreadDetail, ThreadRow } from "../api.ts";
import type { LineWhy } from "../session-api.ts";
import { checkCommentBody } from "../schema.gen.ts";
import { PolledRows } from "../live/polled-rows.ts";
import {
  type ApiCall,
  type ApiRoute,
  bodyAs,
  numberIn,
  route,
} from "../../../base/capability/api-route.ts";
import { baseOfSession } from "../session/changed-files.ts";
import { lineWhy } from "../session/line-why.ts";
import type { SessionRows } from "../session/session-rows.ts";

/** How the source of a thread begins that was made on the diff of a session. */
const SOURCE = "dashboard ";
const MOST = 500;
/** The tools that do what the endpoints do. */
const LIST = "review_list";
const REPLY = "review_reply";

/** Review threads of all repositories. */
export class Threads implements Disposable {
  readonly #reviews: Reviews;
  readonly #sessions: SessionRows;
  /** Addresses of repositories, by their root. */
  readonly #addresses = new Map<string, readonly string[]>();
  readonly source = new PolledRows({
    event: "thread",
    every: 500,
    read: async () => (await this.#all()).map(rowOf),
    idOf: ({ id }) => id,
    isFor: (principal, { repository }) =>
      mayUseTool(principal, LIST) && this.#hasScope(principal, repository.root),
  });

  private constructor(reviews: Reviews, sessions: SessionRows) {
    this.#reviews = reviews;
    this.#sessions = sessions;
  }

  static async open(data: string, sessions: SessionRows): Promise<Threads> {
    return new Threads(await Reviews.open(data), sessions);
  }

  [Symbol.dispose](): void {
    this.#reviews[Symbol.dispose]();
  }

  get routes(): readonly ApiRoute[] {
    const change = (path: string, work: (id: string, saying: ThreadMessage) => Promise<Thread>) =>
      route(
        `POST /api/threads/:id/${path}`,
        "review",
        async ({ principal, id, body }) => {
          const { id: whole } = await this.#need(principal, id);
          const text = typeof body.text === "string" && body.text !== "" ? body.text : undefined;
          return rowOf(await work(whole, { by: personOf(principal), role: "person", text }));
        },
        REPLY,
      );
    return [
      route("GET /api/threads", "nothing", (call) => this.#page(call), LIST),
      route("GET /api/threads/:id", "nothing", (call) => this.#detail(call), LIST),
      route("GET /api/threads/:id/why", "nothing", (call) => this.#why(call), LIST),
      change("reply", (id, saying) => {
        if (saying.text === undefined) throw new TrunklineError("usage", "'text' is missing.");
        return this.#reviews.reply(id, saying);
      }),
      change("resolve", (id, saying) => this.#reviews.resolve(id, saying)),
      change("reopen", (id, saying) => this.#reviews.reopen(id, saying)),
      route(
        "POST /api/sessions/:id/comment",
        "review",
        async (call) => this.#comment(call, await this.#sessions.need(call.principal, call.id)),
        REPLY,
      ),
    ];
  }

  /** Threads that wait for an agent or a person. */
  async count(principal: Principal): Promise<number> {
    return (await this.#visible(principal)).filter(({ state }) => state !== "resolved").length;
  }

  async #page({ principal, query }: ApiCall): Promise<Page<ThreadRow>> {
    const limit = numberIn(query, "limit", { least: 1, most: MOST, usual: 100 });
    const from = numberIn(query, "cursor", { usual: 0 });
    const newest = (await this.#visible(principal)).toSorted((a, b) => b.updated - a.updated);
    const rows = newest.slice(from, from + limit).map(rowOf);
    return { rows, ...(newest.length > from + limit ? { next: String(from + limit) } : {}) };
  }

  async #detail({ principal, id }: ApiCall): Promise<ThreadDetail> {
    const thread = await this.#need(principal, id);
    const events = await this.#reviews.history(thread.id);
    const { quote } = thread.anchor;
    return {
      row: rowOf(thread),
      ...(quote === undefined ? {} : { quote: quote.map(maskText) }),
      events: events.map(({ seq, kind, at, by, role, text, proposal }) => {
        const said = text ?? proposal?.text;
        return defined<ThreadDetail["events"][number]>({
          ...{ seq, kind, at, by, role, diff: proposal?.diff, commit: proposal?.commit },
          text: said === undefined ? undefined : maskText(said),
        });
      }),
    };
  }

  /** Who wrote the first commented line; of one that a change has removed, as it was before. */
  async #why({ principal, id }: ApiCall): Promise<LineWhy> {
    const { id: whole, anchor, repository } = await this.#need(principal, id);
    const { root } = repository;
    const data = dirname(this.#reviews.path);
    if (anchor.side === "old") {
      const { path, line = 1, commit } = anchor;
      return lineWhy(root, { data, path, line, commit, principal });
    }
    const commands = new ReviewCommands(this.#reviews, root);
    const { file: path, line, confidence } = await commands.show(whole);
    if (confidence === "gone") {
      throw new TrunklineError("not-found", "The commented lines are gone.");
    }
    return lineWhy(root, { data, path, line: line ?? 1, principal });
  }

  /** A comment on lines of what a session changed: agents get it as any other review comment. */
  async #comment({ principal, body }: ApiCall, session: ReadSession): Promise<ThreadRow> {
    const { path: file, line, end, side, severity, text: comment } = bodyAs(body, checkCommentBody);
    const repository = openRepository(workingFolder(session));
    // What a person may see goes by the folder that they have opened, whichever work tree the session has.
    const { root } = openRepository(session.cwd);
    await this.#know(root);
    if (!this.#hasScope(principal, root)) {
      throw new TrunklineError("untrusted", limitRefusal(principal, root, `--folder ${root}`));
    }
    const { id } = await addComment(this.#reviews, repository, repository.root, {
      ...{ file, line, end, side, severity, comment },
      base: side === "old" ? await baseOfSession(session) : undefined,
      by: personOf(principal),
      source: SOURCE + session.id,
    });
    return rowOf(await this.#reviews.get(id));
  }

  async #need(principal: Principal, id: string): Promise<Thread> {
    const thread = await this.#reviews.get(id);
    await this.#know(thread.repository.root);
    if (this.#hasScope(principal, thread.repository.root)) return thread;
    throw new TrunklineError("not-found", `There is no thread '${id.slice(0, 64)}'.`);
  }

  async #visible(principal: Principal): Promise<Thread[]> {
    const all = mayUseTool(principal, LIST) ? await this.#all() : [];
    return all.filter(({ repository }) => this.#hasScope(principal, repository.root));
  }

  async #all(): Promise<Thread[]> {
    const threads = await this.#reviews.list();
    for (const { repository } of threads) await this.#know(repository.root);
    return threads;
  }

  async #know(root: string): Promise<void> {
    if (!this.#addresses.has(root)) this.#addresses.set(root, await repositoryAddresses(root));
  }

  /** The rule of the review tools: their scope, and the folders and repositories of the token. */
  #hasScope(principal: Principal, root: string): boolean {
    if (!hasScope(principal, "review") || !mayUseFolder(principal, root)) return false;
    return mayUseRepository(principal, this.#addresses.get(root) ?? []);
  }
}

function rowOf(thread: Thread): ThreadRow {
  const { id, repository, anchor, severity, comment, state, by, source, at, updated } = thread;
  const { path, side, line, end = line } = anchor;
  const { root, gitDir } = repository;
  return defined<ThreadRow>({
    ...{ id, path, side, line, end, severity, state, by, at, updated },
    repository: { name: basename(root), root, gitDir },
    comment: maskText(comment),
    claimedBy: thread.claim?.agent,
    session: source.startsWith(SOURCE) ? source.slice(SOURCE.length) : undefined,
  });
}

/** Who comments: the name of the token, or of the user who runs the server. */
function personOf({ name }: Principal): string {
  return name ?? userInfo().username;
}
