import { type DeclaredManifest, parseManifest } from "../../declared-manifest.ts";
import {
  answered,
  demand,
  Probe,
  type Rule,
  type Rules,
  skip,
  type StartedSubject,
} from "../probe.ts";
import { toolsOf } from "./tool-rules.ts";

const SHUTDOWN_SECONDS = 5;

/** Rules of a plugin's life cycle: start, registration, shutdown. */
export const LIFECYCLE_RULES: Rules = {
  "plugin.manifest": {
    section: "Orchestra: plugin",
    role: "plugin",
    says: "--manifest prints JSON with the plugin's id",
    check: async (probe) => {
      demand((await printedBy(probe)).id !== "", "what it printed has no id");
    },
  },
  "plugin.dial-back": {
    section: "Orchestra: plugin",
    role: "plugin",
    says: "A plugin that has been started dials its orchestrator and registers",
    check: async (probe) => {
      const { id } = await startedIn(probe).registered;
      demand(id !== "", "the manifest that it registered with has no id");
    },
  },
  "plugin.same": {
    section: "Orchestra: schema",
    role: "plugin",
    says: "It registers under the id and with the tools that --manifest prints",
    check: async (probe) => {
      const { id, provides_tools: tools = [] } = await printedBy(probe);
      const { id: registered, providesTools } = await startedIn(probe).registered;
      demand(registered === id, `it registers as '${registered}', and prints '${id}'`);
      const other = namesIn(new Set(providesTools).symmetricDifference(new Set(tools)));
      demand(other === "", `these are only in one of both: ${other}`);
    },
  },
  "plugin.register": {
    section: "Orchestra: spawn",
    role: "plugin",
    says: "Register is accepted",
    check: async (probe) => {
      const response = await probe.ask({ case: "register", value: { id: await idOf(probe) } });
      const { accepted, rejectReason } = answered(response, "register");
      demand(accepted, `it was rejected: ${rejectReason || "no reason given"}`);
    },
  },
  "plugin.boot": {
    section: "Orchestra: spawn",
    role: "plugin",
    says: "Boot is answered with ready",
    check: async (probe) => {
      const response = await probe.ask({ case: "boot", value: { config: {} } });
      const { ready, error } = answered(response, "boot");
      demand(ready, `it is not ready: ${error || "no reason given"}`);
    },
  },
  "plugin.provides": {
    section: "Orchestra: schema",
    role: "plugin",
    says: "The tools in the manifest are those in the list, and no others are",
    check: async (probe) => {
      const { providesTools } = await startedIn(probe).registered;
      if (providesTools.length === 0) skip("its manifest names no tools");
      const listed = new Set((await toolsOf(probe)).map(({ name }) => name));
      const missing = namesIn(new Set(providesTools).difference(listed));
      demand(missing === "", `these are not in the list: ${missing}`);
      const more = namesIn(listed.difference(new Set(providesTools)));
      demand(more === "", `these are not in the manifest: ${more}`);
    },
  },
  "orchestrator.register": {
    section: "Orchestra: plugin",
    role: "orchestrator",
    says: "A manifest under the name of the certificate is accepted",
    check: async (probe) => {
      const { asPlugin } = probe.subject;
      if (asPlugin === undefined) skip("there is no certificate of a plugin to connect with");
      await using plugin = new Probe({ ...probe.subject, dial: asPlugin.dial });
      const response = await plugin.ask({ case: "register", value: { id: asPlugin.id } });
      const { accepted, rejectReason } = answered(response, "register");
      demand(accepted, `it was rejected: ${rejectReason || "no reason given"}`);
    },
  },
};

/** The last of all: nothing can be asked afterwards. */
export const SHUTDOWN_RULE: Omit<Rule, "id"> = {
  section: "Orchestra: lifecycle",
  role: "plugin",
  says: "Shutdown is answered with whether it was clean, and the process ends",
  check: async (probe) => {
    const { exit } = startedIn(probe);
    const value = { timeoutSeconds: SHUTDOWN_SECONDS };
    const { clean } = answered(await probe.ask({ case: "shutdown", value }), "shutdown");
    demand(clean, "it says that its end was not clean");
    await exit;
  },
};

/** The manifest that a plugin prints. */
async function printedBy(probe: Probe): Promise<DeclaredManifest> {
  const text = await startedIn(probe).printed();
  const manifest = parseManifest(text);
  demand(manifest !== undefined, `it printed no manifest: ${text.slice(0, 100) || "nothing"}`);
  return manifest;
}

function namesIn(names: ReadonlySet<string>): string {
  return [...names].join(", ");
}

function startedIn({ subject }: Probe): StartedSubject {
  return subject.started ?? skip("only a plugin that was started by its command shows it");
}

/** A plugin that was dialled tells nobody its id; one that is asked without an id accepts. */
async function idOf({ subject }: Probe): Promise<string> {
  return subject.started === undefined ? "" : (await subject.started.registered).id;
}
