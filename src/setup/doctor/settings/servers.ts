import { setTimeout as sleep } from "node:timers/promises";

import type { UpstreamStatus } from "../../../upstream/upstream.ts";
import { openTools } from "../../../app/tool/open-tools.ts";
import type { Config } from "../../../config/config.ts";
import { shellWord } from "../../../base/text/shell-word.ts";
import { visibleLine } from "../../../base/text/visible.ts";
import { silentApp } from "../silent-app.ts";
import type { Finding } from "../finding.ts";
import { type Allowance, seconds } from "../run-checks.ts";

/** The part of the time of the check in which servers have to be up; the rest is for ending them. */
const SHARE = 0.75;

/** The state of the configured MCP servers, and whether tools wait for approval. */
export async function checkServers(
  config: Config,
  { patience, signal, endsLater }: Allowance,
  wait = patience * SHARE,
): Promise<Finding[]> {
  if (Object.keys(config.mcpServers).length === 0) {
    return [{ state: "ok", what: "MCP servers", says: "none configured" }];
  }
  const opened = await openTools(silentApp(config));
  const enough = new AbortController();
  const until = { signal: AbortSignal.any([signal, enough.signal]) };
  const late = sleep(wait, undefined, until).catch(() => {});
  await Promise.race([opened.started(), late]);
  enough.abort();
  const findings = opened.status().map((status) => findingOf(status, wait));
  const held = opened.offer.tools.held().length;
  // A server that does not end when it is asked to takes seconds, which change nothing.
  endsLater(Promise.resolve(opened[Symbol.asyncDispose]()));
  if (held === 0) return findings;
  const next = "Check them with `trunkline tools diff`.";
  return [
    ...findings,
    { state: "warn", what: "Tools", says: `${held} held until you approve them`, next },
  ];
}

function findingOf(status: UpstreamStatus, wait: number): Finding {
  const { name, state, listError, noTools, said } = status;
  const what = `MCP server '${visibleLine(name)}'`;
  if (state === "up" && listError === undefined) {
    const none = noTools === undefined ? "" : `, without tools: ${visibleLine(noTools)}`;
    return { state: "ok", what, says: state + none };
  }
  const lastError = listError ?? status.lastError;
  if (state === "starting") {
    const last = said.at(-1);
    const words = last === undefined ? "" : `; its last output: ${visibleLine(last)}`;
    const next =
      "Assistants see its tools late. The first start may download it: see how long it takes with `trunkline doctor --deep`.";
    return { state: "warn", what, says: `still starting after ${seconds(wait)} s${words}`, next };
  }
  // The error of a server that wants a login says what to run.
  const isSaid = lastError?.includes("`trunkline ") === true;
  const next = `See more with \`trunkline server test ${shellWord(name)}\`, or remove it from \`mcpServers\`.`;
  const why = lastError === undefined ? "" : `: ${visibleLine(lastError)}`;
  const says = listError === undefined ? state : "could not list its tools";
  return { state: "fail", what, says: says + why, ...(isSaid ? {} : { next }) };
}
