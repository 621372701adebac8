import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { ServerRow, ServerTested } from "../../server/dashboard/api.ts";
import { post, RequestError } from "../client/request.ts";
import { servers } from "../client/state.ts";
import { commandWords } from "../text/command-words.ts";
import { milliseconds, plural } from "../text/format.ts";
import { Button } from "../view/parts.tsx";
import { DeclaredForm } from "./declared-form.tsx";
import { Dialog, Refusal, useAction } from "./dialog.tsx";

/** What a dialog about servers is for: a new one, or an action on one. */
export type ServerTask =
  | { readonly kind: "add" }
  | { readonly kind: "test" | "remove"; readonly server: ServerRow };

export function ServerDialog(props: { task: ServerTask; onClose: () => void }): JSX.Element {
  const { task, onClose } = props;
  if (task.kind === "add") return <AddServer onClose={onClose} />;
  const { kind, server } = task;
  const path = `/servers/${encodeURIComponent(server.name)}`;
  if (kind === "remove") return <RemoveServer server={server} path={path} onClose={onClose} />;
  return (
    <Dialog title={`Test ${server.name}`} onClose={onClose}>
      <Test path={path} />
    </Dialog>
  );
}

interface NamedValue {
  readonly name: string;
  readonly value: string;
}

const SERVER = {
  required: ["name", "line"],
  properties: {
    name: { type: "string", title: "Name", examples: ["notes"] },
    line: {
      ...{ type: "string", title: "Command line, or URL", examples: ["npx -y @example/notes-mcp"] },
      description: "A program is started on the machine of the gateway, as you.",
    },
  },
};

function AddServer({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [isUrl, setUrl] = useState(false);
  const [pairs, setPairs] = useState<readonly NamedValue[]>([]);
  const [added, setAdded] = useState<{ name: string; notes: readonly string[] } | undefined>();
  // One that was asked for is typed next.
  useEffect(() => {
    document.querySelector<HTMLElement>(".pair:last-of-type input")?.focus();
  }, [pairs.length]);
  const pairName = isUrl ? "Header" : "Variable";
  const change = (at: number, pair: NamedValue): void =>
    setPairs(pairs.map((each, index) => (index === at ? pair : each)));
  const add = async (wanted: Readonly<Record<string, unknown>>): Promise<void> => {
    const name = String(wanted["name"]).trim();
    const words = commandWords(String(wanted["line"]));
    if (words === undefined) throw new RequestError(400, "A quote is not closed.");
    const given = Object.fromEntries(pairs.map((pair) => [pair.name, pair.value]));
    const secrets = pairs.length === 0 ? {} : { [isUrl ? "headers" : "env"]: given };
    const { notes } = await post<{ notes: readonly string[] }>("/servers", {
      ...{ name, words },
      ...secrets,
    });
    await servers.reload();
    setAdded({ name, notes });
  };
  if (added !== undefined) {
    const path = `/servers/${encodeURIComponent(added.name)}`;
    return (
      <Dialog title={`Added ${added.name}`} onClose={onClose}>
        {added.notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
        <Test path={path} />
      </Dialog>
    );
  }
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <DeclaredForm
        label="Add a server"
        schema={SERVER}
        submit="Add"
        onSubmit={add}
        onChange={({ line = "" }) => setUrl(/^\s*[a-z]+:\/\//i.test(String(line)))}
      >
        {pairs.map((pair, at) => (
          <fieldset key={at} class="pair">
            <legend>
              {pairName} {at + 1}
            </legend>
            <input
              required
              pattern="[\w.\-]+"
              aria-label={`Name of ${pairName.toLowerCase()} ${at + 1}`}
              placeholder={isUrl ? "X-Api-Key" : "API_KEY"}
              value={pair.name}
              onInput={(event) => change(at, { ...pair, name: event.currentTarget.value })}
            />
            <input
              type="password"
              autocomplete="off"
              aria-label={`Value of ${pairName.toLowerCase()} ${at + 1}`}
              value={pair.value}
              onInput={(event) => change(at, { ...pair, value: event.currentTarget.value })}
            />
            <Button
              class="quiet small"
              aria-label={`Remove ${pairName.toLowerCase()} ${at + 1}`}
              onClick={() => setPairs(pairs.filter((_, index) => index !== at))}
            >
              Remove
            </Button>
          </fieldset>
        ))}
        <Button class="quiet" onClick={() => setPairs([...pairs, { name: "", value: "" }])}>
          {isUrl ? "With a header" : "With a variable"}
        </Button>
        <p class="note">Values are kept in your configuration file, and are not shown again.</p>
      </DeclaredForm>
    </Dialog>
  );
}

/** The first start of a server may download it. */
const TEST_MS = 5 * 60_000;

function Test({ path }: { readonly path: string }): JSX.Element {
  const [tested, setTested] = useState<ServerTested | undefined>(undefined);
  const [isBusy, refusal, run] = useAction();
  const test = (): void => run(async () => setTested(await post(`${path}/test`, {}, TEST_MS)));
  return (
    <>
      <div class="buttons">
        <Button class="primary" disabled={isBusy} onClick={test}>
          Test
        </Button>
        <span class="note" role="status">
          {isBusy ? "Starting it. Its first start may download it …" : ""}
        </span>
      </div>
      <Refusal says={refusal ?? (tested?.works === false ? tested.why : undefined)} />
      {tested === undefined || isBusy ? null : <Tested tested={tested} />}
    </>
  );
}

function Tested({ tested }: { readonly tested: ServerTested }): JSX.Element | null {
  const { works, tools, held, log } = tested;
  if (!works) {
    return log.length === 0 ? null : (
      <pre tabIndex={0} aria-label="Its last output">
        {log.join("\n")}
      </pre>
    );
  }
  const waits = held.length === 0 ? "" : ` ${plural(held.length, "tool")} to approve.`;
  return (
    <>
      <p role="status">
        It works: {plural(tools.length + held.length, "tool")} after{" "}
        {milliseconds(tested.milliseconds)}.{waits}
      </p>
      <p class="mono">{[...tools, ...held].join(", ")}</p>
    </>
  );
}

function RemoveServer(props: {
  readonly server: ServerRow;
  readonly path: string;
  readonly onClose: () => void;
}): JSX.Element {
  const { server, path, onClose } = props;
  const { name, where, tools } = server;
  const [isBusy, refusal, run] = useAction();
  const remove = (): void =>
    run(async () => {
      await post(`${path}/remove`);
      await servers.reload();
      onClose();
    });
  return (
    <Dialog title={`Remove ${name}`} onClose={onClose}>
      <p>
        Assistants lose its {plural(tools, "tool")}, and your configuration file its entry, with the
        values of headers and variables: <code>{where}</code>
      </p>
      <Refusal says={refusal} />
      <div class="buttons">
        <Button class="danger" disabled={isBusy} onClick={remove}>
          Remove {name}
        </Button>
        <Button onClick={onClose}>Keep it</Button>
      </div>
    </Dialog>
  );
}
