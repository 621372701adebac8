import type { JSX } from "preact";

import { DeclaredForm } from "../form/declared-form.tsx";
import { Button } from "../view/parts.tsx";

/** The form of a question of the agent (ACP elicitation). */
export function QuestionForm(props: {
  readonly question: Readonly<Record<string, unknown>>;
  readonly onAnswer: (result: object) => void;
}): JSX.Element {
  const { question, onAnswer } = props;
  const { url, requestedSchema: schema } = question;
  const isPage = typeof url === "string" && /^https?:/.test(url);
  return (
    <>
      {isPage ? (
        <p>
          <a href={url} target="_blank" rel="noopener noreferrer">
            {url}
          </a>
        </p>
      ) : null}
      <DeclaredForm
        label="Answer"
        schema={schema}
        submit={schema === undefined ? "Accept" : "Answer"}
        onSubmit={async (content) => onAnswer({ action: "accept", content })}
        buttons={
          <Button class="danger" onClick={() => onAnswer({ action: "decline" })}>
            Decline
          </Button>
        }
      />
    </>
  );
}
