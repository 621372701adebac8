import { TrunklineError } from "../../base/errors.ts";
import {
  apiOf,
  type Forge,
  type ForgeKind,
  forgeKind,
  newRequestPage,
  type RepositoryAddress,
  webHost,
} from "../../forge/forge.ts";
import { ForgeHttp, type ForgeHttpOptions } from "../../forge/forge-http.ts";
import { Gitea } from "../../forge/gitea.ts";
import { GitHub } from "../../forge/github.ts";
import { GitLab } from "../../forge/gitlab.ts";
import { propose } from "../../forge/propose.ts";
import { hostText } from "../../base/address.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import { type Identity, splitHost } from "../../identity/identity.ts";
import type { Proposal, ProposalResult, Propose } from "../pull-request.ts";
import { pinAddresses, type RemotePolicy } from "../remote-ref.ts";
import type { Identified } from "./identify.ts";

/** Milliseconds for all calls of one pull request: the answer of the turn waits for them. */
const TIME = 25_000;
const TIME_OF_A_CALL = 10_000;

export interface ForgePolicy extends RemotePolicy {
  /** The software of self-hosted forges, by host. */
  readonly forges: Readonly<Record<string, ForgeKind>>;
}

/** Opens pull requests with the token of the identity that matches the repository. */
export function proposeOnForge(
  policy: ForgePolicy,
  identify: (url: string) => Promise<Identified>,
): Propose {
  return async (proposal) => {
    let page: string | undefined;
    try {
      const { identity, credentials } = await identify(proposal.url);
      const address = addressOf(proposal.url, identity);
      const kind = forgeKind(address.host, policy.forges, identity);
      if (kind === undefined) {
        const says = `the software of the forge '${address.host}' is not known. Set it in \`remote.forges\`.`;
        throw new TrunklineError("config", says);
      }
      page = newRequestPage(kind, address, proposal.head);
      const forge = forgeAt(kind, address, policy, needToken(credentials), proposal);
      return await propose(forge, proposal);
    } catch (error) {
      return failure(error, page);
    }
  };
}

function failure(error: unknown, page: string | undefined): ProposalResult {
  const { message } = error as Error;
  const why = /[.!?]$/.test(message) ? message : `${message}.`;
  return { state: "failed", why, ...(page === undefined ? {} : { page }) };
}

/** The web address of a repository. For SSH it is assumed to be on the same host. */
function addressOf(url: string, identity: Identity | undefined): RepositoryAddress {
  const { transport, host = "", port, owner, repository } = parseRemoteUrl(url);
  if (host === "" || owner === undefined || repository === undefined) {
    throw new TrunklineError("usage", "the repository is not on a forge.");
  }
  const place = { owner, repository, scheme: transport === "http" ? "http" : "https" } as const;
  if (transport === "https" || transport === "http") {
    return { ...place, host: hostText({ host, port }) };
  }
  // The identity's host is used only for its SSH alias and its port: its token may go nowhere
  // else, and the same path on another forge is somebody else's repository.
  const { host: its = "", sshHost } = identity ?? {};
  const isIts = its !== "" && (host === sshHost || host === splitHost(its).name);
  return { ...place, host: isIts ? its : webHost(host) };
}

function needToken({ token, noToken }: Identified["credentials"]): string {
  if (token !== undefined) return token;
  const none = "no identity matches the repository";
  const next = "Add one with `trunkline identity add`, and set its token";
  throw new TrunklineError("untrusted", noToken ?? `${none}. ${next}.`);
}

const FORGES = { github: GitHub, gitlab: GitLab, gitea: Gitea } as const;

function forgeAt(
  kind: ForgeKind,
  address: RepositoryAddress,
  policy: RemotePolicy,
  token: string,
  { signal }: Proposal,
): Forge {
  const Kind = FORGES[kind];
  const api = apiOf(kind, address);
  const options: ForgeHttpOptions = {
    api,
    headers: Kind.headersFor(token),
    addresses: () => pinAddresses(parseRemoteUrl(`${api}/`), policy),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIME)]),
    timeout: TIME_OF_A_CALL,
  };
  return new Kind(new ForgeHttp(options), address.owner, address.repository);
}
