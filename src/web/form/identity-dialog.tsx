import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { Identities, IdentitySwitched } from "../../server/dashboard/api.ts";
import { post } from "../client/request.ts";
import { DeclaredForm } from "./declared-form.tsx";
import { Dialog } from "./dialog.tsx";

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
      <DeclaredForm
        label="New identity"
        schema={IDENTITY}
        submit="Add"
        onSubmit={async (identity) => {
          await post("/identities", identity);
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

const TEXT = { type: "string" };

/** The options of `identity add`. */
const IDENTITY = {
  required: ["provider", "name", "user", "email", "signing"],
  properties: {
    provider: {
      ...{ ...TEXT, title: "Provider", default: "github" },
      enum: ["github", "gitlab", "bitbucket", "other"],
    },
    name: { ...TEXT, title: "Name", examples: ["work"] },
    user: { ...TEXT, title: "Account name", examples: ["ada"] },
    email: { ...TEXT, title: "Email address for commits", examples: ["ada@example.com"] },
    "display-name": { ...TEXT, title: "Name in commits", examples: ["Ada Lovelace"] },
    host: { ...TEXT, title: "Host", examples: ["github.com"] },
    "ssh-key": {
      ...{ ...TEXT, title: "Private SSH key on the machine of the gateway" },
      examples: ["~/.ssh/id_ed25519"],
    },
    "signing-key": { ...TEXT, title: "Key that signs commits" },
    signing: {
      ...{ ...TEXT, title: "Commit signing", default: "none" },
      enum: ["none", "openpgp", "ssh"],
    },
  },
};

function Switch({ found, onDone }: { found: Identities; onDone: () => void }): JSX.Element {
  const [switched, setSwitched] = useState<(IdentitySwitched & { to: string }) | undefined>();
  const folder = found.projects[0]?.folder ?? "";
  const names = found.identities.map(({ name }) => name);
  const schema = {
    required: ["folder", "identity"],
    properties: {
      folder: {
        ...{ ...TEXT, title: "Repository on the machine of the gateway", default: folder },
        examples: found.projects.map((project) => project.folder),
      },
      identity: { ...TEXT, title: "Identity", enum: names, default: names[0] },
    },
  };
  const change = async (wanted: Readonly<Record<string, unknown>>): Promise<void> => {
    setSwitched(undefined);
    const done = await post<IdentitySwitched>("/identities/switch", wanted);
    setSwitched({ ...done, to: String(wanted["identity"]) });
    onDone();
  };
  return (
    <DeclaredForm label="Switch a repository" schema={schema} submit="Switch" onSubmit={change}>
      {switched === undefined ? null : (
        <div role="status">
          <p>
            {switched.isChanged ? `Switched to ${switched.to}.` : `It uses ${switched.to} already.`}
          </p>
          {[...switched.notes, ...switched.files].map((line) => (
            <p key={line} class="note">
              {line}
            </p>
          ))}
        </div>
      )}
    </DeclaredForm>
  );
}
