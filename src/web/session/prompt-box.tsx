import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";

import type { SessionRow } from "../../server/dashboard/session-api.ts";
import { mayDo } from "../client/state.ts";
import { act, Button, useDraft } from "../view/parts.tsx";
import {
  type ChoiceGroup,
  type OpenSession,
  type SettingChoice,
  settingChoices,
} from "./open-session.ts";

/** What the agent is told to do with a turn that was interrupted. */
const GO_ON = "Go on where you were interrupted.";

/** The field for prompts. During a turn, a prompt joins the turn or waits for its end. */
export function PromptBox(props: {
  session: OpenSession;
  row: SessionRow | undefined;
}): JSX.Element | null {
  const { session, row } = props;
  const [text, setText] = useDraft(`prompt/${session.id}`);
  const [whileRunning, setWhileRunning] = useState<"steer" | "queue">("queue");
  const field = useRef<HTMLTextAreaElement>(null);
  if (!mayDo("sessions")) return null;
  const isRunning = row !== undefined && row.state !== "idle";
  const send = (): void => {
    if (text.trim() === "") return;
    act(async () => {
      await session.prompt(text, whileRunning);
      setText("");
    });
  };
  const commands = text.startsWith("/") ? commandsFor(session, text) : [];
  return (
    <form
      class="prompt-box"
      aria-label="Prompt"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {commands.length === 0 ? null : (
        <ul class="commands">
          {commands.map(({ name, description }) => (
            <li key={name}>
              <Button
                class="quiet"
                onClick={() => {
                  setText(`/${name} `);
                  field.current?.focus();
                }}
              >
                <code>/{name}</code> <span class="note">{description}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field}
        rows={Math.min(10, Math.max(2, text.split("\n").length))}
        placeholder={isRunning ? "Say something to the running turn" : "Prompt the agent"}
        aria-label="Prompt"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="prompt-bar">
        <Settings session={session} />
        <span class="space" />
        {isRunning ? (
          <>
            <select
              aria-label="While a turn runs"
              value={whileRunning}
              onChange={(event) => setWhileRunning(event.currentTarget.value as "steer" | "queue")}
            >
              <option value="queue">after this turn</option>
              <option value="steer">join this turn</option>
            </select>
            <Button class="danger" onClick={() => act(() => session.cancel())}>
              Stop
            </Button>
          </>
        ) : row?.ended === "interrupted" ? (
          <Button
            title="The last turn was interrupted"
            onClick={() => act(() => session.prompt(GO_ON, "queue"))}
          >
            Go on
          </Button>
        ) : null}
        <button type="submit" class="primary" disabled={text.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}

function commandsFor(
  session: OpenSession,
  text: string,
): readonly { readonly name: string; readonly description: string }[] {
  const all = session.shown.value.conversation.commands ?? session.detail.value?.commands ?? [];
  const typed = text.slice(1);
  return all.filter(({ name }) => name.startsWith(typed) && name !== typed).slice(0, 8);
}

/** The mode, the model and the other options that the agent offers. */
function Settings({ session }: { readonly session: OpenSession }): JSX.Element {
  const choices = settingChoices(session.detail.value?.settings ?? {});
  const choose = ({ kind, id }: SettingChoice, value: string | boolean): void => {
    const isOption = kind === "option";
    act(() => (isOption ? session.choose(kind, id, value) : session.choose(kind, String(value))));
  };
  return (
    <>
      {choices.map((setting) =>
        typeof setting.value === "boolean" ? (
          <label key={setting.id} class="check">
            <input
              type="checkbox"
              checked={setting.value}
              onChange={(event) => choose(setting, event.currentTarget.checked)}
            />
            {setting.name}
          </label>
        ) : (
          <select
            key={setting.id}
            aria-label={setting.name}
            title={setting.name}
            value={setting.value}
            onChange={(event) => choose(setting, event.currentTarget.value)}
          >
            {setting.groups.map((group) =>
              group.name === undefined ? (
                <Choices group={group} />
              ) : (
                <optgroup key={group.name} label={group.name}>
                  <Choices group={group} />
                </optgroup>
              ),
            )}
          </select>
        ),
      )}
    </>
  );
}

function Choices({ group }: { readonly group: ChoiceGroup }): JSX.Element {
  return (
    <>
      {group.choices.map(({ value, name }) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </>
  );
}
