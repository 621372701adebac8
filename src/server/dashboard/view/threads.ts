import { basename } from "node:path";
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
export async function openThreads(data: string, sessions: SessionRows) {
  const reviews = await Reviews.open(data);
  const addresses = new Map<string, readonly string[]>();
  const source = new PolledRows({
    event: "thread",
    every: 500,
    read: async () => (await all()).map(rowOf),
    idOf: ({ id }) => id,
    isFor: (principal, { repository }) =>
      mayUseTool(principal, LIST) && mayRead(principal, repository.root),
  });
  const change = (path: string, work: (id: string, saying: ThreadMessage) => Promise<Thread>) =>
    route(
      `POST /api/threads/:id/${path}`,
      "review",
      async ({ principal, id, body }) => {
        const { id: whole } = await need(principal, id);
        const text = typeof body.text === "string" && body.text !== "" ? body.text : undefined;
        return rowOf(await work(whole, { by: personOf(principal), role: "person", text }));
      },
      REPLY,
    );
  const routes: readonly ApiRoute[] = [
    route("GET /api/threads", "nothing", page, LIST),
    route("GET /api/threads/:id", "nothing", detail, LIST),
    route("GET /api/threads/:id/why", "nothing", why, LIST),
    change("reply", (id, saying) => {
      if (saying.text === undefined) throw new TrunklineError("usage", "'text' is missing.");
      return reviews.reply(id, saying);
    }),
    change("resolve", (id, saying) => reviews.resolve(id, saying)),
    change("reopen", (id, saying) => reviews.reopen(id, saying)),
    route(
      "POST /api/sessions/:id/comment",
      "review",
      async (call) => comment(call, await sessions.need(call.principal, call.id)),
      REPLY,
    ),
  ];

  /** Threads that wait for an agent or a person. */
  async function count(principal: Principal): Promise<number> {
    return (await visible(principal)).filter(({ state }) => state !== "resolved").length;
  }

  async function page({ principal, query }: ApiCall): Promise<Page<ThreadRow>> {
    const limit = numberIn(query, "limit", { least: 1, most: MOST, usual: 100 });
    const from = numberIn(query, "cursor", { usual: 0 });
    const newest = (await visible(principal)).toSorted((a, b) => b.updated - a.updated);
    const rows = newest.slice(from, from + limit).map(rowOf);
    return { rows, ...(newest.length > from + limit ? { next: String(from + limit) } : {}) };
  }

  async function detail({ principal, id }: ApiCall): Promise<ThreadDetail> {
    const thread = await need(principal, id);
    const events = await reviews.history(thread.id);
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
  async function why({ principal, id }: ApiCall): Promise<LineWhy> {
    const { id: whole, anchor, repository } = await need(principal, id);
    const { root } = repository;
    if (anchor.side === "old") {
      const { path, line = 1, commit } = anchor;
      return lineWhy(root, { data, path, line, commit, principal });
    }
    const commands = new ReviewCommands(reviews, root);
    const { file: path, line, confidence } = await commands.show(whole);
    if (confidence === "gone") {
      throw new TrunklineError("not-found", "The commented lines are gone.");
    }
    return lineWhy(root, { data, path, line: line ?? 1, principal });
  }

  /** A comment on lines of what a session changed: agents get it as any other review comment. */
  async function comment({ principal, body }: ApiCall, session: ReadSession): Promise<ThreadRow> {
    const { path: file, line, end, side, severity, text: comment } = bodyAs(body, checkCommentBody);
    const repository = openRepository(workingFolder(session));
    // What a person may see goes by the folder that they have opened, whichever work tree the session has.
    const { root } = openRepository(session.cwd);
    await know(root);
    if (!mayRead(principal, root)) {
      throw new TrunklineError("untrusted", limitRefusal(principal, root, `--folder ${root}`));
    }
    const { id } = await addComment(reviews, repository, repository.root, {
      ...{ file, line, end, side, severity, comment },
      base: side === "old" ? await baseOfSession(session) : undefined,
      by: personOf(principal),
      source: SOURCE + session.id,
    });
    return rowOf(await reviews.get(id));
  }

  async function need(principal: Principal, id: string): Promise<Thread> {
    const thread = await reviews.get(id);
    await know(thread.repository.root);
    if (mayRead(principal, thread.repository.root)) return thread;
    throw new TrunklineError("not-found", `There is no thread '${id.slice(0, 64)}'.`);
  }

  async function visible(principal: Principal): Promise<Thread[]> {
    const seen = mayUseTool(principal, LIST) ? await all() : [];
    return seen.filter(({ repository }) => mayRead(principal, repository.root));
  }

  async function all(): Promise<Thread[]> {
    const threads = await reviews.list();
    for (const { repository } of threads) await know(repository.root);
    return threads;
  }

  async function know(root: string): Promise<void> {
    if (!addresses.has(root)) addresses.set(root, await repositoryAddresses(root));
  }

  /** The rule of the review tools: their scope, and the folders and repositories of the token. */
  function mayRead(principal: Principal, root: string): boolean {
    if (!hasScope(principal, "review") || !mayUseFolder(principal, root)) return false;
    return mayUseRepository(principal, addresses.get(root) ?? []);
  }

  return { routes, source, count, [Symbol.dispose]: () => reviews[Symbol.dispose]() };
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
