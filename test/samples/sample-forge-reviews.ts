import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

type Json = Record<string, unknown>;

/** What the server was asked. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly token: string | undefined;
  readonly body: Json;
}

/**
 * A server in place of GitHub and GitLab, which cannot run here. Its answers have the members that both
 * document, and that GitHub's answers have in recordings that others have published.
 */
export class SampleForge implements AsyncDisposable {
  readonly asked: Asked[] = [];
  /** GitHub: `pulls/N/comments`. */
  comments: Json[] = [];
  /** GitHub: the ids of first comments whose threads are resolved. */
  readonly resolved = new Set<number>();
  /** GitLab: `merge_requests/N/discussions`. */
  discussions: Json[] = [];
  pageSize = 2;
  /** The newest commit of the pull or merge request. */
  head = "";
  /** Answers instead, if it returns true. */
  instead: (asked: Asked, response: ServerResponse) => boolean = () => false;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #next = 9000;

  static async start(): Promise<SampleForge> {
    const forge = new SampleForge();
    forge.#server.listen(0, "127.0.0.1");
    await once(forge.#server, "listening");
    return forge;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const said = await text(request);
    const token = headers.authorization?.replace(/^Bearer /, "");
    const body = said === "" ? {} : (JSON.parse(said) as Json);
    const asked = { method, url, token, body };
    this.asked.push(asked);
    response.setHeader("content-type", "application/json");
    if (this.instead(asked, response)) return;
    if (url === "/api/graphql") this.#graphql(body, response);
    else if (method === "GET" && /\/pulls\/12\/comments\?/.test(url)) {
      this.#page(this.comments, url, response);
    } else if (method === "GET" && /\/merge_requests\/12\/discussions\?/.test(url)) {
      this.#page(this.discussions, url, response);
    } else if (method === "POST" && /\/comments\/(\d+)\/replies$/.test(url)) {
      const first = Number(/\/comments\/(\d+)\//.exec(url)?.[1]);
      const reply = gitHubComment({ id: ++this.#next, body: body.body, in_reply_to_id: first });
      this.comments.push(reply);
      response.writeHead(201).end(JSON.stringify(reply));
    } else if (method === "GET" && url.endsWith("/pulls/12")) {
      response.end(JSON.stringify({ number: 12, head: { sha: this.head } }));
    } else if (method === "GET" && url.endsWith("/merge_requests/12")) {
      const { base_sha, start_sha } = POSITION;
      response.end(JSON.stringify({ diff_refs: { base_sha, start_sha, head_sha: this.head } }));
    } else if (method === "POST" && url.endsWith("/pulls/12/comments")) {
      if (body.line === 3) {
        // GitHub refuses lines that are not in the diff.
        const why = { field: "pull_request_review_thread.line", code: "invalid" };
        response
          .writeHead(422)
          .end(JSON.stringify({ message: "Validation Failed", errors: [why] }));
        return;
      }
      const comment = gitHubComment({ id: ++this.#next, user: { login: "ada" }, ...body });
      this.comments.push(comment);
      response.writeHead(201).end(JSON.stringify(comment));
    } else if (method === "POST" && url.endsWith("/discussions")) {
      const note = gitLabNote({ id: ++this.#next, ...body });
      this.discussions.push({ id: `d${this.#next}`, individual_note: false, notes: [note] });
      response.writeHead(201).end(JSON.stringify(this.discussions.at(-1)));
    } else if (method === "POST" && /\/discussions\/(\w+)\/notes$/.test(url)) {
      const note = gitLabNote({ id: ++this.#next, body: body.body });
      (this.#discussion(url).notes as Json[]).push(note);
      response.writeHead(201).end(JSON.stringify(note));
    } else if (method === "PUT" && /\/discussions\/\w+$/.test(url)) {
      const discussion = this.#discussion(url);
      for (const note of discussion.notes as Json[]) note.resolved = body.resolved;
      response.end(JSON.stringify(discussion));
    } else response.writeHead(404).end('{"message":"Not Found","status":"404"}');
  }

  #discussion(url: string): Json {
    const id = /\/discussions\/(\w+)/.exec(url)?.[1];
    return this.discussions.find((each) => each.id === id) ?? { notes: [] };
  }

  #page(items: readonly Json[], url: string, response: ServerResponse): void {
    const { searchParams, pathname } = new URL(url, "http://x");
    const page = Number(searchParams.get("page") ?? 1);
    const from = (page - 1) * this.pageSize;
    if (from + this.pageSize < items.length) {
      const next = `http://${this.host}${pathname}?per_page=100&page=${page + 1}`;
      response.setHeader("link", `<${next}>; rel="next", <${next}>; rel="last"`);
    }
    response.end(JSON.stringify(items.slice(from, from + this.pageSize)));
  }

  #graphql({ query, variables }: Json, response: ServerResponse): void {
    const [, verb] = /\b(resolve|unresolve)ReviewThread\b/.exec(String(query)) ?? [];
    if (verb !== undefined) {
      const first = Number(String((variables as Json).id).replace("PRRT_", ""));
      if (verb === "resolve") this.resolved.add(first);
      else this.resolved.delete(first);
      const thread = { id: `PRRT_${first}` };
      response.end(JSON.stringify({ data: { [`${verb}ReviewThread`]: { thread } } }));
      return;
    }
    const first = this.comments.filter((comment) => comment.in_reply_to_id === undefined);
    const nodes = first.map(({ id }) => ({
      id: `PRRT_${String(id)}`,
      isResolved: this.resolved.has(Number(id)),
      comments: { nodes: [{ databaseId: id }] },
    }));
    const reviewThreads = { pageInfo: { hasNextPage: false, endCursor: null }, nodes };
    response.end(JSON.stringify({ data: { repository: { pullRequest: { reviewThreads } } } }));
  }
}

/** A review comment with the members that GitHub's have. */
export function gitHubComment(more: Json): Json {
  const id = Number(more.id);
  const page = `https://github.com/octocat/hello/pull/12#discussion_r${id}`;
  return {
    url: `https://api.github.com/repos/octocat/hello/pulls/comments/${id}`,
    pull_request_review_id: 42,
    node_id: "PRRC_kwDO",
    diff_hunk: "@@ -1,3 +1,3 @@\n one\n-two\n+line two\r",
    path: "a.txt",
    commit_id: "6dcb09b5b57875f334f61aebed695e2e4193db5e",
    original_commit_id: "9c48853fa3dc5c1c3d6f1f1cd1f2743e72652840",
    user: { login: "octocat", id: 1, type: "User", site_admin: false },
    body: "Great stuff!",
    created_at: "2024-05-01T10:00:00Z",
    updated_at: "2024-05-01T10:00:00Z",
    html_url: page,
    pull_request_url: "https://api.github.com/repos/octocat/hello/pulls/12",
    author_association: "NONE",
    _links: { html: { href: page } },
    reactions: { total_count: 0 },
    start_line: null,
    original_start_line: null,
    start_side: null,
    line: 2,
    original_line: 2,
    side: "RIGHT",
    original_position: 3,
    position: 3,
    subject_type: "line",
    ...more,
  };
}

const POSITION = {
  base_sha: "b5d6e7b1613fca24d250fa8e5bc7bcc3dd6002ef",
  start_sha: "7c9c2ead8a320fb7ba0b4e234bd9529a2614e306",
  head_sha: "4803c71e6b1833ca72b8b26ef2ecd5adc8a38031",
};

/** A note with the members that GitLab's have. */
export function gitLabNote(more: Json): Json {
  return {
    type: "DiffNote",
    body: "diff comment",
    attachment: null,
    author: { id: 1, name: "Root", username: "root", state: "active" },
    created_at: "2024-03-04T09:17:22.520Z",
    updated_at: "2024-03-04T09:17:22.520Z",
    system: false,
    noteable_id: 3,
    noteable_type: "MergeRequest",
    project_id: 5,
    noteable_iid: 12,
    resolvable: true,
    resolved: false,
    resolved_by: null,
    position: {
      ...POSITION,
      old_path: "a.txt",
      new_path: "a.txt",
      position_type: "text",
      old_line: null,
      new_line: 2,
      line_range: {
        start: { line_code: "588440f66559714280628a4f9799f0c4eb880a4a_1_2", type: "new" },
        end: { line_code: "588440f66559714280628a4f9799f0c4eb880a4a_1_2", type: "new" },
      },
    },
    ...more,
  };
}
