import { TrunklineError } from "../base/errors.ts";
import { type ForgeHttp, type Json, webPage } from "./forge-http.ts";
import type { Forge, NewLines, PullRequest } from "./forge.ts";

/** GitHub's REST API, version 2022-11-28: "Pulls" and "Repositories". */
export const GitHub = {
  headersFor: (token: string) => ({
    accept: "application/vnd.github+json",
    authorization: `Bearer ${token}`,
    "x-github-api-version": "2022-11-28",
  }),

  open(http: ForgeHttp, owner: string, name: string): Forge {
    const repository = repositoryOf(owner, name);
    const pulls = `${repository}/pulls`;
    return {
      async defaultBranch() {
        const { default_branch } = (await http.call("GET", repository)) as Json;
        return String(default_branch);
      },

      get: async (number) => read(await http.find(`${pulls}/${number}`)),

      async find(head) {
        const query = new URLSearchParams({ state: "all", head: `${owner}:${head}` });
        const listed = await http.call("GET", `${pulls}?${query.toString()}`);
        // GitHub ignores a filter that it does not understand, and lists all pull requests.
        const fitting = (Array.isArray(listed) ? (listed as Json[]) : []).filter(
          (each) => (each.head as Json | undefined)?.ref === head,
        );
        return read(fitting.find(({ state }) => state === "open") ?? fitting[0]);
      },

      create: ({ isDraft: draft, ...request }) => create(http, pulls, { ...request, draft }),

      async describe(number, body) {
        await http.call("PATCH", `${pulls}/${number}`, { body });
      },
    };
  },
};

export function repositoryOf(owner: string, name: string): string {
  return `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}

export async function create(http: ForgeHttp, pulls: string, body: Json): Promise<PullRequest> {
  return requirePullRequest(read(await http.call("POST", pulls, body)));
}

/** The pull request in an answer of GitHub, or of Gitea, which has the same shape. */
export function read(answer: unknown): PullRequest | undefined {
  const { number, html_url, state, body } = (answer ?? {}) as Json;
  if (typeof number !== "number") return undefined;
  const text = typeof body === "string" ? body : "";
  return { number, url: webPage(html_url), isOpen: state === "open", body: text };
}

/** Reads the answer to a creation. Throws if it names no pull request. */
export function requirePullRequest(request: PullRequest | undefined): PullRequest {
  if (request !== undefined) return request;
  throw new Error("the forge did not say which request it has created");
}

const THREADS = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved comments(first: 1) { nodes { databaseId } } }
    }
  } }
}`;

const RESOLVE = `mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id } } }`;
const UNRESOLVE = `mutation($id: ID!) { unresolveReviewThread(input: { threadId: $id }) { thread { id } } }`;

const MOST_PAGES = 100;

/**
 * The review comments of a pull request. Comments come from GitHub's REST API; only its GraphQL API knows
 * threads, and whether they are resolved. `graphql` has the base URL that `/graphql` is at.
 */
export function gitHubReviews(
  rest: ForgeHttp,
  graphql: ForgeHttp,
  { owner, repository: name, number }: { owner: string; repository: string; number: number },
) {
  const pull = `${repositoryOf(owner, name)}/pulls/${number}`;

  /** GraphQL answers 200 to what it refuses. */
  const ask = async (query: string, variables: Json): Promise<Json> => {
    const answer = await graphql.call("POST", "/graphql", { query, variables });
    const { data, errors } = answer as { data?: Json; errors?: { message?: unknown }[] };
    const [first] = Array.isArray(errors) ? errors : [];
    if (first === undefined) return data ?? {};
    const says = String(first.message).slice(0, 300);
    throw new TrunklineError("unavailable", `GitHub does not answer: ${says}`);
  };

  return {
    comments: () => rest.list(`${pull}/comments?per_page=100`),

    /** The nodes of `reviewThreads`, with the first comment of each. */
    async threads(): Promise<unknown[]> {
      const nodes: unknown[] = [];
      let after: unknown = null;
      for (let page = 0; page < MOST_PAGES; page++) {
        const data = await ask(THREADS, { owner, name, number, after });
        const { pullRequest } = (data.repository ?? {}) as Json;
        const { reviewThreads } = (pullRequest ?? {}) as Json;
        const { nodes: more, pageInfo } = (reviewThreads ?? {}) as Json;
        for (const node of Array.isArray(more) ? (more as unknown[]) : []) nodes.push(node);
        const { hasNextPage, endCursor } = (pageInfo ?? {}) as Json;
        if (hasNextPage !== true) break;
        after = endCursor;
      }
      return nodes;
    },

    /** Gives the id of the new comment. */
    async reply(comment: string, body: string): Promise<string> {
      const path = `${pull}/comments/${encodeURIComponent(comment)}/replies`;
      return String(((await rest.call("POST", path, { body })) as Json).id);
    },

    async head(): Promise<string> {
      const { head } = (await rest.call("GET", pull)) as Json;
      return String((head as Json | undefined)?.sha);
    },

    /** Comments on lines as a commit has them; without a line, on the file. */
    async open(commit: string, lines: NewLines, body: string): Promise<void> {
      const { path, side: which, line: start, end: line = start } = lines;
      const side = which === "old" ? "LEFT" : "RIGHT";
      const range = start === line ? {} : { start_line: start, start_side: side };
      const on = line === undefined ? { subject_type: "file" } : { line, side, ...range };
      await rest.call("POST", `${pull}/comments`, { body, commit_id: commit, path, ...on });
    },

    async resolve(id: string, isResolved: boolean): Promise<void> {
      await ask(isResolved ? RESOLVE : UNRESOLVE, { id });
    },
  };
}
