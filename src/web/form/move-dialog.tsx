import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { get, post } from "../client/request.ts";
import { CheckField, Form, Submit, TextField } from "../view/fields.tsx";
import { useLoaded } from "../view/parts.tsx";
import { Dialog, Refusal, useAction } from "./dialog.tsx";

/** Milliseconds: work trees may be large. */
const PATIENCE = 30 * 60_000;
const SECRETS = "Take along ignored files whose names say that they hold secrets";

/** Moves a session to another gateway, after saying what stays here. */
export function MoveDialog(props: {
  readonly path: string;
  readonly onClose: () => void;
}): JSX.Element {
  const { path, onClose } = props;
  const [to, setTo] = useState("");
  const [token, setToken] = useState("");
  const [withSecrets, setSecrets] = useState(false);
  const [interrupts, setInterrupts] = useState(false);
  const [says, setSays] = useState<readonly string[] | undefined>(undefined);
  const [isBusy, refusal, run] = useAction();
  const [found] = useLoaded(() => get<{ readonly stays: readonly string[] }>(`${path}/move`), []);
  const move = (): void =>
    run(async () => {
      const body = { to, withSecrets, interrupts, ...(token === "" ? {} : { token }) };
      const done = await post<{ says: readonly string[] }>(`${path}/move`, body, PATIENCE);
      setSays(done.says);
    });
  const lines = (all: readonly string[]): JSX.Element => (
    <ul>
      {all.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
  if (says !== undefined) {
    return (
      <Dialog title="The session has moved" onClose={onClose}>
        {lines(says)}
      </Dialog>
    );
  }
  return (
    <Dialog title="Move the session" onClose={onClose}>
      <p>Its conversation and its work go along. These stay here:</p>
      {lines(found?.stays ?? [])}
      <Form aria-label="Move the session" onSend={move}>
        <TextField
          label="Gateway"
          required
          class="mono"
          value={to}
          placeholder="wss://example.com/acp"
          onText={setTo}
        />
        <TextField
          label="Access token of that gateway, which is not stored"
          isSecret
          value={token}
          onText={setToken}
        />
        <CheckField label={SECRETS} checked={withSecrets} onCheck={setSecrets} />
        <CheckField
          label="Interrupt a running turn at once"
          checked={interrupts}
          onCheck={setInterrupts}
        />
        <Refusal says={refusal} />
        <div class="buttons">
          <Submit disabled={isBusy}>{isBusy ? "Moving …" : "Move"}</Submit>
        </div>
      </Form>
    </Dialog>
  );
}
