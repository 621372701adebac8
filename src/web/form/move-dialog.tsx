import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { get, post } from "../client/request.ts";
import { useLoaded } from "../view/parts.tsx";
import { DeclaredForm } from "./declared-form.tsx";
import { Dialog } from "./dialog.tsx";

/** Milliseconds: work trees may be large. */
const PATIENCE = 30 * 60_000;
const TARGET = {
  required: ["to"],
  properties: {
    to: { type: "string", title: "Gateway", examples: ["wss://example.com/acp"] },
    token: {
      ...{ type: "string", format: "password" },
      title: "Access token of that gateway, which is not stored",
    },
    withSecrets: {
      type: "boolean",
      title: "Take along ignored files whose names say that they hold secrets",
    },
    interrupts: { type: "boolean", title: "Interrupt a running turn at once" },
  },
};

/** Moves a session to another gateway, after saying what stays here. */
export function MoveDialog(props: { path: string; onClose: () => void }): JSX.Element {
  const { path, onClose } = props;
  const [says, setSays] = useState<readonly string[] | undefined>(undefined);
  const [found] = useLoaded(() => get<{ readonly stays: readonly string[] }>(`${path}/move`), []);
  const move = async (wanted: object): Promise<void> =>
    setSays((await post<{ says: readonly string[] }>(`${path}/move`, wanted, PATIENCE)).says);
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
      <DeclaredForm label="Move the session" schema={TARGET} submit="Move" onSubmit={move} />
    </Dialog>
  );
}
