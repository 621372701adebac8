import { type ForgeHttp, type Json, webPage } from "./forge-http.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Forge, NewLines, PullRequest } from "./forge.ts";
import { requirePullRequest } from "./github.ts";

/** GitLab's REST API v4: "Merge requests" and "Projects". */
export const GitLab = {
  /** This header works for all kinds of access tokens, also for OAuth. */
  headersFor: (token: string) => ({ authorization: `Bearer ${token}` }),

  open(http: ForgeHttp, owner: string, repository: string): Forge {
    const project = projectOf(owner, repository);
    const requests = `${project}/merge_requests`;
    return {
      async defaultBranch() {
        const { default_branch } = (await http.call("GET", project)) as Json;
        return String(default_branch);
      },

      get: async (number) => read(await http.find(`${requests}/${number}`)),

      async find(head) {
        const query = new URLSearchParams({ source_branch: head, state: "all" });
        const listed = await http.call("GET", `${requests}?${query.toString()}`);
        const fitting = (Array.isArray(listed) ? (listed as Json[]) : []).filter(
          ({ source_branch, source_project_id, target_project_id }) =>
            source_branch === head && source_project_id === target_project_id,
        );
        return read(fitting.find(({ state }) => state === "opened") ?? fitting[0]);
      },

      /** GitLab has no field for a draft: titles that begin with `Draft:` are drafts. */
      async create({ head, base, title: plain, body: description, isDraft }) {
        const title = isDraft ? `Draft: ${plain}` : plain;
        const sent = { source_branch: head, target_branch: base, title, description };
        return requirePullRequest(read(await http.call("POST", requests, sent)));
      },

      async describe(number, description) {
        await http.call("PUT", `${requests}/${number}`, { description });
      },
    };
  },
};

/** `owner` may be a group with subgroups: the whole path is one segment of the URL. */
function projectOf(owner: string, repository: string): string {
  return `/projects/${encodeURIComponent(`${owner}/${repository}`)}`;
}

/** `iid` is the number within the project, which people see. */
function read(answer: unknown): PullRequest | undefined {
  const { iid, web_url, state, description } = (answer ?? {}) as Json;
  if (typeof iid !== "number") return undefined;
  const body = typeof description === "string" ? description : "";
  return { number: iid, url: webPage(web_url), isOpen: state === "opened", body };
}

/** The discussions of a merge request (GitLab REST v4, "Discussions"). */
export function gitLabReviews(
  http: ForgeHttp,
  { owner, repository, number }: { owner: string; repository: string; number: number },
) {
  const request = `${projectOf(owner, repository)}/merge_requests/${number}`;
  const discussions = `${request}/discussions`;

  /** The commits between which the merge request is shown. */
  const versions = async (): Promise<Json> => {
    const { diff_refs } = (await http.call("GET", request)) as Json;
    return (diff_refs ?? {}) as Json;
  };

  return {
    discussions: () => http.list(`${discussions}?per_page=100`),

    /** Gives the id of the new note. */
    async reply(discussion: string, body: string): Promise<string> {
      const path = `${discussions}/${encodeURIComponent(discussion)}/notes`;
      return String(((await http.call("POST", path, { body })) as Json).id);
    },

    head: async () => String((await versions()).head_sha),

    /**
     * Comments on the last of some lines as a commit has them; without a line, on the file. GitLab wants both
     * numbers of a line that did not change, which are not known here, and refuses it.
     */
    async open(commit: string, { path, side, line, end = line }: NewLines, body: string) {
      const { base_sha, start_sha, head_sha } = await versions();
      if (head_sha !== commit) {
        const why = "the merge request has a newer commit";
        throw new TrunklineError("conflict", `Cannot comment on ${path}: ${why}. Try again.`);
      }
      const which = side === "old" ? "old_line" : "new_line";
      const text = { position_type: "text", [which]: end };
      const lines = end === undefined ? { position_type: "file" } : text;
      const position = { base_sha, start_sha, head_sha, old_path: path, new_path: path, ...lines };
      await http.call("POST", discussions, { body, position });
    },

    async resolve(discussion: string, isResolved: boolean): Promise<void> {
      const path = `${discussions}/${encodeURIComponent(discussion)}`;
      await http.call("PUT", path, { resolved: isResolved });
    },
  };
}
