import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Principal } from "../../base/principal.ts";
import { Git } from "../../git/git.ts";
import {
  type ListRefs,
  type LocalRevision,
  resolveRemoteRevision,
} from "../../git/remote-revision.ts";
import { writeAskpass } from "../../git/server/pin-connection.ts";
import { ServerGit } from "../../git/server/server-git.ts";
import { checkRemoteUrl, pinAddresses, refuseRepository } from "../remote-ref.ts";
import { openData } from "../../config/data-folder.ts";
import type { AppContext } from "../../config/app-context.ts";
import { identifyFor } from "./identify.ts";

const TIMEOUT = 60_000;

interface FindRevisionOptions {
  /** The run is on this machine, so that a folder without a remote can be fetched from. */
  readonly isHere?: boolean | undefined;
  /** Who has asked a gateway; undefined for a person at the terminal. */
  readonly principal?: Principal | undefined;
}

/**
 * Finds the commit of a branch, tag or hash in a repository. It uses the identity that matches the
 * repository, or else the person's own git configuration. A gateway asks as it would fetch: by the policy of
 * remote runs, and never as the person.
 */
export async function findRevision(
  app: AppContext,
  repository: string,
  wanted: string | undefined,
  cwd: string,
  { isHere, principal }: FindRevisionOptions = {},
): Promise<LocalRevision> {
  const list: ListRefs = async (url, refs) => {
    const listing = (address: string): string[] => [
      "ls-remote",
      "--symref",
      "--",
      address,
      ...refs,
    ];
    const { credentials } = await identifyFor(app)(url);
    if (principal === undefined && credentials.scope === "") {
      const { remote } = app.config;
      const isFolder = existsSync(resolve(cwd, repository));
      if (isHere === true && !isFolder) checkRemoteUrl(url, remote);
      const protocols = isFolder ? [...remote.protocols, "file"] : remote.protocols;
      return await new Git(cwd).text(listing(url), { mode: "write", protocols, timeout: TIMEOUT });
    }
    const { normal } = checkRemoteUrl(url, app.config.remote);
    if (principal !== undefined) refuseRepository(principal, normal);
    openData(app.config.data);
    const gitDir = join(app.config.data, "run");
    const git = new ServerGit({
      gitDir,
      askpass: await writeAskpass(gitDir),
      resolve: (host) => pinAddresses({ host }, app.config.remote),
    });
    const remote = { url: normal, credentials };
    return await git.text(listing(normal), { remote, timeout: TIMEOUT });
  };
  return await resolveRemoteRevision(repository, wanted, cwd, list, { isHere });
}
