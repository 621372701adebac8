import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";

import type { SessionRow } from "../../server/dashboard/session-api.ts";
import { mayDo } from "../client/state.ts";
import { act, Button, problem, useDraft } from "../view/parts.tsx";
import { type OpenSession, type SettingChoice, settingChoices } from "./open-session.ts";
import { PromptField } from "./prompt-field.tsx";
import type { NamedImage } from "./prompt-images.ts";
import { SettingFields } from "./setting-fields.tsx";

/** What the agent is told to do with a turn that was interrupted. */
const GO_ON = "Go on where you were interrupted.";

/** The field for prompts. During a turn, a prompt joins the turn or waits for its end. */
export function PromptBox(props: {
  session: OpenSession;
  row: SessionRow | undefined;
}): JSX.Element | null {
  const { session, row } = props;
  const [text, setText] = useDraft(`prompt/${session.id}`);
  const [images, setImages] = useState<readonly NamedImage[]>([]);
  const [whileRunning, setWhileRunning] = useState<"steer" | "queue">("queue");
  const field = useRef<HTMLTextAreaElement>(null);
  if (!mayDo("sessions")) return null;
  const isRunning = row !== undefined && row.state !== "idle";
  const send = (): void => {
    if (text.trim() === "") return;
    act(async () => {
      await session.prompt({ text, images, whileRunning });
      setText("");
      setImages([]);
    });
  };
  const choose = ({ kind, id }: SettingChoice, value: string | boolean): void => {
    const isOption = kind === "option";
    act(() => (isOption ? session.choose(kind, id, value) : session.choose(kind, String(value))));
  };
  return (
    <form
      class="prompt-box"
      aria-label="Prompt"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <PromptField
        field={field}
        text={text}
        placeholder={isRunning ? "Say something to the running turn" : "Prompt the agent"}
        onText={setText}
        onSend={send}
        onProblem={(says) => {
          problem.value = says;
        }}
        folder={row?.isRun === true ? undefined : row?.cwd}
        commands={session.shown.value.conversation.commands ?? session.detail.value?.commands ?? []}
        images={images}
        onImages={setImages}
      />
      <div class="prompt-bar">
        <SettingFields
          choices={settingChoices(session.detail.value?.settings ?? {})}
          choose={choose}
        />
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
            onClick={() =>
              act(() => session.prompt({ text: GO_ON, images: [], whileRunning: "queue" }))
            }
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
