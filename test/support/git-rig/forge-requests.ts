import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

export interface StoredRequest {
  number: number;
  head: string;
  base: string;
  title: string;
  body: string;
  isDraft: boolean;
  state: "open" | "closed";
}

/** What goes wrong when a pull request is created. */
type Fault =
  | "none"
  /** It is created, and the connection ends before the answer. */
  | "lost"
  /** It is created, and nothing is answered. */
  | "silent"
  | { readonly status: number; readonly body: object };

interface Answer {
  readonly status: number;
  readonly body: object;
}

interface Asked {
  readonly method: string;
  readonly steps: readonly string[];
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Simulates the pull request APIs of GitHub, GitLab and Gitea in memory, because no forge can run here.
 * Answers have the shapes of the public references:
 *
 * - https://docs.github.com/rest/pulls/pulls, below `/api/v3` as on GitHub Enterprise Server
 * - https://docs.gitlab.com/api/merge_requests, below `/api/v4`
 * - https://docs.gitea.com/api (repository), below `/api/v1`
 */
export class ForgeRequests {
  /** By owner and name of the repository. */
  readonly repositories = new Map<string, StoredRequest[]>();
  defaultBranch = "main";
  fault: Fault = "none";
  /** Makes lists contain all requests, as GitHub does for a filter that it cannot parse. */
  isUnfiltered = false;
  /** Method and path of each call. */
  readonly calls: string[] = [];

  /** The requests of a repository, which is created if it is missing. */
  of(name: string): StoredRequest[] {
    const known = this.repositories.get(name) ?? [];
    this.repositories.set(name, known);
    return known;
  }

  /** Answers an authenticated call. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const { pathname, searchParams: query } = new URL(url, "http://forge.invalid");
    this.calls.push(`${method} ${pathname}`);
    const [, , version, ...steps] = pathname.split("/");
    const said = await text(request);
    const asked: Asked = {
      method,
      query,
      steps: steps.map(decodeURIComponent),
      body: said === "" ? {} : (JSON.parse(said) as Asked["body"]),
    };
    const { status, body } =
      version === "v3"
        ? this.#gitHub(asked)
        : version === "v4"
          ? this.#gitLab(asked)
          : this.#gitea(asked);
    if (method === "POST" && this.fault === "lost") {
      request.socket.destroy();
      return;
    }
    if (method === "POST" && this.fault === "silent") return;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  #gitHub({ method, steps, query, body }: Asked): Answer {
    const [, owner = "", name = "", part, number] = steps;
    const all = this.repositories.get(`${owner}/${name}`);
    const missing = { status: 404, body: { message: "Not Found", status: "404" } };
    if (all === undefined) return missing;
    const shown = (each: StoredRequest): object => gitHubShape(each, owner, name);
    if (part === undefined) {
      return {
        status: 200,
        body: { full_name: `${owner}/${name}`, default_branch: this.defaultBranch },
      };
    }
    if (number !== undefined) return this.#one(all, Number(number), body, "body", shown) ?? missing;
    if (method === "GET") {
      const state = query.get("state") ?? "open";
      // "Filter pulls by head user or head organization and branch name": others are not filtered.
      const [, head] = /^[^:]+:(.+)$/.exec(query.get("head") ?? "") ?? [];
      const fitting = all.filter(
        (each) =>
          (state === "all" || each.state === state) &&
          (head === undefined || each.head === head || this.isUnfiltered),
      );
      return { status: 200, body: fitting.toReversed().map(shown) };
    }
    const isThere = `A pull request already exists for ${owner}:${String(body.head)}.`;
    return this.#create(all, {
      fields: { ...body, isDraft: body.draft === true },
      shown,
      conflict: {
        status: 422,
        body: {
          message: "Validation Failed",
          errors: [{ resource: "PullRequest", code: "custom", message: isThere }],
        },
      },
    });
  }

  #gitLab({ method, steps, query, body }: Asked): Answer {
    const [, project = "", part, number] = steps;
    const all = this.repositories.get(project);
    const missing = { status: 404, body: { message: "404 Project Not Found" } };
    if (all === undefined) return missing;
    const shown = (each: StoredRequest): object => gitLabShape(each, project);
    if (part === undefined) {
      return {
        status: 200,
        body: { path_with_namespace: project, default_branch: this.defaultBranch },
      };
    }
    if (number !== undefined) {
      return this.#one(all, Number(number), body, "description", shown) ?? missing;
    }
    if (method === "GET") {
      const source = query.get("source_branch");
      const fitting = all.filter(({ head }) => head === source || this.isUnfiltered);
      return { status: 200, body: fitting.toReversed().map(shown) };
    }
    const { source_branch: head, target_branch: base, title, description } = body;
    const isThere = "Another open merge request already exists for this source branch: !1";
    return this.#create(all, {
      fields: { head, base, title, body: description, isDraft: /^draft:/i.test(String(title)) },
      shown,
      conflict: { status: 409, body: { message: [isThere] } },
    });
  }

  #gitea({ steps, body }: Asked): Answer {
    const [, owner = "", name = "", part, first, ...rest] = steps;
    const all = this.repositories.get(`${owner}/${name}`);
    const missing = { status: 404, body: { message: "The target couldn't be found.", errors: [] } };
    if (all === undefined) return missing;
    const shown = (each: StoredRequest): object => gitHubShape(each, owner, name);
    if (part === undefined) {
      return {
        status: 200,
        body: { full_name: `${owner}/${name}`, default_branch: this.defaultBranch },
      };
    }
    if (first !== undefined && rest.length > 0) {
      const head = rest.join("/");
      const found = all.findLast((each) => each.base === first && each.head === head);
      return found === undefined ? missing : { status: 200, body: shown(found) };
    }
    if (first !== undefined) return this.#one(all, Number(first), body, "body", shown) ?? missing;
    return this.#create(all, {
      fields: { ...body, isDraft: /^(?:wip:|\[wip\])/i.test(String(body.title)) },
      shown,
      conflict: {
        status: 409,
        body: { message: "pull request already exists for these targets [id: 1]" },
      },
    });
  }

  #one(
    all: readonly StoredRequest[],
    number: number,
    body: Asked["body"],
    field: string,
    shown: (each: StoredRequest) => object,
  ): Answer | undefined {
    const found = all.find((each) => each.number === number);
    if (found === undefined) return undefined;
    if (typeof body[field] === "string") found.body = body[field];
    return { status: 200, body: shown(found) };
  }

  #create(
    all: StoredRequest[],
    options: {
      readonly fields: Readonly<Record<string, unknown>>;
      readonly shown: (each: StoredRequest) => object;
      readonly conflict: Answer;
    },
  ): Answer {
    if (typeof this.fault === "object") return this.fault;
    const { head, base, title, body, isDraft } = options.fields;
    const isThere = all.some(
      (each) => each.state === "open" && each.head === head && each.base === base,
    );
    if (isThere) return options.conflict;
    const created: StoredRequest = {
      number: all.length + 1,
      head: String(head),
      base: String(base),
      title: String(title),
      body: String(body),
      isDraft: isDraft === true,
      state: "open",
    };
    all.push(created);
    return { status: 201, body: options.shown(created) };
  }
}

function gitHubShape(each: StoredRequest, owner: string, name: string): object {
  const { number, state, title, body, head, base, isDraft } = each;
  const side = (ref: string): object => ({
    label: `${owner}:${ref}`,
    ref,
    repo: { full_name: `${owner}/${name}` },
  });
  return {
    id: 1000 + number,
    html_url: `https://forge.test/${owner}/${name}/pull/${number}`,
    number,
    state,
    title,
    body,
    draft: isDraft,
    head: side(head),
    base: side(base),
  };
}

function gitLabShape(each: StoredRequest, project: string): object {
  const { number, state, title, body, head, base, isDraft } = each;
  return {
    id: 1000 + number,
    iid: number,
    project_id: 3,
    source_project_id: 3,
    target_project_id: 3,
    title,
    description: body,
    state: state === "open" ? "opened" : state,
    source_branch: head,
    target_branch: base,
    draft: isDraft,
    web_url: `https://forge.test/${project}/-/merge_requests/${number}`,
  };
}
