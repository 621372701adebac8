import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { Identities, IdentitySwitched } from "../../server/dashboard/api.ts";
import { post } from "../client/request.ts";
import { Dialog, Refusal, useAction } from "./dialog.tsx";

/** What a dialog about identities is for. */
export type IdentityTask = { readonly kind: "add" } | ({ readonly kind: "switch" } & Identities);

export function IdentityDialog(props: {
  readonly task: IdentityTask;
  /** Something has changed. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { task, onDone, onClose } = props;
  return task.kind === "add" ? (
    <Dialog title="New identity" onClose={onClose}>
      <AddIdentity
        onAdded={() => {
          onDone();
          onClose();
        }}
      />
    </Dialog>
  ) : (
    <Dialog title="Switch a repository" onClose={onClose}>
      <Switch found={task} onDone={onDone} />
    </Dialog>
  );
}

/** The options of `identity add`; the first three are needed. */
const FIELDS = [
  ["name", "Name", "work"],
  ["user", "Account name", "ada"],
  ["email", "Email address for commits", "ada@example.com"],
  ["display-name", "Name in commits (optional)", "Ada Lovelace"],
  ["host", "Host (optional)", "github.com"],
  ["ssh-key", "Private SSH key on the machine of the gateway (optional)", "~/.ssh/id_ed25519"],
  ["signing-key", "Key that signs commits (optional)", ""],
] as const;

function AddIdentity({ onAdded }: { readonly onAdded: () => void }): JSX.Element {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({
    provider: "github",
    signing: "none",
  });
  const [isBusy, refusal, run] = useAction();
  const put = (key: string, value: string): void => setValues({ ...values, [key]: value });
  return (
    <form
      aria-label="New identity"
      onSubmit={(event) => {
        event.preventDefault();
        run(async () => {
          await post("/identities", values);
          onAdded();
        });
      }}
    >
      <Choice
        label="Provider"
        options={["github", "gitlab", "bitbucket", "other"]}
        value={values["provider"] ?? ""}
        onChange={(value) => put("provider", value)}
      />
      {FIELDS.map(([key, label, example], at) => (
        <label key={key} class="field">
          <span>{label}</span>
          <input
            required={at < 3}
            inputMode={key === "email" ? "email" : "text"}
            placeholder={example}
            value={values[key] ?? ""}
            onInput={(event) => put(key, event.currentTarget.value)}
          />
        </label>
      ))}
      <Choice
        label="Commit signing"
        options={["none", "openpgp", "ssh"]}
        value={values["signing"] ?? ""}
        onChange={(value) => put("signing", value)}
      />
      <Refusal says={refusal} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          Add
        </button>
      </div>
    </form>
  );
}

function Switch({ found, onDone }: { found: Identities; onDone: () => void }): JSX.Element {
  const [identity, setIdentity] = useState(found.identities[0]?.name ?? "");
  const [folder, setFolder] = useState(found.projects[0]?.folder ?? "");
  const [switched, setSwitched] = useState<IdentitySwitched | undefined>(undefined);
  const [isBusy, refusal, run] = useAction();
  return (
    <form
      aria-label="Switch a repository"
      onSubmit={(event) => {
        event.preventDefault();
        setSwitched(undefined);
        run(async () => {
          setSwitched(await post("/identities/switch", { identity, folder }));
          onDone();
        });
      }}
    >
      <label class="field">
        <span>Repository on the machine of the gateway</span>
        <input
          required
          class="mono"
          list="identity-folders"
          pattern="/.*"
          title="An absolute path"
          value={folder}
          onInput={(event) => setFolder(event.currentTarget.value)}
        />
        <datalist id="identity-folders">
          {found.projects.map((project) => (
            <option key={project.folder} value={project.folder} />
          ))}
        </datalist>
      </label>
      <Choice
        label="Identity"
        options={found.identities.map(({ name }) => name)}
        value={identity}
        onChange={setIdentity}
      />
      <Refusal says={refusal} />
      {switched === undefined ? null : (
        <div role="status">
          <p>{switched.isChanged ? `Switched to ${identity}.` : `It uses ${identity} already.`}</p>
          {[...switched.notes, ...switched.files].map((line) => (
            <p key={line} class="note">
              {line}
            </p>
          ))}
        </div>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          Switch
        </button>
      </div>
    </form>
  );
}

function Choice(props: {
  readonly label: string;
  readonly options: readonly string[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select
        required
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      >
        {props.options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
